"""The zygote: a process that has imported torch and forks the judge's other processes in milliseconds.

It holds no secret, starts no thread and touches no device, so that a fork of it is clean. It ends with the service.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import shutil
import signal
import socket
import sys
from typing import Any, NoReturn

from kernelwright.judge.protocol import Channel, Closed
from kernelwright.sandbox import linux, walls

ROLES = ("candidate", "contender", "oracle")


def main(argv: list[str] | None = None) -> int:
    """`python -m kernelwright.judge.zygote FD [FOLDER]`: FD is a Unix socket to the service.

    FOLDER is removed at the end, for a service that was killed cannot do it.
    """
    arguments = sys.argv[1:] if argv is None else argv
    control = Channel(socket.socket(fileno=int(arguments[0])))
    warm_up()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service decides when it ends
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    try:
        control.send({"ready": True})
        fork_on_request(control)
    except Closed:
        for folder in arguments[1:]:
            shutil.rmtree(folder, ignore_errors=True)
        return 0


def fork_on_request(control: Channel) -> NoReturn:
    """One fork per message, until the service hangs up (Closed)."""
    while True:
        message, fds = control.receive()
        pid = os.fork()
        if pid == 0:
            control.close()
            become(message, fds)
        for fd in fds:
            os.close(fd)
        control.send({"pid": pid})


def warm_up() -> None:
    """Import what children need; compute nothing, for OpenMP's threads do not survive a fork."""
    import torch

    import_builders(torch)
    import kernelwright.judge.child
    import kernelwright.judge.oracle
    import kernelwright.operators.runtime  # noqa: F401

    torch.set_grad_enabled(False)
    gc.collect()
    gc.freeze()  # a collection in a fork would otherwise touch, and so copy, every page of torch's objects


def import_builders(torch: Any) -> None:
    """torch's extension builder and, beside a GPU, Triton. The builder asks for devices, which would start CUDA here."""
    beside_gpu = os.path.exists("/dev/nvidiactl")
    asks = torch.cuda.is_available
    if beside_gpu:
        torch.cuda.is_available = lambda: True
    try:
        importlib.import_module("torch.utils.cpp_extension")
        if beside_gpu and importlib.util.find_spec("triton") is not None:
            importlib.import_module("triton.language")
            importlib.import_module("triton.compiler.compiler")
            importlib.import_module("torch.profiler")
    finally:
        torch.cuda.is_available = asks


def become(message: dict[str, Any], fds: list[int]) -> None:
    """The forked child: walls, a second fork into the new process-id namespace, then its role. Does not return."""
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        linux.die_with_parent()
        os.setsid()
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        sock = socket.socket(fileno=fds[0])
        for stream in (1, 2):
            os.dup2(fds[1], stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        close_others({sock.fileno()})
        private = message["private"]
        missing = walls.enter(walls.Plan(private, message["hidden"], message["build"], message["bound_memory"]))
        status = supervise(message, sock, missing)
    except BaseException:  # whatever happens here, this copy of the zygote must not go on as a zygote
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def close_others(keep: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd > 2 and fd not in keep:
            with contextlib.suppress(OSError):
                os.close(fd)


def supervise(message: dict[str, Any], sock: socket.socket, missing: list[str]) -> int:
    """Fork the worker, tell the service its process id, wait, and tell how it ended."""
    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go)
        os.read(ready, 1)
        os.close(ready)
        work(message, sock, missing)
    channel = Channel(sock)
    channel.send({"pid": pid, "missing": missing})
    os.write(go, b"1")
    os.close(go)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    with contextlib.suppress(Exception):
        channel.send({"exit": code})
    return 0


def work(message: dict[str, Any], sock: socket.socket, missing: list[str]) -> None:
    """The process that runs code of others. Does not return."""
    from kernelwright.judge import child, oracle

    try:
        linux.die_with_parent()
        if "process-id namespace" not in missing and "user and mount namespaces" not in missing:
            walls.mount_proc()
        walls.give_up_privileges()
        environment = walls.environment(message["private"], build_folder(message, missing), os.environ)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(message["private"])
        settle_allocator()
        role = oracle.serve if message["role"] == "oracle" else child.serve
        role(Channel(sock), message["config"])
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def build_folder(message: dict[str, Any], missing: list[str]) -> str:
    """Where compile caches lie: the mounted folder, the folder itself where nothing can be mounted, else private."""
    if message["build"] is None or "kept compile cache" in missing:
        return message["private"]
    mounted = "user and mount namespaces" not in missing
    return walls.build_mount(message["private"]) if mounted else message["build"]


def settle_allocator() -> None:
    """Keep freed memory in the process: page faults of the allocator are noise that differs between runs."""
    linux.mallopt(linux.M_MMAP_THRESHOLD, 32 << 20)
    linux.mallopt(linux.M_TRIM_THRESHOLD, 1 << 30)


if __name__ == "__main__":
    sys.exit(main())
