"""Settings by which a campaign's files are read when none are given: those of the last run of that campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright import config
from kernelwright.paths import Campaign


def of_campaign(campaign: Campaign, given: Path | None = None) -> dict[str, Any]:
    """Settings of `given`, else of the running or last run of the campaign, else the defaults. Raises InputError."""
    return config.load(given or (campaign.settings if campaign.settings.exists() else None))
