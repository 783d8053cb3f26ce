"""Steps of the workflow that cost nothing, for tests of the engine alone: `fake_steps.py -m kernelwright.STEP --flags`.

Each output is a pure function of the step's inputs (a hash chain), plus a time as in real artifacts. So two runs of the
same project must end in the same artifacts but for `created_at`, and a stale artifact shows.
FAKE_STEPS names a JSON file: buckets, sleep_s, accept (bucket -> accepted versions), fail ([step, bucket, version]),
stubborn (steps), partial ([step, bucket, version]), check_stop. FAKE_LOG takes a line per step run.
"""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path


def digest(*parts):
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def content(path):
    """Content of an artifact without what differs between runs."""
    text = Path(path).read_text()
    if not str(path).endswith(".json"):
        return text
    record = json.loads(text)
    record.pop("provenance", None)
    return json.dumps(record, sort_keys=True)


def write(path, kind, **body):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"schema_version": 1, "kind": kind, "provenance": {"created_at": time.time_ns()}, **body}
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(record))
    temporary.replace(path)


def write_text(path, text):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def specs(flags, fake):
    folder = Path(flags["operator-dir"])
    files = sorted(path for path in folder.iterdir() if path.suffix in (".py", ".json", ".yaml"))
    platform = (Path(os.environ["FAKE_PROJECT"]) / "config" / "platforms" / f"{flags['platform']}.yaml").read_text()
    write(flags["output"], "specs", digest=digest(platform, *(path.read_text() for path in files)))


def baseline(flags, fake):
    folder = Path(flags["output-dir"])
    write_text(folder / "kernel.py", digest("baseline", content(flags["specs"])))
    write(folder / "verdict.json", "verdict", status="accepted", reason=None, digest=digest(content(flags["specs"])))


def signatures(flags, fake):
    write(flags["output"], "signatures", digest=digest("signatures", content(flags["specs"])))


def buckets(flags, fake):
    found = [{"id": f"b{number:02d}"} for number in range(min(fake["buckets"], int(flags["max"])))]
    write(flags["output"], "buckets", buckets=found, digest=digest(content(flags["signatures"])))


def before(flags):
    campaign, version = Path(flags["campaign"]), int(flags["version"])
    if version == 1:
        return campaign / "baseline" / "verdict.json"
    return campaign / flags["bucket"] / f"v{version - 1:03d}" / "verdict.json"


def profile(flags, fake):
    found = digest("profile", content(before(flags)), content(Path(flags["campaign"]) / "specs.json"))
    write(flags["output"], "profile", bottlenecks=[], digest=found)


def plan(flags, fake):
    found = digest("plan", content(Path(flags["output"]).with_name("profile.json")))
    usage = {"input_tokens": 5, "output_tokens": 5}
    write(flags["output"], "plan", status="planned", agent="search", hypothesis=found[:8], digest=found, usage=usage)
    write_text(flags["markdown"], found)


def candidate(flags, fake):
    folder = Path(flags["output-dir"])
    write_text(folder / "kernel.py", digest("candidate", content(folder.parent / "plan.json")))
    write_text(folder / "session.jsonl", "")
    write(folder / "usage.json", "usage", outcome="candidate_ready", usage={"trials": 0})


def verify(flags, fake):
    folder, version = Path(flags["output"]).parent, int(flags["version"])
    kernel = folder / "candidate" / "kernel.py"
    accepted = version in fake.get("accept", {}).get(flags["bucket"], [])
    outcome = {"status": "accepted" if accepted else "rejected", "reason": None if accepted else "not_faster"}
    previous = json.loads(before(flags).read_text()).get("incumbent") if version > 1 else None
    incumbent = previous or {"version": 0, "kernel_path": "baseline/kernel.py", "kernel_sha256": "0" * 64}
    if accepted:
        path = f"{flags['bucket']}/v{version:03d}/candidate/kernel.py"
        incumbent = {"version": version, "kernel_path": path, "kernel_sha256": digest(kernel.read_text())}
    found = digest("verify", kernel.read_text(), content(before(flags)))
    write(folder / "verdict.json", "verdict", **outcome, incumbent=incumbent, digest=found)
    facts = {"outcome": outcome["status"], "reason": outcome["reason"], "tokens": 10, "speedup": 1.0}
    write(flags["memory"], "memory", **facts, share_of_floor=None, incumbent=incumbent, digest=found)


def ends(campaign):
    """Last verdict of each bucket, placeholders left out."""
    found = []
    for bucket in json.loads((campaign / "buckets.json").read_text())["buckets"]:
        verdicts = sorted((campaign / bucket["id"]).glob("v*/verdict.json"))
        found += [path for path in verdicts if json.loads(path.read_text())["kind"] == "verdict"][-1:]
    return found


def dispatch(flags, fake):
    folder = Path(flags["output-dir"])
    found = digest("dispatch", *map(content, ends(Path(flags["campaign"]))))
    write_text(folder / "kernel.py", found)
    write(folder / "verdict.json", "verdict", status="accepted", reason=None, digest=found)
    write(folder / "provenance.json", "dispatch", digest=found, decision={"shipped": "dispatcher"})


def report(flags, fake):
    campaign = Path(flags["campaign"])
    found = digest("report", content(campaign / "dispatcher" / "verdict.json"), *map(content, ends(campaign)))
    failures = campaign / "failures.json"
    broken = sorted(json.loads(failures.read_text())["buckets"]) if failures.exists() else []
    write_text(flags["output"], found)
    write(flags["json"], "report", digest=found, broken=broken)


def passed_through(step, flags):
    from kernelwright import artifacts, paths, stop

    campaign = paths.Campaign.from_dir(Path(flags["campaign"]))
    policy = artifacts.load_yaml(Path(flags["config"]))["stop"]
    return stop.stopped_before(campaign, flags["bucket"], int(flags["version"]), policy, step) is not None


def be_stubborn():
    """Ignore SIGTERM, start a child in a session of its own, as coding agents do for their tools, and hang."""
    import subprocess  # slow to import, and this file is also the benchmark's empty step

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", "60"], start_new_session=True)
    time.sleep(60)


def write_half(step, flags):
    """Leave half an output behind and hang, as a step that does not write its artifacts whole."""
    name = {"verify": "verdict.json", "plan": "plan.json", "candidate": "candidate/kernel.py"}[step]
    path = Path(flags["campaign"]) / flags["bucket"] / f"v{int(flags['version']):03d}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"half')
    Path(os.environ["FAKE_LOG"] + ".partial").touch()
    time.sleep(60)


def main(argv):
    step = argv[1].removeprefix("kernelwright.")
    flags = {name.removeprefix("--"): value for name, value in zip(argv[2::2], argv[3::2], strict=True)}
    fake = json.loads(Path(os.environ["FAKE_STEPS"]).read_text())
    if fake.get("die_with_parent", True):
        from kernelwright import cli

        cli.die_with_parent()
    start = time.time()
    where = [flags.get("bucket", ""), int(flags.get("version", 0))]
    if fake.get("check_stop", True) and "version" in flags and passed_through(step, flags):
        return 0
    if os.environ.get("FAKE_LOG"):
        with Path(os.environ["FAKE_LOG"]).open("a") as log:
            log.write(json.dumps({"step": step, "bucket": where[0], "version": where[1], "pid": os.getpid()}) + "\n")
    if [step, *where] == fake.get("fail"):
        print("the step was told to fail")
        return 1
    if step in fake.get("stubborn", ()):
        be_stubborn()
    if [step, *where] == fake.get("partial"):
        write_half(step, flags)
    time.sleep(fake.get("sleep_s", 0))
    globals()[step](flags, fake)
    if os.environ.get("FAKE_LOG"):
        with Path(os.environ["FAKE_LOG"] + ".times").open("a") as log:
            log.write(json.dumps({"step": step, "start": start, "end": time.time()}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
