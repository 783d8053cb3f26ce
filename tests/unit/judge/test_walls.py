"""What a candidate sees and may do, asked from inside: each probe is the body of a kernel that is imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.judge import client
from kernelwright.judge.faults import Fault
from kernelwright.judge.worker import Worker

CONFIG = {"layout": "native", "contender": None, "device": "cpu"}


def inside(code: str, **walls: object) -> str:
    """What `code` prints in a walled child. Raises Fault."""
    service = client.local_service()
    worker: Worker = service.worker("candidate", CONFIG, **walls)
    try:
        worker.ask({"op": "load", "filename": "probe.py", "source": code}, 60)
        return worker.log()
    finally:
        worker.close()


@pytest.fixture(scope="module")
def missing() -> list[str]:
    service = client.local_service()
    worker = service.worker("candidate", CONFIG)
    found = worker.missing
    worker.close()
    if "user and mount namespaces" in found:
        pytest.skip("this machine gives no user namespaces; the verdict then says `process`")
    return found


def test_hidden_folders_are_empty_and_the_rest_is_read_only(missing: list[str], tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    assert inside(f"import os; print(os.listdir({str(tmp_path)!r}))", hidden=[str(tmp_path)]).strip() == "[]"
    with pytest.raises(Fault, match="Read-only file system"):
        inside(f"open({str(tmp_path / 'new')!r}, 'w')")


def test_private_folder_and_temporary_files_work_and_vanish(missing: list[str]) -> None:
    code = "import os, tempfile; open('here', 'w'); f = tempfile.NamedTemporaryFile(delete=False); print(f.name); print(os.getcwd())"
    temporary, folder = inside(code).split()
    assert temporary.startswith(folder)
    assert not Path(temporary).exists() and not Path(folder).exists()


def test_own_process_ids_no_network_no_privileges(missing: list[str]) -> None:
    code = """
import os, socket
print(os.getpid(), [n for n in os.listdir("/proc") if n.isdigit()])
print(sorted(name for _, name in socket.if_nameindex()))
print([line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "NoNewPrivs"))])
"""
    lines = inside(code).splitlines()
    assert lines[0] == "1 ['1']"
    assert lines[1] == "['lo']"
    assert lines[2] == "['0000000000000000', '1']"


def test_environment_is_scrubbed(missing: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = inside("import os; print(sorted(os.environ))")
    assert "TORCH_EXTENSIONS_DIR" in found
    assert "KERNELWRIGHT_JUDGE_SOCKET" not in found and "PYTEST_CURRENT_TEST" not in found


def test_compile_cache_of_one_source_is_kept_and_others_are_hidden(missing: list[str]) -> None:
    zygote = client.local_service().zygote
    mine, other = zygote.build_folder("a" * 64), zygote.build_folder("b" * 64)
    walls = {"build": mine, "hidden": [zygote.builds]}
    inside("import os; open(os.environ['TORCH_EXTENSIONS_DIR'] + '/object', 'w').write('built')", **walls)
    again = inside(
        f"import os; print(open(os.environ['TORCH_EXTENSIONS_DIR'] + '/object').read(), os.path.exists({other!r}))",
        **walls,
    )
    assert again.split() == ["built", "False"]


def test_children_of_a_child_end_with_it() -> None:
    from kernelwright.sandbox import processes

    service = client.local_service()
    worker = service.worker("candidate", CONFIG)
    worker.ask(
        {"op": "load", "filename": "probe.py", "source": "import subprocess; subprocess.Popen(['sleep', '600'])"}, 60
    )
    family = processes.descendants(worker.supervisor)
    assert len(family) == 2
    worker.close()
    assert all(processes.state(pid) in "XZ" for pid in family)
