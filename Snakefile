# Workflow of Kernelwright: operator -> baseline -> buckets -> versions of each bucket -> dispatcher -> report.
# `make optimize` drives it in passes (scripts/kernelwright/optimize.py); a plain `snakemake` runs one pass.
from snakemake.utils import min_version

min_version("9.27")


include: "rules/common.smk"


container: CONTAINER


wildcard_constraints:
    operator=r"[A-Za-z0-9_][A-Za-z0-9_.-]*",
    platform=r"[a-z][a-z0-9_]*",
    framework=r"[a-z][a-z0-9]*",
    mode="leaderboard|production",
    bucket=r"b\d\d",
    version=r"\d{3}",


localrules:
    all,
    chains,


rule all:
    default_target: True
    input:
        campaign_files,


# Every bucket's versions, without dispatcher and report: the passes that lengthen the chains.
rule chains:
    input:
        chain_ends,


include: "rules/00_specs.smk"
include: "rules/10_baseline.smk"
include: "rules/20_buckets.smk"
include: "rules/30_profile.smk"
include: "rules/40_plan.smk"
include: "rules/50_candidate.smk"
include: "rules/60_verify.smk"
include: "rules/70_dispatch.smk"
include: "rules/80_report.smk"
