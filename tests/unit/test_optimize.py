"""The driver's own decisions: arguments, horizons, failures, locks, processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from campaign_files import POLICY, add_version, campaign
from kernelwright import artifacts, optimize, stop
from kernelwright.engine import campaigns, lock, passes, phrases, processes, targets
from kernelwright.errors import InputError

CONFIG = {"stop": POLICY, "engine": {"chunk": 2}}


def test_flags_override_settings_and_names_are_checked():
    arguments = optimize.parser().parse_args(
        ["--operator", "rms_norm", "--platform", "cpu", "--framework", "cpp", "--max-iters", "4", "--max-stall", "2"]
    )
    config = optimize.configuration(arguments)
    assert config["operators"] == ["rms_norm"] and config["frameworks"] == ["cpp"]
    assert config["stop"]["max_iters"] == 4 and config["stop"]["max_stall"] == 2


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--operator", "nothing"], "allowed: .*rms_norm"),
        (["--platform", "abacus"], "allowed: auto, .*cpu"),
        (["--platform", "cpu", "--framework", "fortran"], "allowed: cpp"),
        (["--mode", "turbo"], "leaderboard, production"),
        (["--max-iters", "0"], "stop.max_iters"),
        (["--operator-dir", "/nowhere"], "no such operator folder"),
        (["--config", "/nowhere.yaml"], "no such config file"),
    ],
)
def test_bad_input_is_one_line(flags, said):
    with pytest.raises(InputError, match=said) as caught:
        optimize.configuration(optimize.parser().parse_args(flags))
    assert "\n" not in str(caught.value)


def test_auto_takes_the_frameworks_of_the_platform():
    config = {"platform": "cpu", "frameworks": "auto"}
    assert "cpp" in targets.resolved(config)["frameworks"] and config["frameworks"] == "auto"


def test_jobs_and_profile():
    assert optimize.processors(3) == 3 and optimize.processors(None) >= 1
    assert (optimize.profile_dir("local") / "config.yaml").is_file()
    with pytest.raises(InputError, match=r"allowed: .*local"):
        optimize.profile_dir("moon")


def test_horizon_grows_with_what_is_there_and_ends_at_the_stop(tmp_path):
    made = campaign(tmp_path)
    assert campaigns.horizon(made, "b00", CONFIG) == 2
    for version in range(1, 5):
        add_version(made, version, "accepted")
    assert campaigns.horizon(made, "b00", CONFIG) == 8
    assert campaigns.horizon(made, "b00", {**CONFIG, "stop": {**POLICY, "max_iters": 5}}) == 5
    for version in range(5, 8):
        add_version(made, version)
    assert campaigns.horizon(made, "b00", CONFIG) == 7
    assert campaigns.settled(made, POLICY)


def test_horizon_of_a_failed_bucket_is_before_the_failure(tmp_path):
    made = campaign(tmp_path)
    for version in (1, 2, 3):
        add_version(made, version, "accepted")
    failure = {"step": "plan", "version": 3, "log": "logs/x.log", "log_tail": ""}
    artifacts.write(made.root / "failures.json", "failures", {"buckets": {"b00": failure}})
    assert campaigns.horizon(made, "b00", {**CONFIG, "partial": True}) == 2
    assert campaigns.horizon(made, "b00", CONFIG) == 6


def test_placeholders_and_half_files_are_removed(tmp_path):
    made = campaign(tmp_path)
    add_version(made, 1)
    folder = made.version_dir("b00", 2)
    stop.write_pass_through([folder / "profile.json", folder / "verdict.json", folder / "memory.json"], "max_stall")
    artifacts.write_text(made.version_dir("b00", 3) / "plan.json", '{"half')
    campaigns.prune_placeholders(made)
    dropped = campaigns.drop_unreadable(made)
    assert made.version_dir("b00", 1).is_dir() and not folder.exists()
    assert dropped == [made.version_dir("b00", 3) / "plan.json"] and not dropped[0].exists()


def test_other_agents_versions_keep_their_agent(tmp_path):
    made = campaign(tmp_path)
    artifacts.write_text(made.version_dir("b00", 1) / "plan.json", json.dumps({"agent": "command"}))
    assert campaigns.agent_of(made, "b00", 1, {"agent": "search"}) == "command"
    assert campaigns.agent_of(made, "b00", 2, {"agent": "search"}) == "search"


def test_failures_are_written_for_their_campaign_alone(tmp_path):
    made = campaign(tmp_path)
    where = {"operator": "tiny", "framework": "cpp", "bucket": "b00", "version": "002"}
    event = {"step": "verify", "wildcards": where, "log": str(made.root / "logs" / "x.log"), "log_tail": "boom"}
    other = {**event, "wildcards": {**where, "framework": "triton", "bucket": "b01"}}
    settings = {"operators": ["tiny"], "platform": "cpu", "frameworks": ["cpp"], "mode": "leaderboard"}
    run = passes.Run({**settings, "results": str(made.results)}, tmp_path, 1, tmp_path, {}, [event, other])
    passes.write_failures(run)
    assert campaigns.failures(made) == {
        "b00": {"step": "verify", "version": 2, "log": "logs/x.log", "log_tail": "boom"}
    }
    assert run.config["partial"]


def test_a_bucket_that_is_no_longer_named_is_told(tmp_path, capsys):
    made = campaign(tmp_path)
    add_version(made, 1)
    assert campaigns.unused_buckets(made) == []
    add_version(made, 1, bucket="b01")
    assert campaigns.unused_buckets(made) == ["b01"]
    config = {"results": str(made.results), "operators": ["tiny"], "frameworks": ["cpp"], "mode": "leaderboard"}
    run = passes.Run({**config, "platform": "cpu"}, tmp_path, 1, tmp_path, {})
    optimize.summary(run)
    assert f"{made.root / 'b01'} is not a bucket of buckets.json; it is kept and not used" in capsys.readouterr().out


def test_another_cap_on_buckets_is_told(tmp_path):
    made = campaign(tmp_path)
    assert campaigns.bucket_cap_change(made, {"buckets": {"max": 2}}) is None  # the first run
    artifacts.write_text(made.settings, "buckets: {max: 4}\n")
    assert campaigns.bucket_cap_change(made, {"buckets": {"max": 4}}) is None
    assert campaigns.bucket_cap_change(made, {"buckets": {"max": 2}}) == (4, 2)


def test_a_user_without_a_name_gets_one(monkeypatch):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 2**31 - 7)
    assert passes.user_name() == {"LOGNAME": f"uid{2**31 - 7}"}
    monkeypatch.setenv("LOGNAME", "ada")
    assert passes.user_name() == {"LOGNAME": "ada"}


def test_lock_is_exclusive_and_names_its_owner(tmp_path):
    code = "import sys, time, pathlib; from kernelwright.engine import lock\n"
    code += "with lock.exclusive(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(lock.Busy, match=f"process {holder.pid} "), lock.exclusive(tmp_path):
        pass
    holder.kill()
    holder.wait()
    with lock.exclusive(tmp_path):
        pass


def test_stale_lock_is_removed_only_when_nobody_works_there(tmp_path):
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").touch()
    owner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "snakemake"], cwd=tmp_path)
    try:
        assert not lock.unlock_stale(tmp_path) and list(locks.iterdir())
    finally:
        owner.kill()
        owner.wait()
    assert lock.unlock_stale(tmp_path) and not list(locks.iterdir())


def test_every_descendant_is_ended_whatever_it_does():
    child = "import signal, subprocess, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    child += "subprocess.Popen(['sleep', '60'], start_new_session=True); print('up', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "up\n"
    tree = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    processes.end_tree(process.pid, grace_s=0.3)
    process.wait()
    assert len(tree) == 2 and not [one for one in tree if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def test_phrases_of_artifacts(tmp_path):
    verdict = {
        "kind": "verdict",
        "status": "accepted",
        "reason": None,
        "timing": {"geomean": {"incumbent": {"value": 1.5}}},
    }
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(verdict))
    assert phrases.of_step("verify", [str(path)]) == "accepted, 1.5x incumbent"
    path.write_text(json.dumps({"kind": "pass_through"}))
    assert phrases.of_step("verify", [str(path)]) is None
    assert phrases.of_step("specs", ["specs.json"]) == "done"
    where = {"operator": "tiny", "platform": "cpu", "framework": "cpp", "bucket": "b00", "version": "001"}
    assert phrases.line("verify", where, "accepted", 3.14) == "tiny cpu cpp b00 v001 verify     accepted  3.1 s"


def test_driver_starts_light():
    """Torch, the judge and Snakemake are not imported by the driver itself."""
    code = "import sys, kernelwright.optimize; print([m for m in ('torch', 'snakemake', 'git', 'scipy') if m in sys.modules])"
    env = {"PYTHONPATH": str(Path(optimize.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert run.stdout.strip() == "[]"
