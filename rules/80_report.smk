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
        "{STEP}.report --campaign {params.campaign:q} --config {CONFIG_FILE:q} --output {output.html:q}"
        " --json {output.json:q} > {log:q} 2>&1"
