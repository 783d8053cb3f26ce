"""The report of whole, half and broken campaigns: nothing invented, nothing from the network, no broken page."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from kernelwright import artifacts, paths
from kernelwright.errors import InputError
from kernelwright.report import __main__ as command
from kernelwright.report import collect, index, page, plots, versions
from report.fixture import build

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Balanced(HTMLParser):
    """Collects tags that do not close, resources that would be fetched, and the text outside of scripts and of code."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.fetched: list[str] = []
        self.text = ""
        self.code = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [
            f"{tag} {name}={value}" for name, value in attrs if name == "src" or (tag == "link" and name == "href")
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "pre":
            self.code += data
        elif self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def parsed(html: str) -> Balanced:
    parser = Balanced()
    parser.feed(html)
    assert (parser.open, parser.wrong) == ([], [])
    return parser


def report_of(campaign: paths.Campaign) -> dict:
    out = campaign.root / "report.html"
    assert command.main(["--campaign", str(campaign.root), "--output", str(out)]) == 0
    return artifacts.read(campaign.root / "report.json", "report")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> paths.Campaign:
    campaign = build(tmp_path_factory.mktemp("finished"))
    report_of(campaign)
    return campaign


def test_headline_is_the_verdicts(finished: paths.Campaign) -> None:
    report = artifacts.read(finished.root / "report.json", "report")
    verdict = artifacts.read(finished.dispatcher / "verdict.json", "verdict")
    headline = report["headline"]
    assert headline["speedup"] == verdict["timing"]["geomean"]
    assert headline["counts"] == {"accepted": 3, "rejected": 6, "failed": 2, "blocked": 0, "invalid_problem": 0}
    assert headline["stop"] == {"b00": "max_stall: 3 versions without an accepted one",
                                "b01": "max_stall: 3 versions without an accepted one", "b02": None}  # fmt: skip
    shares = [row["share_of_floor"] for row in verdict["timing"]["workloads"].values() if row["share_of_floor"]]
    product = 1.0
    for share in shares:
        product *= share
    assert headline["share_of_floor"] == pytest.approx(product ** (1 / len(shares)))
    assert len(shares) == len(report["workloads"]) - 1  # one floor is unknown
    assert report["missing"] == []


def test_versions_carry_plan_and_verdict(finished: paths.Campaign) -> None:
    report = artifacts.read(finished.root / "report.json", "report")
    rows = report["buckets"][0]["versions"]
    assert [row["outcome"] for row in rows] == ["baseline", "accepted", "accepted", "rejected", "rejected", "failed"]
    assert rows[3]["reason"] == "not_faster"
    assert rows[1]["predicted_gain"] == 1.25
    assert rows[2]["gain"]["value"] == pytest.approx(1.45)
    assert rows[4]["speedup"] is None
    assert rows[1]["trials"] == 12
    assert report["totals"]["trials"] == 12 * 11
    assert report["buckets"][2]["failure"].startswith("profile of v003 failed: RuntimeError: the disk is full")
    assert report["buckets"][0]["profile"]["version"] == 5


def test_page_is_whole_and_needs_no_network(finished: paths.Campaign) -> None:
    html = (finished.root / "report.html").read_text()
    parser = parsed(html)
    assert parser.fetched == []
    assert "default-src 'none'" in html
    for expected in ("2.31\u00d7", "2.26 to 2.36", "t16384_h8192", "b02 broke.", "max_stall", "not_faster",
                     "no user namespaces on this machine", "AMD EPYC"):  # fmt: skip
        assert expected in parser.text
    for expected in ("make optimize OP=rms_norm", "class Model(nn.Module):"):
        assert expected in parser.code
    assert not re.search(r"\b(None|nan|Undefined)\b", parser.text)
    figures = json.loads(re.search(r'id="figures">(.*?)</script>', html, re.S)[1])  # type: ignore[index]
    assert set(figures) == {"plot-speedup", "plot-floor", "plot-b00", "plot-b01", "plot-b02"}
    assert all(f'id="{key}"' in html for key in figures)


def test_unfinished_campaign_says_what_is_missing(tmp_path: Path) -> None:
    report = report_of(build(tmp_path, finished=False, compiled=False))
    assert report["missing"] == ["dispatcher/provenance.json", "dispatcher/verdict.json"]
    assert report["headline"]["status"] == "unknown"
    assert report["headline"]["speedup"] == {}
    assert report["kernel"] is None
    parser = parsed((tmp_path / "rms_norm/cpu/cpp-leaderboard/report.html").read_text())
    assert "No kernel has been shipped." in parser.text
    assert "not measured" in parser.text


def test_a_plan_that_was_deleted_is_missed(tmp_path: Path) -> None:
    campaign = build(tmp_path)
    (campaign.version_dir("b00", 1) / "plan.json").unlink()
    assert report_of(campaign)["missing"] == ["b00/v001/plan.json"]


def test_campaign_without_any_bucket(tmp_path: Path) -> None:
    campaign = build(tmp_path, finished=False)
    for path in (campaign.buckets, campaign.specs, campaign.baseline / "verdict.json"):
        path.unlink()
    report = report_of(campaign)
    assert report["workloads"] == report["buckets"] == []
    assert "specs.json" in report["missing"]
    parsed((campaign.root / "report.html").read_text())


def test_version_missing_in_the_middle_ends_the_bucket(tmp_path: Path) -> None:
    campaign = build(tmp_path)
    shutil.rmtree(campaign.version_dir("b00", 2))
    assert [row["version"] for row in report_of(campaign)["buckets"][0]["versions"]] == [0, 1]


def test_text_of_a_campaign_cannot_break_the_page(tmp_path: Path) -> None:
    campaign = build(tmp_path)
    plan = campaign.version_dir("b00", 1) / "plan.json"
    plan.write_text(plan.read_text().replace("Rows are read", "</script><script>alert(1)</script> Rows"))
    kernel = campaign.dispatcher / "kernel.py"
    kernel.write_text(kernel.read_text() + "# </pre><script>alert(2)</script>\n")
    report_of(campaign)
    html = (campaign.root / "report.html").read_text()
    parsed(html)
    assert "<script>alert" not in html


def test_broken_artifact_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = build(tmp_path)
    campaign.specs.write_text("{")
    assert command.main(["--campaign", str(campaign.root), "--print"]) == 2
    assert "specs.json: not valid JSON" in capsys.readouterr().err


def test_no_campaign_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--campaign", str(tmp_path / "nowhere"), "--print"]) == 2
    assert "no such directory" in capsys.readouterr().err
    with pytest.raises(InputError, match="not a campaign directory"):
        command.campaign_of(tmp_path)


def test_print_is_short_and_writes_nothing(finished: paths.Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(finished.root.iterdir())
    assert command.main(["--campaign", str(finished.root), "--print"]) == 0
    said = capsys.readouterr().out
    assert "2.31\u00d7 (2.26 to 2.36)" in said
    assert "o++--x" in said
    assert len(said.splitlines()) < 40
    assert sorted(finished.root.iterdir()) == before


def test_index_lists_campaigns_with_links(tmp_path: Path) -> None:
    for operator in ("rms_norm", "softmax"):
        report_of(build(tmp_path / "results", operator=operator))
    output = tmp_path / "results" / "index.html"
    assert command.main(["index", "--results", str(tmp_path / "results"), "--output", str(output)]) == 0
    html = output.read_text()
    parser = parsed(html)
    assert 'href="softmax/cpu/cpp-leaderboard/report.html"' in html
    assert parser.text.count("2.31\u00d7") == 2
    assert "b02 broke" in parser.text
    assert "No campaign has a report yet." in parsed(index.render([], tmp_path)).text


def test_all_renders_the_named_campaigns_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = build(tmp_path)
    assert command.main(["all", "--results", str(campaign.results), "--operator", campaign.operator]) == 0
    assert (campaign.root / "report.html").is_file()
    assert artifacts.read(campaign.root / "report.json", "report")["campaign"]["operator"] == campaign.operator
    assert command.main(["all", "--results", str(campaign.results), "--operator", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err


def test_figures_without_data_are_left_out() -> None:
    assert plots.speedups([]) is None
    assert plots.floor_shares([]) is None
    assert plots.history({"versions": []}) is None


def test_wide_speedups_get_a_logarithmic_axis() -> None:
    def row(key: str, value: float) -> dict:
        estimate = {"value": value, "low": value * 0.9, "high": value * 1.1}
        latency = {"median_us": 1.0}
        return {
            "id": key,
            "speedup": {"reference": estimate},
            "contenders": {"reference": latency},
            "candidate": latency,
        }

    wide = plots.speedups([row("a", 1.0), row("b", 40.0)])
    narrow = plots.speedups([row("a", 1.0), row("b", 2.0)])
    assert wide is not None and wide["layout"]["xaxis"]["type"] == "log"
    assert narrow is not None and narrow["layout"]["xaxis"]["type"] == "linear"


def test_rule_in_words() -> None:
    rule = {"layout_key": "x:float32:2:c;mode='mean';n=int", "min_input_bytes": 2048, "max_input_bytes": None}
    words = ["x float32 2-D contiguous", "mode is 'mean'", "n is int", "inputs of at least 2.00 KiB"]
    assert collect.rule_in_words(rule) == words
    assert collect.rule_in_words({"layout_key": None, "min_input_bytes": 0, "max_input_bytes": None}) == ["every call"]


def test_failure_without_a_log() -> None:
    entry = {"step": "plan", "version": 2, "log": "logs/x.log", "log_tail": ""}
    assert versions.failure_sentence(entry) == "plan of v002 failed (log: logs/x.log)"


def test_template_names_all_exist() -> None:
    assert page.template("template.html.j2") is not None
    assert "<script" not in page.script_json("</script><script>")
