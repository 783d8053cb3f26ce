"""A campaign on disk as a run would leave it, valid by every schema, with numbers drawn from a seeded generator."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from kernelwright import artifacts, paths

SHAPES = [
    (1, 4096),
    (8, 4096),
    (64, 4096),
    (512, 5120),
    (1024, 7168),
    (2048, 7168),
    (4096, 7168),
    (8192, 8192),
    (16384, 8192),
]
BUCKETS = [(0, 3), (3, 6), (6, 9)]  # from, to in SHAPES
BANDWIDTH_GB_S = 41.2
PLANS = [
    (
        "vectorization",
        "Rows are read one element at a time; eight lanes per load halve the memory instructions.",
        "accepted",
        1.9,
    ),
    (
        "parallelism",
        "One thread walks all rows; splitting rows over cores uses the idle half of the machine.",
        "accepted",
        1.45,
    ),
    (
        "fusion",
        "The squared sum and the scaling read x twice; keeping a row in registers saves one read.",
        "not_faster",
        1.004,
    ),
    ("precision", "Accumulating in bfloat16 saves conversions.", "precision_loss", None),
    ("tuning", "Blocks of 2,048 elements fit the first-level cache better than 512.", "compile_error", None),
    ("launch", "Waking fewer threads for short rows removes their start-up time.", "accepted", 1.08),
]  # category, hypothesis, outcome or reason, gain
KERNEL = '''"""RMS norm, variant {tag}."""

import torch
from torch import nn

BLOCK = {block}


def scale(x, weight, eps):
    rows = x.float()
    return (rows * torch.rsqrt(rows.square().mean(-1, keepdim=True) + eps) * weight.float()).to(x.dtype)


class Model(nn.Module):
    def __init__(self, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return scale(x, weight, self.eps)
'''
FACTS = {
    "device": "AMD EPYC 9354 32-Core Processor",
    "driver": "Linux 6.1",
    "torch": "2.13.0+cpu",
    "compiler": "g++ 12.2.0",
}
USAGE = {"input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0, "wall_s": 31.4, "trials": 12}


def estimate(value: float, spread: float = 0.02) -> dict[str, float]:
    return {"value": value, "low": value * (1 - spread), "high": value * (1 + spread)}


def latency(median: float, generator: random.Random) -> dict[str, Any]:
    samples = [median * generator.lognormvariate(0, 0.02) for _ in range(30)]
    return {
        "median_us": median,
        "low_us": median * 0.99,
        "high_us": median * 1.01,
        "samples_us": samples,
        "calls_per_sample": 4,
    }


def profile_body(bucket: str, version: int, workloads: list[str]) -> dict[str, Any]:
    """Body of a profile.json in which one kernel takes most of the time."""
    metrics = {
        "memory_bandwidth_share": {
            "value": 0.31 + 0.1 * version,
            "unit": "ratio",
            "note": "bytes moved over time and peak",
        },
        "instructions_per_cycle": {"value": 1.7, "unit": ""},
        "last_level_misses": {"value": None, "unit": "per 1000 instructions"},
        "device_time": {"value": 184.2 / version, "unit": "us"},
    }
    hot = [
        {
            "name": "rms_norm_rows(float const*, float const*, float*, long, long)",
            "share": 0.91,
            "time_us": 167.6,
            "calls": 4,
        },
        {"name": "aten::empty_like", "share": 0.09, "time_us": 16.6},
    ]
    limits = [
        {"bound": "memory", "evidence": ["memory_bandwidth_share"], "expected_gain": 1.6, "note": "reads x twice"},
        {"bound": "latency", "evidence": ["instructions_per_cycle"], "expected_gain": None},
    ]
    return {
        "bucket": bucket,
        "version": version,
        "tool": "torch.profiler, perf",
        "kernel_sha256": "c" * 64,
        "workloads": workloads,
        "metrics": metrics,
        "hot": hot,
        "bottlenecks": limits,
    }


class Builder:
    """Writes artifacts of one campaign. `gain` of the shipped kernel over the reference rises with its versions."""

    def __init__(
        self, results: Path, operator: str = "rms_norm", framework: str = "cpp", compiled: bool = True
    ) -> None:
        self.campaign = paths.Campaign(results, operator, "cpu", framework, "leaderboard")
        self.generator = random.Random(3)
        self.compiled = compiled
        self.ids = [f"t{rows}_h{columns}" for rows, columns in SHAPES]

    def bytes_of(self, index: int) -> tuple[int, int]:
        rows, columns = SHAPES[index]
        return rows * columns * 2 + columns * 2, rows * columns * 2

    def floor_us(self, index: int) -> float | None:
        return sum(self.bytes_of(index)) / BANDWIDTH_GB_S / 1e3 if index != 1 else None

    def specs(self) -> None:
        workloads = {}
        for index, key in enumerate(self.ids):
            rows, columns = SHAPES[index]
            read, write = self.bytes_of(index)
            floor = self.floor_us(index)
            workloads[key] = {
                "init_kwargs": {"eps": 1e-6},
                "input_kwargs": {"token_count": rows, "hidden_size": columns},
                "axes": {"token_count": rows, "hidden_size": columns},
                "traffic": {
                    "read_bytes": read,
                    "write_bytes": write,
                    "flops": 4 * rows * columns,
                    "source": "declared",
                },
                "floor": {
                    "memory_us": floor,
                    "compute_us": None,
                    "launch_us": None,
                    "floor_us": floor,
                    "bound": "memory" if floor else "unknown",
                },
            }
        tensor = {"dtype": "bfloat16", "shape": ["token_count", "hidden_size"]}
        operator = {
            "name": self.campaign.operator,
            "layout": "native",
            "family": "row_norm",
            "directory_digest": "a" * 64,
            "summary": "Root-mean-square normalisation of each row, scaled by a learned weight.",
            "inputs": {"x": tensor, "weight": {"dtype": "bfloat16", "shape": ["hidden_size"]}},
            "outputs": {"out": tensor},
            "mutates": [],
            "tolerance": {},
            "deterministic": True,
        }
        facts = {
            "memory_bandwidth_gb_s": {
                "value": BANDWIDTH_GB_S,
                "source": "copy of 1 GiB, best of 20",
                "confidence": "measured",
            },
            "peak_float32_gflops": {"value": None, "source": "not measured", "confidence": "unknown"},
            "last_level_cache_bytes": {
                "value": 268435456,
                "source": "/sys/devices/system/cpu",
                "confidence": "measured",
            },
        }
        platform = {"name": "cpu", "vendor": "cpu", "device": FACTS["device"], "facts": facts}
        body = {
            "framework": self.campaign.framework,
            "mode": "leaderboard",
            "operator": operator,
            "platform": platform,
            "workloads": workloads,
            "targets": {"utilization": 0.95},
        }
        artifacts.write(self.campaign.specs, "specs", body, platform="cpu")

    def signatures(self) -> None:
        workloads = {}
        for index, key in enumerate(self.ids):
            rows, columns = SHAPES[index]
            x = {"shape": [rows, columns], "stride": [columns, 1], "dtype": "bfloat16", "layout": "contiguous"}
            weight = {"shape": [columns], "stride": [1], "dtype": "bfloat16", "layout": "contiguous"}
            workloads[key] = {
                "init": {"eps": 1e-6},
                "args": {"x": x, "weight": weight},
                "input_bytes": self.bytes_of(index)[0],
            }
        artifacts.write(self.campaign.signatures, "signatures", {"workloads": workloads})

    def buckets(self) -> None:
        key = "x:bfloat16:2:c;weight:bfloat16:1:c"
        edges: list[int | None] = [0, *(self.bytes_of(start)[0] for start, _ in BUCKETS[1:]), None]
        buckets = []
        for index, (start, stop) in enumerate(BUCKETS):
            rule = {"layout_key": key, "min_input_bytes": edges[index], "max_input_bytes": edges[index + 1]}
            label = f"bfloat16, {SHAPES[start][0]} to {SHAPES[stop - 1][0]} rows"
            buckets.append({"id": f"b{index:02d}", "label": label, "workloads": self.ids[start:stop], "rule": rule})
        artifacts.write(self.campaign.buckets, "buckets", {"cap": 8, "buckets": buckets})

    def timing(self, ids: list[str], over_reference: float, gain: float | None) -> dict[str, Any]:
        names = ["reference"] + ["compiled"] * self.compiled + ["incumbent"] * (gain is not None)
        rows = {}
        for key in ids:
            index = self.ids.index(key)
            reference = sum(self.bytes_of(index)) / 1e3 / BANDWIDTH_GB_S * 4.2 + 9
            mine = reference / over_reference * self.generator.uniform(0.93, 1.07)
            medians = {"reference": reference, "compiled": reference / 1.7, "incumbent": mine * (gain or 1)}
            floor = self.floor_us(index)
            rows[key] = {
                "candidate": latency(mine, self.generator),
                "contenders": {name: latency(medians[name], self.generator) for name in names},
                "speedup": {name: estimate(medians[name] / mine, 0.03) for name in names},
                "floor_us": floor,
                "share_of_floor": floor / mine if floor else None,
            }
        totals = {"reference": over_reference, "compiled": over_reference / 1.7, "incumbent": gain}
        geomean = {name: estimate(totals[name]) for name in names}  # type: ignore[arg-type]
        method = "the judge's monotonic clock, cold inputs, A B B A"
        return {"method": method, "workloads": rows, "geomean": geomean, "notes": ["2 cores, shared with other work"]}

    def verdict(self, path: Path, ids: list[str], kernel: Path, **facts: Any) -> dict[str, Any]:
        reason, status = facts.get("reason"), facts.get("status", "accepted")
        against = {"label": "incumbent", "sha256": "b" * 64} if facts.get("gain") is not None else None
        wrong = reason == "precision_loss"
        rows = {key: {"passed": not wrong, "checks": 14, "worst_error": 0.0078, "error_ratio": 1.02} for key in ids}
        speedup = facts.get("over_reference")
        body = {
            "status": status,
            "reason": reason,
            "sentence": facts["sentence"],
            "stage": {"precision_loss": "correctness", "compile_error": "compile", "not_faster": "timing"}.get(
                reason or ""
            ),
            "scope": {
                "operator": self.campaign.operator,
                "platform": "cpu",
                "framework": self.campaign.framework,
                "mode": "leaderboard",
                "workloads": ids,
                "bucket": facts.get("bucket"),
                "version": facts.get("version"),
            },
            "kernel": {"path": str(kernel), "sha256": artifacts.sha256_file(kernel)},
            "against": against,
            "isolation": {"level": "process", "missing": ["no user namespaces on this machine", "network not cut"]},
            "settings": {"seeds": 3, "samples": 30, "min_improvement": 0.02, "confidence": 0.95},
            "stages": [{"name": "compile", "status": "passed", "checks": 1}],
            "correctness": {"workloads": rows if reason != "compile_error" else {}},
            "timing": self.timing(ids, speedup, facts.get("gain")) if speedup else None,
            "policy": {"own_share": 0.98, "evidence": []},
            "incumbent": facts.get("incumbent"),
            "duration_s": 18.2,
        }
        return artifacts.write(path, "verdict", body, kernel_sha256=body["kernel"]["sha256"], **FACTS)

    def kernel(self, path: Path, tag: str) -> Path:
        artifacts.write_text(path, KERNEL.format(tag=tag, block=self.generator.randrange(1, 10**6)))
        return path

    def baseline(self) -> None:
        kernel = self.kernel(self.campaign.baseline / "kernel.py", "baseline")
        self.verdict(
            self.campaign.baseline / "verdict.json",
            self.ids,
            kernel,
            over_reference=1.0,
            version=0,
            sentence="Correct on all workloads; it is the reference.",
        )

    def incumbent(self, version: int, kernel: Path) -> dict[str, Any]:
        where = kernel.relative_to(self.campaign.root)
        return {"version": version, "kernel_path": str(where), "kernel_sha256": artifacts.sha256_file(kernel)}

    def bucket(self, index: int, count: int) -> dict[str, Any]:
        """Versions 1..count of a bucket; returns its last incumbent."""
        bucket = f"b{index:02d}"
        ids = self.ids[slice(*BUCKETS[index])]
        best, incumbent = 1.0, self.incumbent(0, self.campaign.baseline / "kernel.py")
        for version in range(1, count + 1):
            category, hypothesis, outcome, gain = PLANS[(version + index - 1) % len(PLANS)]
            folder = self.campaign.version_dir(bucket, version)
            kernel = self.kernel(folder / "candidate" / "kernel.py", f"{bucket} v{version:03d}")
            status = {"accepted": "accepted", "compile_error": "failed"}.get(outcome, "rejected")
            reason = None if status == "accepted" else outcome
            sentence = {
                None: f"Correct, and {gain} times as fast as the incumbent.",
                "not_faster": "Correct, but the interval of its gain, 0.98 to 1.02, does not clear 1.02.",
                "precision_loss": "The error of out on t64_h4096 is 9.3 times the reference's own.",
                "compile_error": "kernel.cpp:41: error: 'vaddq_f32' was not declared in this scope",
            }[reason]
            measured = best * gain if gain else None
            if status == "accepted" and measured:
                best, incumbent = measured, self.incumbent(version, kernel)
            self.verdict(
                folder / "verdict.json",
                ids,
                kernel,
                bucket=bucket,
                version=version,
                reason=reason,
                status=status,
                sentence=sentence,
                over_reference=measured,
                gain=gain,
                incumbent=incumbent,
            )
            self.episode(bucket, version, (category, hypothesis, status, reason), gain, incumbent)
        return incumbent

    def episode(
        self,
        bucket: str,
        version: int,
        idea: tuple[str, str, str, str | None],
        gain: float | None,
        incumbent: dict[str, Any],
    ) -> None:
        category, hypothesis, status, reason = idea
        folder = self.campaign.version_dir(bucket, version)
        common = {"bucket": bucket, "version": version, "hypothesis": hypothesis, "category": category, "wiki": []}
        evidence = [{"metric": "memory_bandwidth_share", "value": 0.31, "unit": "ratio"}]
        change = "Rewrite the inner loop with this change only, leave the outer loop as it is."
        plan = {
            **common,
            "status": "planned",
            "blocker": None,
            "agent": "search",
            "evidence": evidence,
            "change": change,
            "predicted_gain": 1.25,
            "usage": {**USAGE, "wall_s": 0.4, "trials": 0},
        }
        artifacts.write(folder / "plan.json", "plan", plan)
        artifacts.write(
            folder / "candidate" / "usage.json",
            "usage",
            {"agent": "search", "outcome": "candidate_ready", "usage": USAGE},
        )
        memory = {
            **common,
            "evidence": evidence,
            "change": change,
            "outcome": status,
            "reason": reason,
            "speedup": gain,
            "lesson": "Wider loads pay while the loop is bound by instructions.",
            "masked": False,
            "blocker": None,
            "share_of_floor": 0.5,
            "tokens": 0,
            "incumbent": incumbent,
        }
        artifacts.write(folder / "memory.json", "memory", memory)
        artifacts.write(folder / "profile.json", "profile", profile_body(bucket, version, self.ids[:1]))

    def failures(self) -> None:
        tail = "Traceback (most recent call last):\nRuntimeError: the disk is full\n"
        entry = {"step": "profile", "version": 3, "log": "logs/b02_v003_profile.log", "log_tail": tail}
        artifacts.write(self.campaign.root / "failures.json", "failures", {"buckets": {"b02": entry}})

    def dispatcher(self, incumbents: dict[str, dict[str, Any]]) -> None:
        folder = self.campaign.dispatcher
        kernel = self.kernel(folder / "kernel.py", "dispatcher")
        sentence = "Correct on all workloads, 2.31 times as fast as the reference."
        self.verdict(folder / "verdict.json", self.ids, kernel, over_reference=2.31, sentence=sentence)
        fixed = artifacts.read(self.campaign.buckets, "buckets")["buckets"]
        labels = {
            key: f"{key}_v{facts['version']:03d}" if facts["version"] else "v000" for key, facts in incumbents.items()
        }
        kernels = [
            {
                "label": labels[key],
                "kernel_path": facts["kernel_path"],
                "kernel_sha256": facts["kernel_sha256"],
                "buckets": [key],
            }
            for key, facts in incumbents.items()
        ]
        rows = [
            {
                **bucket,
                "version": incumbents[bucket["id"]]["version"],
                "kernel": labels[bucket["id"]],
                "failed": bucket["id"] == "b02",
            }
            for bucket in fixed
        ]
        said = "The dispatcher beats b00_v002 alone by 1.08 (1.05 to 1.11) over all workloads."
        judged = {"status": "accepted", "reason": None, "sentence": "Correct and faster.", "seeds": 5, "samples": 30}
        body = {
            "decision": {
                "shipped": "dispatcher",
                "reason": "faster_than_single",
                "sentence": said,
                "kernel_sha256": artifacts.sha256_file(kernel),
                "single": "b00_v002",
                "gain": estimate(1.08, 0.03),
            },
            "kernels": kernels,
            "buckets": rows,
            "comparisons": [
                {"kernel": "b00_v002", "purpose": "choose_single", "speedup": {"reference": estimate(2.1)}, **judged},
                {
                    "kernel": "dispatcher",
                    "purpose": "dispatcher_against_single",
                    **judged,
                    "speedup": {
                        "reference": estimate(2.31),
                        "compiled": estimate(1.36),
                        "incumbent": estimate(1.08, 0.03),
                    },
                },
            ],
            "workspace_commit": "0123456789abcdef0123456789abcdef01234567",
        }
        artifacts.write(folder / "provenance.json", "dispatch", body)


def build(results: Path, finished: bool = True, **settings: Any) -> paths.Campaign:
    """A whole campaign: three buckets of 5, 4 and 2 versions, the last broken; `finished` False has no dispatcher."""
    builder = Builder(results, **settings)
    builder.specs()
    builder.signatures()
    builder.baseline()
    builder.buckets()
    incumbents = {f"b{index:02d}": builder.bucket(index, count) for index, count in enumerate((5, 4, 2))}
    builder.failures()
    if finished:
        builder.dispatcher(incumbents)
    return builder.campaign
