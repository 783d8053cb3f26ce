rule dispatch:
    input:
        f"{CAMPAIGN}/specs.json",
        f"{CAMPAIGN}/signatures.json",
        f"{CAMPAIGN}/buckets.json",
        f"{CAMPAIGN}/baseline/verdict.json",
        versions=finished_versions,
    output:
        f"{CAMPAIGN}/dispatcher/kernel.py",
        f"{CAMPAIGN}/dispatcher/verdict.json",
        f"{CAMPAIGN}/dispatcher/provenance.json",
    log:
        f"{LOGS}/dispatch.log",
    resources:
        accelerator=1,
        network=0,
        mem_mb=8000,
    params:
        code=framework_code("dispatch"),
        operator_dir=operator_dir,
        directory=subpath(output[0], parent=True),
        campaign=subpath(output[0], ancestor=2),
    shell:
        'exec "$KERNELWRIGHT_STEP_PYTHON" -m kernelwright.dispatch --campaign {params.campaign:q}'
        ' --operator-dir {params.operator_dir:q} --config "$KERNELWRIGHT_CONFIG"'
        " --output-dir {params.directory:q} > {log:q} 2>&1"
