rule specs:
    input:
        operator=operator_files,
        platform=platform_file,
    output:
        f"{CAMPAIGN}/specs.json",
    log:
        f"{LOGS}/specs.log",
    resources:
        accelerator=0,
        network=0,
        mem_mb=1000,
    params:
        code=digest("specs"),
        operator=operator_content,
        operator_dir=operator_dir,
    shell:
        'exec "$KERNELWRIGHT_STEP_PYTHON" -m kernelwright.specs --operator-dir {params.operator_dir:q}'
        " --platform {wildcards.platform} --framework {wildcards.framework} --mode {wildcards.mode}"
        ' --config "$KERNELWRIGHT_CONFIG" --output {output:q} > {log:q} 2>&1'
