"""Whose a GPU kernel is, by its name: the vendor's and torch's libraries, or the candidate's own."""

from __future__ import annotations

import re
from typing import Any

# Names that kernels of torch and of NVIDIA's libraries carry. A candidate's own kernel has no reason to look like one.
LIBRARY = re.compile(
    r"\b(?:at|c10|thrust|cub)::|at_cuda_detail|cublas|cudnn|cusparse|cusolver|cufft|nccl|xmma|nvjet|"
    r"cutlass::Kernel|cutlass_\d\d_|(?:sm\d+|ampere|volta|turing|hopper|maxwell)_\w*gemm|gemv(?:2T|2N|NSP)|splitKreduce|"
    r"pytorch_flash|fmha_"
)
NEUTRAL = re.compile(
    r"^(?:Memcpy|Memset|\[memory\])|Activity Buffer|Context Sync|Stream Sync|Event Sync", re.IGNORECASE
)
NAME = re.compile(r"(?:void )?([\w:]+)")


def attribution(rows: list[Any]) -> tuple[float | None, dict[str, float]]:
    """Share of the GPU's time in kernels that are no library's, and microseconds by library kernel.

    Plain copies and fills are neither.
    """
    own = 0.0
    library: dict[str, float] = {}
    for name, micros, _ in rows:
        if NEUTRAL.search(str(name)):
            continue
        if LIBRARY.search(str(name)):
            label = short(str(name))
            library[label] = library.get(label, 0.0) + float(micros)
        else:
            own += float(micros)
    total = own + sum(library.values())
    return (own / total if total > 0 else None), library


def short(name: str) -> str:
    found = NAME.match(name)
    return (found.group(1) if found else name)[:80]
