rule report:
    input:
        f"{CAMPAIGN}/dispatcher/verdict.json",
        f"{CAMPAIGN}/dispatcher/provenance.json",
        versions=finished_versions,
        failures=broken_buckets,
    output:
        html=f"{CAMPAIGN}/report.html",
        json=f"{CAMPAIGN}/report.json",
    log:
        f"{LOGS}/report.log",
    resources:
        accelerator=0,
        network=0,
        mem_mb=2000,
    params:
        code=digest("report"),
        stop=config["stop"],  # the report says why each bucket stopped
        campaign=subpath(output.html, parent=True),
    shell:
        'exec "$KERNELWRIGHT_STEP_PYTHON" -m kernelwright.report --campaign {params.campaign:q}'
        ' --config "$KERNELWRIGHT_CONFIG" --output {output.html:q} --json {output.json:q} > {log:q} 2>&1'
