rule candidate:
    input:
        chain_step("profile.json", "plan.json"),
        previous=previous_version,
    output:
        f"{VERSION}/candidate/kernel.py",
        f"{VERSION}/candidate/session.jsonl",
        f"{VERSION}/candidate/usage.json",
    log:
        f"{LOGS}/{{bucket}}/v{{version}}-candidate.log",
    resources:
        accelerator=session_accelerator,
        network=session_network,
        mem_mb=16000,
    params:
        code=session_code("candidate"),
        operator_dir=operator_dir,
        directory=subpath(output[0], parent=True),
        campaign=subpath(output[0], ancestor=4),
    shell:
        'exec "$KERNELWRIGHT_STEP_PYTHON" -m kernelwright.candidate --campaign {params.campaign:q}'
        " --bucket {wildcards.bucket} --version {wildcards.version} --operator-dir {params.operator_dir:q}"
        ' --config "$KERNELWRIGHT_CONFIG" --output-dir {params.directory:q} > {log:q} 2>&1'
