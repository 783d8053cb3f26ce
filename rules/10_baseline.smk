rule baseline:
    input:
        f"{CAMPAIGN}/specs.json",
    output:
        f"{CAMPAIGN}/baseline/kernel.py",
        f"{CAMPAIGN}/baseline/verdict.json",
    log:
        f"{LOGS}/baseline.log",
    resources:
        accelerator=1,
        network=0,
        mem_mb=8000,
    params:
        code=framework_code("baseline"),
        operator_dir=operator_dir,
        directory=subpath(output[0], parent=True),
    shell:
        'exec "$KERNELWRIGHT_STEP_PYTHON" -m kernelwright.baseline --specs {input:q}'
        ' --operator-dir {params.operator_dir:q} --config "$KERNELWRIGHT_CONFIG"'
        " --output-dir {params.directory:q} > {log:q} 2>&1"
