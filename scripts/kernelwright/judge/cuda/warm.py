"""A kernel that does nothing, so that Triton's compiler and launcher are loaded before a candidate's is compiled."""

from __future__ import annotations

import triton


@triton.jit
def nothing():
    pass


def launch() -> None:
    nothing[(1,)]()
