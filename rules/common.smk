# Settings, paths and input functions of the rules; everything else is in scripts/kernelwright.
import sys
from pathlib import Path

from snakemake.exceptions import IncompleteCheckpointException

SCRIPTS = Path(workflow.basedir) / "scripts"
if (
    SCRIPTS / "kernelwright"
).is_dir():  # a checkout; an installed package needs no path
    sys.path.insert(0, str(SCRIPTS))

from kernelwright import operators, paths
from kernelwright import config as settings
from kernelwright.code_digest import digest
from kernelwright.engine import campaigns, targets
from kernelwright.knowledge import platforms

CONFIG_FILE = str(next(iter(workflow.configfiles), settings.default_path()))
config.update(targets.resolved(settings.load(Path(CONFIG_FILE))))
CAMPAIGNS = campaigns.of_config(config)
CAMPAIGN = f"{config['results']}/{{operator}}/{{platform}}/{{framework}}-{{mode}}"
VERSION = f"{CAMPAIGN}/{{bucket}}/v{{version}}"
LOGS = f"{CAMPAIGN}/logs"
targets.set_environment(
    CONFIG_FILE
)  # the shells read KERNELWRIGHT_STEP_PYTHON and KERNELWRIGHT_CONFIG
# Used with --software-deployment-method apptainer only.
CONTAINER = (
    f"docker-daemon://kernelwright-{platforms.load(config['platform']).vendor}:latest"
)


def campaign_of(wildcards):
    where = (
        wildcards.operator,
        wildcards.platform,
        wildcards.framework,
        wildcards.mode,
    )
    return paths.Campaign(Path(config["results"]), *where)


def operator_dir(wildcards):
    return str(operators.find(wildcards.operator, config["operator_dir"]))


def operator_files(wildcards):
    return [str(file) for file in operators.load(operator_dir(wildcards)).files]


def operator_content(wildcards):
    """sha256 of the operator's files: an edit counts even when it keeps an old time stamp."""
    return operators.load(operator_dir(wildcards)).digest()


def platform_file(wildcards):
    return str(paths.platforms_dir() / f"{wildcards.platform}.yaml")


def framework_code(step):
    """Params function: digest of a step that loads the campaign's framework by name."""
    return lambda wildcards: digest(step, (f"frameworks.{wildcards.framework}",))


def session_code(step):
    """Params function: digest of a step that loads an agent by name, the one that made the version if there is one."""

    def code(wildcards):
        agent = campaigns.agent_of(
            campaign_of(wildcards), wildcards.bucket, int(wildcards.version), config
        )
        return digest(step, (f"agents.{agent}", f"frameworks.{wildcards.framework}"))

    return code


def chain_step(*names):
    """Input function: files of this version, and what every step of the chain reads."""

    def files(wildcards):
        campaign = campaign_of(wildcards)
        own = [
            campaign.version_dir(wildcards.bucket, int(wildcards.version)) / name
            for name in names
        ]
        return [str(path) for path in (campaign.specs, campaign.buckets, *own)]

    return files


def previous_version(wildcards):
    """Verdict and memory of the version before; the baseline's verdict before v001."""
    campaign, before = campaign_of(wildcards), int(wildcards.version) - 1
    verdict = campaign.verdict(wildcards.bucket, before)
    return (
        [str(verdict)]
        if before == 0
        else [str(verdict), str(verdict.with_name("memory.json"))]
    )


def last_versions(campaign, files=campaigns.chain_ends):
    """Verdict and memory of the last version of each bucket that this pass is to have, or other `files` of them."""
    where = dict(operator=campaign.operator, platform=campaign.platform)
    checkpoints.buckets.get(**where, framework=campaign.framework, mode=campaign.mode)
    return [str(path) for path in files(campaign, config)]


def chain_ends(wildcards):
    """Ends of all chains; for a campaign whose buckets are unknown, the file that will tell them."""
    files = []
    for campaign in CAMPAIGNS:
        try:
            files += last_versions(campaign)
        except IncompleteCheckpointException as error:
            files.append(error.targetfile)
    return files


def campaign_files(wildcards):
    """Every artifact of every campaign: Snakemake makes a deleted one again only when a target names it."""
    files = []
    for campaign in CAMPAIGNS:
        files += map(str, campaigns.fixed_files(campaign))
        try:
            files += last_versions(campaign, campaigns.version_files)
        except IncompleteCheckpointException as error:
            files.append(error.targetfile)
    return files


def finished_versions(wildcards):
    return last_versions(campaign_of(wildcards))


def broken_buckets(wildcards):
    """failures.json while the report has to name a bucket that failed."""
    path = campaign_of(wildcards).root / "failures.json"
    return [str(path)] if config.get("partial") and path.exists() else []


def session_accelerator(wildcards):
    """Devices an agent session holds: a CPU that is measured cannot compile at once; other devices the judge locks."""
    return 1 if wildcards.platform == "cpu" else 0


def session_network(wildcards):
    """1 when the agent may need a model's server."""
    return 0 if config["agent"] == "search" else 1
