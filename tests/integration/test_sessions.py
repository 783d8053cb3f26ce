"""Sessions of the real CLIs against a scripted model: what they spent, how they fail, what is left of them."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from kernelwright import agents, artifacts
from kernelwright.agents import prompt
from kernelwright.agents.sessions import isolation
from kernelwright.agents.sessions import review as review_module
from kernelwright.agents.sessions.adapter import Launch, settings_of
from kernelwright.plan import make as make_plan

sys.path.insert(0, str(Path(__file__).parents[1]))

from fake_model import clients
from fake_model.server import FakeModel, Fault, Server

spec = importlib.util.spec_from_file_location(
    "context_files", Path(__file__).parents[1] / "unit" / "agents" / "context_files.py"
)
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)

pytestmark = pytest.mark.slow
CLIS = ("claude", "codex", "pi", "api")
HANDOFF = {"outcome": "candidate_ready", "summary": "one pass", "journal": [{"idea": "fuse", "result": "faster"}]}
PLAN = {"hypothesis": "h", "change": "c", "category": "fusion"}
CANDIDATE = [
    {"write": ["b00.py", "# faster\n"]},
    {"judge": "b00.py"},
    {"write": ["handoff.json", json.dumps(HANDOFF) + "\n"]},
    {"text": "DONE"},
]
GOOD_PLAN = {
    "hypothesis": "idle cores", "category": "parallelism", "wiki": [], "change": "use all threads", "predicted_gain": 1.5,
    "evidence": [{"metric": "parallel_efficiency", "value": 0.5, "unit": "ratio"}],
}  # fmt: skip
SCRIPTS = {
    "Write a faster kernel": CANDIDATE,
    "Plan the next version": [{"write": ["plan.json", json.dumps(GOOD_PLAN) + "\n"]}, {"text": "DONE"}],
    "not complete": [{"write": ["handoff.json", json.dumps(HANDOFF) + "\n"]}, {"text": "DONE"}],
}


@pytest.fixture(scope="session")
def clis(tmp_path_factory):
    return clients.folder(tmp_path_factory)


def verdict(kernel, *_):
    """A judge with fixed answers."""
    good = "faster" in Path(kernel).read_text()
    timing = {"geomean": {"incumbent": {"value": 2.0, "low": 1.9, "high": 2.1}}, "workloads": {}}
    return {"status": "accepted" if good else "rejected", "reason": None if good else "wrong_values", "stage": None,
            "sentence": "A sentence.", "timing": timing if good else None, "correctness": {"workloads": {}}, "log": ""}  # fmt: skip


class World:
    """One CLI, a fake model, an episode."""

    def __init__(self, name, tmp_path, monkeypatch, clis, faults=(), scripts=SCRIPTS, **session):
        self.clis = clis
        self.name, self.model = name, FakeModel(dict(scripts), list(faults))
        self.server = Server(self.model)
        url = self.server.__enter__()
        self.home = tmp_path / "home"
        for key, value in clients.variables(name, url, self.home, clis).items():
            monkeypatch.setenv(key, value)
        self.ctx = files.context(tmp_path, judge=verdict)
        session.setdefault("isolation", "none")
        self.ctx.config["agents"]["session"].update(session)
        self.agent = agents.get(name)

    def candidate(self):
        return self.agent.candidate(self.ctx, PLAN)

    @property
    def records(self):
        folder = self.ctx.campaign.version_dir("b00", 1) / "sessions"
        return [artifacts.read(path, "session") for path in sorted(folder.glob("*-*.json"))]

    def written(self):
        """Everything that lies below the campaign, as one text."""
        return "\n".join(
            path.read_text(errors="replace") for path in self.ctx.campaign.root.rglob("*") if path.is_file()
        )


@pytest.fixture
def world(tmp_path, monkeypatch, clis):
    made = []

    def make(name, **facts):
        made.append(World(name, tmp_path, monkeypatch, clis, **facts))
        return made[-1]

    yield make
    for one in made:
        one.server.__exit__()


def assert_billed(usage, model):
    billed = model.total()
    assert (usage["input_tokens"], usage["cached_input_tokens"], usage["output_tokens"]) == (
        billed["input"], billed["cached"], billed["output"],
    )  # fmt: skip


@pytest.mark.parametrize("name", CLIS)
def test_a_session_edits_asks_the_judge_and_hands_over(world, name):
    one = world(name)
    outcome = one.candidate()
    assert (outcome.outcome, outcome.note) == ("candidate_ready", "one pass"), outcome
    assert one.ctx.kernel_file.read_text() == "# faster\n"
    assert outcome.usage["trials"] == 1 and outcome.usage["sessions"] == 1 and outcome.usage["complete"]
    assert_billed(outcome.usage, one.model)
    assert one.records[0]["state"] == "ended" and one.records[0]["error"] is None
    assert "secret-" not in one.written() + json.dumps(outcome.log)


@pytest.mark.parametrize("name", CLIS)
def test_a_plan_that_cites_the_evidence_is_taken(world, name):
    one = world(name)
    plan = one.agent.plan(one.ctx)
    assert (plan["status"], plan["hypothesis"], plan["predicted_gain"]) == ("planned", "idle cores", 1.5)
    assert_billed(plan["usage"], one.model)


@pytest.mark.parametrize("name", CLIS)
def test_an_incomplete_handoff_is_resumed_and_both_runs_are_counted_once(world, name):
    scripts = {**SCRIPTS, "Write a faster kernel": [*CANDIDATE[:2], {"text": "I forgot the handoff."}]}
    scripts = {"not complete": scripts.pop("not complete"), **scripts}  # the latest prompt may have both markers
    one = world(name, scripts=scripts)
    outcome = one.candidate()
    assert (outcome.outcome, outcome.usage["sessions"]) == ("candidate_ready", 2), outcome
    assert_billed(outcome.usage, one.model)
    first, second = one.records
    if one.agent.adapter.RESUMES:
        assert second["resumes"] == 1 and first["session_id"] == second["session_id"]


# What the CLI or its server says -> the kind it is known by; "network" for answers that broke.
FAULTS = {
    "500": "server", "429": "rate_limit", "401": "auth", "malformed": "network", "drop": "network",
    "overflow": "context_overflow",
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", CLIS)
def test_each_failure_is_named_and_what_was_spent_before_it_is_known(world, name, fault):
    kind = "overflow_openai" if fault == "overflow" and name in ("codex", "api") else fault
    one = world(name, faults=[Fault(kind, first=1)], retries=0)
    outcome = one.candidate()
    assert outcome.outcome == "failed", outcome
    assert outcome.note.startswith(FAULTS[fault]), outcome.note
    assert_billed(outcome.usage, one.model)
    assert one.records[0]["complete"] is (FAULTS[fault] != "network" or name == "claude")
    assert "secret-" not in one.written() + json.dumps(outcome.log)


@pytest.mark.parametrize("name", CLIS)
def test_a_failure_that_passes_is_tried_again(world, name):
    times = 3 if name == "api" else 1  # its package tries three times by itself
    one = world(name, faults=[Fault("500", first=0, times=times)], retries=2)
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert_billed(outcome.usage, one.model)


@pytest.mark.parametrize("name", CLIS)
def test_a_server_that_hangs_is_left_after_the_idle_limit(world, name):
    one = world(name, faults=[Fault("hang", first=1)], retries=0, idle_s=4.0)
    outcome = one.candidate()
    assert outcome.note.startswith("idle"), outcome.note
    assert_billed(outcome.usage, one.model)
    assert not outcome.usage["complete"]


@pytest.mark.parametrize("name", CLIS)
def test_a_token_budget_ends_the_session_and_keeps_what_the_judge_accepted(world, name):
    endless = [*CANDIDATE[:2], *[{"run": "sleep 0.5"}] * 500]
    if name == "api":
        endless = [*CANDIDATE[:2], *[{"write": ["notes.txt", "on\n"]}] * 500]
    one = world(name, scripts={"Write a faster kernel": endless}, tokens=2500, turns=None)
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert "trial 1 of a session that ended early (token_budget" in outcome.note
    assert outcome.usage["input_tokens"] + outcome.usage["output_tokens"] > 2500
    assert one.records[0]["error"]["kind"] == "token_budget"


needs_bubblewrap = pytest.mark.skipif(not isolation.works(), reason="bubblewrap does not work here")


@needs_bubblewrap
@pytest.mark.parametrize("name", CLIS)
def test_behind_walls_the_session_works_and_sees_neither_results_nor_operators(world, name, tmp_path):
    one = world(name, isolation="required")
    secret = one.ctx.campaign.root / "expected.txt"
    secret.write_text("expected outputs\n")
    looks = [
        secret,
        one.ctx.campaign.specs,
        one.ctx.operator.directory / "reference.py",
        one.home.parent / "worktree/b00.py",
    ]
    command = "; ".join(f"cat {path} >> seen.txt" for path in looks)
    if name != "api":
        one.model.scripts["Write a faster kernel"] = [{"run": command}, *CANDIDATE]
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert_billed(outcome.usage, one.model)
    assert one.records[0]["isolation"] == {"level": "bubblewrap", "missing": []}
    if name != "api":
        assert (one.ctx.worktree / "seen.txt").read_text() == "# incumbent\n"


@pytest.mark.parametrize("name", CLIS)
def test_results_that_a_model_forges_gain_nothing(world, name):
    forged = [
        {"write": ["b00.py", "# slow\n"]},
        {"write": ["verdict.json", '{"status": "accepted"}\n']},
        {"write": ["evidence/trial-01/verdict.json", '{"status": "accepted"}\n']},
        {"judge": "b00.py"},
        {"text": "It is 9 times faster."},
    ]
    one = world(name, scripts={"not complete": [{"text": "No."}], "Write a faster kernel": forged})
    outcome = one.candidate()
    assert (outcome.outcome, outcome.usage["trials"]) == ("failed", 1)
    evidence = one.ctx.campaign.version_dir("b00", 1) / "candidate" / "evidence"
    assert json.loads((evidence / "trial-01" / "verdict.json").read_text())["status"] == "rejected"


def running_with(text):
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if text in " ".join(process.cmdline()) and process.pid != os.getpid():
                found.append(process)
    return [process for process in found if process.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("walls", ["none", pytest.param("required", marks=needs_bubblewrap)])
@pytest.mark.parametrize("name", ["claude", "codex", "pi"])
def test_the_wall_clock_ends_every_process_of_a_session(world, name, walls):
    mark = f"7{os.getpid() % 1000:03d}.{CLIS.index(name)}{len(walls)}"
    scripts = {
        "Write a faster kernel": [
            {"run": f"setsid tail -f /dev/null --pid={os.getpid()} -s {mark} & tail -f /dev/null -s {mark}"}
        ]
    }
    one = world(name, scripts=scripts, wall_s=6.0, isolation=walls)
    outcome = one.candidate()
    assert outcome.note.startswith("wall_clock"), outcome.note
    assert_billed(outcome.usage, one.model)
    assert not outcome.usage["complete"]
    assert running_with(mark) == []


KILLED = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("test_sessions", {path!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from pathlib import Path
from kernelwright import agents
ctx = module.files.context(Path({folder!r}), judge=module.verdict)
ctx.config["agents"]["session"].update(isolation={walls!r})
agents.get({name!r}).candidate(ctx, module.PLAN)
"""


@pytest.mark.parametrize("walls", ["none", pytest.param("required", marks=needs_bubblewrap)])
@pytest.mark.parametrize("name", ["claude", "codex", "pi"])
def test_kill_9_of_the_supervisor_loses_no_tokens_and_the_next_one_ends_the_work(world, name, walls, tmp_path):
    mark = f"8{os.getpid() % 1000:03d}.{CLIS.index(name)}{len(walls)}"
    one = world(name, isolation=walls)
    whole = dict(one.model.scripts)
    one.model.scripts["Write a faster kernel"] = [CANDIDATE[0], {"run": f"touch started; tail -f /dev/null -s {mark}"}]
    script = KILLED.format(path=__file__, folder=str(tmp_path), name=name, walls=walls)
    child = subprocess.Popen([sys.executable, "-c", script])
    deadline = time.monotonic() + 60
    while not (one.ctx.worktree / "started").exists():
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.05)
    time.sleep(2.0)  # the record is written once a second
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert one.records[0]["state"] == "running"

    one.ctx.kernel_file.write_text("# incumbent\n")
    one.model.scripts = whole
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert [record["state"] for record in one.records] == ["lost", "ended"]
    assert_billed(outcome.usage, one.model)
    assert not outcome.usage["complete"]
    for process in running_with(mark):
        process.kill()


def test_reviewers_are_recorded_and_counted_and_an_absent_one_does_no_harm(world, monkeypatch):
    review = {"verdict": "object", "reasons": ["It was tried before."]}
    scripts = {
        "Review a plan": [{"write": ["review.json", json.dumps(review) + "\n"]}, {"text": "DONE"}],
        "Plan the next version": SCRIPTS["Plan the next version"],
    }
    one = world("codex", scripts=scripts, reviewers=["claude", "pi", "search", "qodercli"], resumes=0)
    url = f"http://127.0.0.1:{one.server.http.server_address[1]}"
    path = os.environ["PATH"]
    for name in ("claude", "pi"):
        for key, value in clients.variables(name, url, one.home.parent / name, one.clis).items():
            monkeypatch.setenv(key, value)
            path = f"{value}:{path}" if key == "PATH" else path
    monkeypatch.setenv("PATH", path)
    (one.ctx.operator.directory / "operator.yaml").write_text("")
    monkeypatch.setattr(review_module, "collect", lambda ctx, plan: [
        review_module.asked(ctx, name, plan) for name in ctx.config["agents"]["session"]["reviewers"]
    ])  # fmt: skip
    plan = make_plan(one.ctx, "codex", Path("plan.json"))
    assert plan["status"] == "planned", plan
    assert [(said["agent"], said["verdict"]) for said in plan["reviews"]] == [
        ("claude", "object"), ("pi", "object"), ("search", "absent"), ("qodercli", "absent"),
    ]  # fmt: skip
    assert plan["reviews"][0]["reasons"] == review["reasons"]
    assert "It was tried before." in prompt.render(one.ctx, "session_candidate", plan)
    assert_billed({**plan["usage"]}, one.model)


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_the_tools_are_there_by_the_model_context_protocol_too(world, name):
    one = world(name, mcp=True)
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    # Claude Code names tools that it loads when they are asked for, codex describes them.
    offered = "mcp__kernelwright__judge" if name == "claude" else "Does a kernel build and give right values once?"
    assert any(offered in body for body in one.model.bodies)


@pytest.mark.parametrize("walls", ["none", pytest.param("required", marks=needs_bubblewrap)])
@pytest.mark.parametrize("name", ["claude", "codex", "pi"])
def test_production_mode_shows_no_size_and_a_model_that_looks_finds_none(world, name, walls):
    one = world(name, isolation=walls)
    sized = {**files.WORKLOAD, "input_kwargs": {"rows": 31337}, "axes": {"rows": 31337}}
    traffic = {"read_bytes": 10, "write_bytes": 10, "flops": 0, "source": "declared"}
    specs = {**files.SPECS, "mode": "production", "workloads": {"w_31337": {**sized, "traffic": traffic}}}
    profile = {**files.PROFILE, "metrics": {**files.METRICS, "latency_us.w_31337": {"value": 1.25, "unit": "us"}}}
    leaky = verdict(Path(__file__))
    leaky |= {"status": "rejected", "reason": "wrong_values", "sentence": "w_31337: row 31336 is wrong", "timing": None,
              "log": "x has 31337 rows", "stage": "correctness"}  # fmt: skip
    one.ctx = dataclasses.replace(one.ctx, specs=specs, workloads=("w_31337",), profile=profile, judge=lambda *_: leaky)
    artifacts.write_text(one.ctx.campaign.specs, json.dumps(specs))
    for path in (one.ctx.worktree / "operator" / "shapes.json", one.ctx.operator.directory / "shapes.json"):
        path.parent.mkdir(exist_ok=True)
        path.write_text('{"w_31337": {"rows": 31337}}')
    looks = "cat operator/*; git show HEAD:operator/shapes.json; env; cat /proc/*/environ /proc/*/cmdline"
    if walls == "required":
        looks += f"; cat {one.ctx.operator.directory}/* {one.ctx.campaign.root}/*; grep -rs 3133[7] /tmp"
    steps = [{"run": f"({looks}) 2>&1 | grep -a 3133[7]"}, *CANDIDATE]
    one.model.scripts = {"Write a faster kernel": steps}
    outcome = one.candidate()
    assert (outcome.outcome, outcome.usage["trials"]) == ("candidate_ready", 1), outcome
    # What reached the model: neither prompts nor anything that a tool gave has the size; the command itself has it not.
    assert not any("31337" in body for body in one.model.bodies)
    assert_billed(outcome.usage, one.model)


def test_qodercli_without_a_login_says_so(world, monkeypatch, clis, tmp_path):
    programs = clients.installed("qodercli", clis)
    one = world("pi", retries=0, resumes=0)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    agent = agents.get("qodercli")
    assert agent.adapter.login(dict(os.environ)) == (False, "not logged in")
    outcome = agent.candidate(one.ctx, PLAN)
    assert (outcome.outcome, outcome.usage["input_tokens"]) == ("failed", None)
    assert outcome.note.startswith(("auth", "network")), outcome.note


def test_the_hooks_of_the_skill_hold_up_a_real_session(world, tmp_path):
    """Claude Code with the project's hooks: an edit before the plan is refused, the end before the judge too."""
    project = tmp_path / "project"
    project.mkdir()
    operator = Path(__file__).parents[2] / "operators" / "l2_norm"
    command = [sys.executable, "-m", "kernelwright"]
    flags = ["--operator", str(operator), "--platform", "cpu", "--framework", "cpp"]
    subprocess.run([*command, "assist", "start", *flags], cwd=project, check=True, capture_output=True)
    subprocess.run([*command, "skill", "install"], cwd=project, check=True, capture_output=True)
    kernel = project / "kernel.py"
    first = kernel.read_text()
    write = {"tool": "Write", "arguments": {"file_path": str(kernel), "content": "# changed\n"}}
    script = [write, {"run": f"{sys.executable} -m kernelwright assist memory; echo plan > .kernelwright/plan.md"},
              {"tool": "Read", "arguments": {"file_path": str(kernel)}}, write, {"text": "It is faster now."}]  # fmt: skip
    one = world("claude", scripts={"HELLO": script})
    adapter = one.agent.adapter
    settings = settings_of("claude", os.environ, {})
    launch = Launch("HELLO", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff", settings, tmp_path)
    environment = {**adapter.environment(launch), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        adapter.argv(launch), cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert first != kernel.read_text() == "# changed\n", done.stdout[-3000:]
    said = "".join(one.model.bodies)
    assert "Before the kernel is edited: read what was tried" in said
    assert "The kernel was changed and not judged" in said


@needs_bubblewrap
def test_behind_walls_claude_keeps_its_own_state_file(world):
    one = world("claude", isolation="required")
    state = one.home / ".claude.json"
    state.write_text('{"hasCompletedOnboarding": true, "marker": 1}')
    assert one.candidate().outcome == "candidate_ready"
    assert json.loads(state.read_text())["marker"] == 1


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses"])
def test_pi_counts_the_same_in_every_format(world, api):
    one = world("pi")
    clients.write_pi_models(one.home, f"http://127.0.0.1:{one.server.http.server_address[1]}", api)
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert_billed(outcome.usage, one.model)


def test_the_api_agent_speaks_messages_too(world, monkeypatch):
    pytest.importorskip("anthropic")
    one = world("api")
    url = f"http://127.0.0.1:{one.server.http.server_address[1]}"
    given = {
        "provider": "anthropic",
        "model": "fake",
        "base_url": url,
        "env": {"ANTHROPIC_API_KEY": "secret-anthropic"},
    }
    monkeypatch.setenv("KERNELWRIGHT_API_SESSION_SETTINGS", json.dumps(given))
    outcome = one.candidate()
    assert outcome.outcome == "candidate_ready", outcome
    assert_billed(outcome.usage, one.model)
