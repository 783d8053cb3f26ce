"""Where the threads of a process run while it is timed.

After every wake-up Linux may put two threads of one process on the same core for milliseconds, though another is idle.
A parallel region then costs whole time slices (measured on two cores: 70 us became 800 to 3,000 us in most samples).
So each thread of a pool gets a core of its own for the time of the samples, like OMP_PROC_BIND does.
"""

from __future__ import annotations

import contextlib
import os

PRIORITY = -10  # where the user may raise it


def threads(pid: int) -> list[int]:
    """Thread ids of a process, the main thread first; none when the process is gone.

    The others stay as the kernel lists them. Their numbers say nothing: after a wrap of the machine's ids a later
    thread has a lower one than the main thread.
    """
    try:
        found = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []
    return sorted(found, key=lambda thread: thread != pid)


def plan(count: int, cores: list[int]) -> list[set[int]]:
    """Cores of each of `count` threads: the main thread on the first core, pool threads on the others in turn.

    A process with one thread keeps all cores, for threads that it starts later inherit its place.
    """
    if count < 2 or len(cores) < 2:
        return [set(cores)] * count
    return [{cores[0]}, *({cores[1 + index % (len(cores) - 1)]} for index in range(count - 1))]


def spread(pid: int) -> None:
    """Give each thread of a pool its own core, and raise the priority where that is allowed."""
    found = threads(pid)
    for thread, cores in zip(found, plan(len(found), sorted(os.sched_getaffinity(0))), strict=True):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(thread, cores)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, PRIORITY)


def release(pid: int) -> None:
    """All cores and the normal priority again, as compilers started by the process need it."""
    everywhere = os.sched_getaffinity(0)
    for thread in threads(pid):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(thread, everywhere)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, 0))
