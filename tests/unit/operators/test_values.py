"""References against independent formulas, on small cases."""

import itertools

import torch
from kernelwright import operators
from kernelwright.operators.runtime import Runtime
from torch.nn import functional


def run(name: str, key: str) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], dict]:
    operator = operators.load(operators.find(name))
    workload = operator.workload(key)
    runtime = Runtime(operator)
    inputs = runtime.build_inputs(workload, 11, "cpu")
    given = {key: value.clone() for key, value in inputs.items()}
    return given, runtime.reference(workload, "cpu")(**inputs), {**workload.init_kwargs, **workload.input_kwargs}


def close(actual: torch.Tensor, expected: torch.Tensor, rtol: float = 1e-2) -> None:
    torch.testing.assert_close(actual.float(), expected.float(), rtol=rtol, atol=1e-2)


def test_norms() -> None:
    given, out, kwargs = run("rms_norm", "prime")
    close(out["out"], functional.rms_norm(given["x"].float(), (kwargs["hidden_size"],), given["weight"].float(), 1e-6))
    given, out, kwargs = run("fused_add_rms_norm", "prime")
    total = given["x"].float() + given["residual"].float()
    close(out["residual"], total)
    close(out["out"], functional.rms_norm(total, (kwargs["hidden_size"],), given["weight"].float(), 1e-6))
    given, out, _ = run("layer_norm", "prime_rank3")
    close(out["out"], functional.layer_norm(given["x"].float(), (1151,), eps=1e-6))
    given, out, _ = run("l2_norm", "prime")
    close(out["out"], functional.normalize(given["x"].float(), dim=-1))


def test_activations_and_reductions() -> None:
    given, out, _ = run("silu_and_mul", "prime")
    gate, up = given["x"].float().chunk(2, -1)
    close(out["out"], functional.silu(gate) * up)
    given, out, _ = run("moe_sum_reduce", "scaled")
    close(out["out"], 2.5 * given["expert_outputs"].double().sum(1))
    given, out, _ = run("linear_sigmoid_mul", "prime")
    logits = given["hidden_states"].double() @ given["weight"].double().T + given["bias"].double()
    close(out["out"], torch.sigmoid(logits) * given["post_mul_mat"].double(), rtol=3e-2)


def test_moe_topk() -> None:
    given, out, kwargs = run("moe_topk_gating_softmax", "prime")
    order = given["gating_output"].argsort(dim=-1, descending=True)[:, : kwargs["top_k"]]
    assert torch.equal(out["topk_ids"].long(), order)
    close(out["topk_weights"], torch.softmax(given["gating_output"], -1).gather(1, order), rtol=1e-5)


def test_mrope_turns_each_section_by_its_axis() -> None:
    given, out, _ = run("mrope", "prime")
    half, sections = 64, [16, 24, 24]
    axis = torch.repeat_interleave(torch.arange(3), torch.tensor(sections))
    token, head = 5, 2
    pair = torch.complex(*given["q"].float().view(13, 7, 2, half)[token, head])
    angle = torch.complex(given["cos"][axis, token, torch.arange(half)], given["sin"][axis, token, torch.arange(half)])
    turned = pair * angle
    close(out["q"].view(13, 7, 2, half)[token, head], torch.stack([turned.real, turned.imag]))


def test_mrope_partly_rotated_and_interleaved() -> None:
    given, out, _ = run("mrope", "partly_rotated")
    assert torch.equal(out["k"].view(5, 2, 96)[..., 64:], given["k"].view(5, 2, 96)[..., 64:])
    given, out, _ = run("mrope", "interleaved_pairs")
    axis = torch.tensor([i % 3 if i < 60 else 0 for i in range(64)])
    pair = torch.view_as_complex(given["k"].float().view(5, 2, 64, 2))[3, 1]
    index = torch.arange(64)
    turned = torch.view_as_real(pair * torch.complex(given["cos"][axis, 3, index], given["sin"][axis, 3, index]))
    close(out["k"].view(5, 2, 64, 2)[3, 1], turned)


def test_group_quantisation_can_be_undone() -> None:
    given, out, kwargs = run("per_token_group_quant_fp8", "small_groups")
    groups = given["x"].float().view(7, 3, kwargs["group_size"])
    restored = out["quantized"].float().view_as(groups) * out["scales"][..., None]
    torch.testing.assert_close(restored, groups, rtol=2**-4, atol=1e-2)
    torch.testing.assert_close(out["scales"] * 448, groups.abs().amax(-1), rtol=1e-6, atol=0)


def test_reshape_and_cache_writes_slots_only() -> None:
    given, out, _ = run("reshape_and_cache", "prime")
    slots = given["slot_mapping"]
    assert slots.unique().numel() == slots.numel()
    for name in ("key", "value"):
        rows = out[f"{name}_cache"].flatten(0, 1)
        assert torch.equal(rows[slots], given[name])
        kept = torch.ones(rows.shape[0], dtype=torch.bool)
        kept[slots] = False
        assert torch.equal(rows[kept], given[f"{name}_cache"].flatten(0, 1)[kept])


def test_causal_conv() -> None:
    given, out, _ = run("causal_conv1d", "prime")
    history = torch.cat([given["initial_state"], given["x"]], 1).float()[None]
    dim = given["x"].shape[0]
    filtered = functional.conv1d(history, given["weight"].float()[:, None], given["bias"].float(), groups=dim)[0]
    close(out["out"], functional.silu(filtered))


def test_paged_attention_against_dense() -> None:
    given, out, kwargs = run("paged_attention_decode", "prime")
    for sequence, length in enumerate(given["seq_lens"].tolist()):
        assert 1 <= length <= kwargs["ctx_len"]
        blocks = given["block_tables"][sequence].long()
        keys, values = (given[name][blocks].flatten(0, 1)[:length].float() for name in ("k_cache", "v_cache"))
        for head in range(6):
            weights = torch.softmax(keys[:, head // 3] @ given["query"][sequence, head].float() / 128**0.5, 0)
            close(out["out"][sequence, head], weights @ values[:, head // 3])


def test_attention_stays_within_sequences() -> None:
    given, out, _ = run("attention_forward", "ragged")
    ends = given["cu_seqlens_q"].tolist()
    for start, end in itertools.pairwise(ends):
        q, k, v = (given[name][start:end].float() for name in "qkv")
        weights = torch.softmax(torch.einsum("qhd,khd->hqk", q, k) / 128**0.5, -1)
        close(out["out"][start:end], torch.einsum("hqk,khd->qhd", weights, v))


def test_block_scaled_mm_by_blocks() -> None:
    given, out, _ = run("block_scaled_mm", "partial_blocks")
    a, b = given["a"].float(), given["b"].float()
    expected = torch.zeros(7, 200)
    for j in range(2):
        for kk in range(3):
            rows, inner = slice(128 * j, 128 * j + 128), slice(128 * kk, 128 * kk + 128)
            part = a[:, inner] @ b[rows, inner].T
            expected[:, rows] += part * given["a_scales"][:, kk : kk + 1] * given["b_scales"][j, kk]
    torch.testing.assert_close(out["out"], expected, rtol=1e-4, atol=1e-3)
