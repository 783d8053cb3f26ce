rule profile:
    input:
        chain_step(),
        previous=previous_version,
    output:
        f"{VERSION}/profile.json",
    log:
        f"{LOGS}/{{bucket}}/v{{version}}-profile.log",
    resources:
        accelerator=1,
        network=0,
        mem_mb=8000,
    params:
        code=framework_code("profile"),
        operator_dir=operator_dir,
        campaign=subpath(output[0], ancestor=3),
    shell:
        'exec "$KERNELWRIGHT_STEP_PYTHON" -m kernelwright.profile --campaign {params.campaign:q}'
        " --bucket {wildcards.bucket} --version {wildcards.version} --operator-dir {params.operator_dir:q}"
        ' --config "$KERNELWRIGHT_CONFIG" --output {output:q} > {log:q} 2>&1'
