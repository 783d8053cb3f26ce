rule plan:
    input:
        chain_step("profile.json"),
        previous=previous_version,
    output:
        plan=f"{VERSION}/plan.json",
        markdown=f"{VERSION}/plan.md",
    log:
        f"{LOGS}/{{bucket}}/v{{version}}-plan.log",
    resources:
        accelerator=0,
        network=session_network,
        mem_mb=2000,
    params:
        code=session_code("plan"),
        operator_dir=operator_dir,
        campaign=subpath(output.plan, ancestor=3),
    shell:
        'exec "$KERNELWRIGHT_STEP_PYTHON" -m kernelwright.plan --campaign {params.campaign:q}'
        " --bucket {wildcards.bucket} --version {wildcards.version} --operator-dir {params.operator_dir:q}"
        ' --config "$KERNELWRIGHT_CONFIG" --output {output.plan:q} --markdown {output.markdown:q}'
        " > {log:q} 2>&1"
