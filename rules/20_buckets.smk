rule signatures:
    input:
        f"{CAMPAIGN}/specs.json",
    output:
        f"{CAMPAIGN}/signatures.json",
    log:
        f"{LOGS}/signatures.log",
    resources:
        accelerator=0,
        network=0,
        mem_mb=8000,
    params:
        code=digest("signatures"),
        operator_dir=operator_dir,
    shell:
        'exec "$KERNELWRIGHT_STEP_PYTHON" -m kernelwright.signatures --specs {input:q}'
        " --operator-dir {params.operator_dir:q} --output {output:q} > {log:q} 2>&1"


# The one checkpoint: the list of buckets is known from here on.
checkpoint buckets:
    input:
        specs=f"{CAMPAIGN}/specs.json",
        signatures=f"{CAMPAIGN}/signatures.json",
    output:
        f"{CAMPAIGN}/buckets.json",
    log:
        f"{LOGS}/buckets.log",
    resources:
        accelerator=0,
        network=0,
        mem_mb=1000,
    params:
        code=digest("buckets"),
        cap=config["buckets"]["max"],
    shell:
        'exec "$KERNELWRIGHT_STEP_PYTHON" -m kernelwright.buckets --specs {input.specs:q}'
        " --signatures {input.signatures:q} --max {params.cap} --output {output:q} > {log:q} 2>&1"
