rule verify:
    input:
        chain_step("plan.json", "candidate/kernel.py", "candidate/usage.json"),
        previous=previous_version,
    output:
        verdict=f"{VERSION}/verdict.json",
        memory=f"{VERSION}/memory.json",
    log:
        f"{LOGS}/{{bucket}}/v{{version}}-verify.log",
    resources:
        accelerator=1,
        network=0,
        mem_mb=8000,
    params:
        code=framework_code("verify"),
        operator_dir=operator_dir,
        campaign=subpath(output.verdict, ancestor=3),
    shell:
        'exec "$KERNELWRIGHT_STEP_PYTHON" -m kernelwright.verify --campaign {params.campaign:q}'
        " --bucket {wildcards.bucket} --version {wildcards.version} --operator-dir {params.operator_dir:q}"
        ' --config "$KERNELWRIGHT_CONFIG" --output {output.verdict:q} --memory {output.memory:q}'
        " > {log:q} 2>&1"
