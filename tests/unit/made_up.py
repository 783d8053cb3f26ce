"""Operators that the project does not have, of families whose templates must serve them: name -> how to write them down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple


class Made(NamedTuple):
    """`forward` is the body of a method, `inputs` an expression over the size n, `expected` a part of the reading."""

    arguments: str
    forward: str
    inputs: str
    expected: dict


ATTEND = "torch.nn.functional.scaled_dot_product_attention"
PAGED = """
keys, values = (c[t.long()].flatten(1, 2).repeat_interleave(2, 2).float() for c in (kc, vc))
scores = torch.einsum('shd,slhd->shl', q.float(), keys) * q.shape[-1] ** -0.5
beyond = torch.arange(keys.shape[1], device=q.device)[None] >= l[:, None]
chances = torch.softmax(scores.masked_fill(beyond[:, None], float('-inf')), -1)
return torch.einsum('shl,slhd->shd', chances, values).to(q.dtype)
"""
ROTATE = """
c, s = cos[:, None], sin[:, None]
def turned(x):
    a, b = x.chunk(2, -1)
    return x * c + torch.cat([-b, a], -1) * s
return turned(q), turned(k)
"""
MADE = {
    "long_rows": Made(
        "x, r, w, b",
        "t = x + r\nreturn torch.nn.functional.layer_norm(t, (t.shape[-1],), w, b, 1e-5), t",
        "{'x': torch.randn(n, 33000), 'r': torch.randn(n, 33000), 'w': torch.randn(33000), 'b': torch.randn(33000)}",
        {"template": "triton_row_norm", "statistic": "layer", "bias": "b"},
    ),
    "strided_rows": Made(
        "x, w",
        "return torch.nn.functional.rms_norm(x, (x.shape[-1],), w, 1e-5)",
        "{'x': torch.randn(n, 300).bfloat16()[:, 8:200], 'w': torch.randn(192).bfloat16()}",
        {"template": "triton_row_norm", "statistic": "rms"},
    ),
    "second_half_gates": Made(
        "x",
        "up, gate = x.chunk(2, -1)\nreturn torch.nn.functional.gelu(gate) * up",
        "{'x': torch.randn(n, 2, 88).half()}",
        {"template": "triton_gated_activation", "swapped": True, "activation": "gelu"},
    ),
    "mean_of_many": Made(
        "x", "return x.mean(dim=1)", "{'x': torch.randn(n, 40, 70).bfloat16()}",
        {"template": "triton_row_reduction", "mean": True},
    ),
    "renormalised_choice": Made(
        "x",
        "w, i = torch.topk(torch.softmax(x, -1), 4, dim=-1)\nreturn w / w.sum(-1, keepdim=True), i",
        "{'x': torch.randn(n, 50)}",
        {"template": "triton_topk_softmax", "renormalise": True, "top_k": {"value": 4}},
    ),
    "causal_attention": Made(
        "q, k, v", f"return {ATTEND}(q, k, v, is_causal=True)",
        "{name: torch.randn(2, 3, 9 * n, 24).bfloat16() for name in 'qkv'}",
        {"template": "triton_attention", "layout": "heads_first", "causal": {"value": True}},
    ),
    "grouped_heads_last": Made(
        "q, k, v",
        f"q, k, v = (x.transpose(1, 2) for x in (q, k, v))\nreturn {ATTEND}(q, k, v, enable_gqa=True).transpose(1, 2)",
        "{name: torch.randn(2, 9 * n, heads, 32).bfloat16() for name, heads in (('q', 4), ('k', 2), ('v', 2))}",
        {"template": "triton_attention", "layout": "heads_last", "causal": {"value": False}},
    ),
    "long_paged": Made(
        "q, kc, vc, t, l", PAGED,
        "{'q': torch.randn(n, 4, 32).half(), 'kc': torch.randn(60 * n, 16, 2, 32).half(), "
        "'vc': torch.randn(60 * n, 16, 2, 32).half(), 't': torch.randperm(60 * n)[: 50 * n].view(n, 50).int(), "
        "'l': torch.randint(1, 800, (n,)).int()}",
        {"template": "triton_paged_decode", "heads_last": True},
    ),
    "gated_product": Made(
        "a, w, g", "return torch.nn.functional.silu(a @ w) + g",
        "{'a': torch.randn(n, 64).half(), 'w': torch.randn(64, 40).half(), 'g': torch.randn(n, 40).half()}",
        {"template": "triton_linear", "transposed": False, "activation": "silu", "combine": "add", "other": "g"},
    ),
    "turned_halves": Made(
        "q, k, cos, sin", ROTATE,
        "{'q': torch.randn(2, 4, n, 24).bfloat16(), 'k': torch.randn(2, 2, n, 24).bfloat16(), "
        "'cos': torch.randn(2, n, 24).bfloat16(), 'sin': torch.randn(2, n, 24).bfloat16()}",
        {"template": "triton_rope", "layout": "bhsd", "whole": True, "neox": True},
    ),
    "turned_pairs": Made(
        "x, cos, sin",
        "a, b, c, s = x[..., ::2], x[..., 1::2], cos[:, None], sin[:, None]\n"
        "return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2).to(x.dtype)",
        "{'x': torch.randn(n, 5, 32).half(), 'cos': torch.randn(n, 16), 'sin': torch.randn(n, 16)}",
        {"template": "triton_rope", "layout": "shd", "whole": False, "neox": False},
    ),
}  # fmt: skip


def write(name: str, folder: Path) -> Path:
    """The operator's folder, without a family."""
    made = MADE[name]
    folder = folder / name
    folder.mkdir()
    (folder / "input.py").write_text(f"import torch\n\ndef _make_inputs(n: int):\n    return {made.inputs}\n")
    shapes = {str(n): {"init_kwargs": {}, "input_kwargs": {"n": n}} for n in (3, 7)}
    (folder / "shapes.json").write_text(json.dumps(shapes))
    body = "\n".join("        " + line for line in made.forward.strip().splitlines())
    (folder / "reference.py").write_text(
        "import torch\nfrom torch import nn\n\nclass Model(nn.Module):\n"
        f"    def forward(self, {made.arguments}):\n{body}\n"
    )
    return folder
