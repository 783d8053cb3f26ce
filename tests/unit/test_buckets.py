import random
from typing import Any

import pytest
from kernelwright import buckets
from kernelwright.errors import InputError, KernelwrightError

FACTS = {"last_level_cache_bytes": {"value": 50_000_000, "source": "t", "confidence": "datasheet"}}


def signature(
    size: int, dtype: str = "bfloat16", rank: int = 2, layout: str = "contiguous", **scalars: Any
) -> dict[str, Any]:
    shape = [size] + [1] * (rank - 1)
    args: dict[str, Any] = {"x": {"shape": shape, "stride": shape, "dtype": dtype, "layout": layout}}
    args.update({name: {"value": value} for name, value in scalars.items()})
    return {"init": {}, "args": args, "input_bytes": size}


def campaign(
    table: dict[str, dict[str, Any]], bounds: dict[str, str] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    workloads = {
        key: {
            "traffic": {"read_bytes": item["input_bytes"], "write_bytes": item["input_bytes"], "flops": 0},
            "floor": {"bound": (bounds or {}).get(key, "launch" if item["input_bytes"] < 10_000 else "memory")},
        }
        for key, item in table.items()
    }
    return {"workloads": workloads, "platform": {"facts": FACTS}}, {"workloads": table}


def sizes(*values: int) -> dict[str, dict[str, Any]]:
    return {f"w{index}": signature(value) for index, value in enumerate(values)}


def groups(found: list[dict[str, Any]]) -> list[list[str]]:
    return [bucket["workloads"] for bucket in found]


def test_layout_key() -> None:
    entry = signature(8, "float32", 3, "strided", n=4, f=0.5, flag=True, mode="silu", none=None, seq=[1, 2])
    assert buckets.layout_key(entry) == "x:float32:3:s;n=int;f=float;flag=True;mode='silu';none=None;seq=list"


def test_regimes_are_cut() -> None:
    found = buckets.partition(*campaign(sizes(5_000, 15_000, 20_000_000, 30_000_000)), cap=8)
    assert groups(found) == [["w0"], ["w1"], ["w2"], ["w3"]]
    assert [bucket["label"].split(", ")[-1] for bucket in found] == [
        "launch-bound",
        "cache-resident",
        "cache-resident",
        "streaming",
    ]


def test_natural_gaps_are_cut_and_close_sizes_are_not() -> None:
    found = buckets.partition(*campaign(sizes(20_000, 30_000, 50_000, 900_000, 1_000_000)), cap=8)
    assert groups(found) == [["w0", "w1", "w2"], ["w3", "w4"]]
    low, high = (bucket["rule"] for bucket in found)
    assert low["min_input_bytes"] == 0
    assert low["max_input_bytes"] == high["min_input_bytes"]
    assert 50_000 < high["min_input_bytes"] <= 900_000
    assert high["max_input_bytes"] is None


def test_cap_merges_the_closest_within_a_regime_first() -> None:
    table = sizes(100, 9_000, 10_500, 100_000, 5_000_000)  # gaps: 100..9000 launch, then cache
    assert len(buckets.partition(*campaign(table), cap=8)) == 5
    assert groups(buckets.partition(*campaign(table), cap=4)) == [["w0"], ["w1"], ["w2", "w3"], ["w4"]]
    assert groups(buckets.partition(*campaign(table), cap=2)) == [["w0", "w1"], ["w2", "w3", "w4"]]


def test_one_kernel_for_all_matches_anything() -> None:
    table = {**sizes(10, 10**9), "s": signature(50, "float32")}
    found = buckets.partition(*campaign(table), cap=1)
    assert groups(found) == [["w0", "w1", "s"]]
    assert found[0]["rule"] == {"layout_key": None, "min_input_bytes": 0, "max_input_bytes": None}
    assert buckets.match(signature(7, "int8", 5), found) == "b00"


def test_layouts_get_their_own_buckets() -> None:
    table = {"a": signature(1000), "b": signature(1000, "float32"), "c": signature(1000, layout="strided")}
    found = buckets.partition(*campaign(table), cap=8)
    assert groups(found) == [["a"], ["b"], ["c"]]


def test_rare_layouts_share_the_bucket_that_matches_any_key() -> None:
    table = {**sizes(10_000, 12_000, 14_000), "f": signature(20_000, "float32"), "h": signature(9, "float16")}
    found = buckets.partition(*campaign(table), cap=2)
    assert groups(found) == [["w0", "w1", "w2"], ["f", "h"]]
    assert found[1]["rule"]["layout_key"] is None
    assert buckets.match(signature(11, "int8"), found) == "b01"
    assert buckets.match(signature(10**10), found) == "b00"


def test_unknown_layout_without_a_null_key_falls_to_the_last_bucket() -> None:
    found = buckets.partition(*campaign(sizes(100, 10**9)), cap=8)
    assert buckets.match(signature(1, "float64"), found) == found[-1]["id"]


def test_equal_signatures_are_never_split() -> None:
    table = sizes(9_000, 9_000, 9_000, 80_000)
    found = buckets.partition(*campaign(table, {"w1": "memory", "w0": "launch", "w2": "launch"}), cap=8)
    assert groups(found) == [["w0", "w1", "w2"], ["w3"]]


def test_unknown_facts_cut_at_gaps_only() -> None:
    specs, signatures = campaign(sizes(20_000, 25_000, 40_000_000))
    specs["platform"]["facts"] = {}
    found = buckets.partition(specs, signatures, cap=8)
    assert groups(found) == [["w0", "w1"], ["w2"]]
    assert found[0]["label"] == "bfloat16, 20 kB to 25 kB"


@pytest.mark.parametrize("seed", range(40))
def test_every_signature_has_exactly_one_bucket(seed: int) -> None:
    """Random campaigns: exact, disjoint, within the cap, reproducible from signatures, in any order of workloads."""
    rng = random.Random(seed)
    dtypes = rng.sample(["bfloat16", "float32", "float16", "float8_e4m3fn"], rng.randint(1, 4))
    table = {
        f"w{index}": signature(int(2 ** rng.uniform(0, 36)), rng.choice(dtypes), rng.randint(1, 2))
        for index in range(rng.randint(1, 40))
    }
    bounds = {key: rng.choice(["launch", "memory", "compute", "unknown"]) for key in table}
    cap = rng.randint(1, 10)
    specs, signatures = campaign(table, bounds)
    found = buckets.partition(specs, signatures, cap)
    assert 1 <= len(found) <= cap
    assert sorted(key for bucket in found for key in bucket["workloads"]) == sorted(table)
    for bucket in found:
        assert {buckets.match(table[key], found) for key in bucket["workloads"]} == {bucket["id"]}
    for _ in range(50):
        probe = signature(int(2 ** rng.uniform(0, 40)), rng.choice(dtypes), rng.randint(1, 2))
        key = buckets.layout_key(probe)
        fits = [
            bucket["id"]
            for bucket in found
            if bucket["rule"]["layout_key"] == key
            and bucket["rule"]["min_input_bytes"] <= probe["input_bytes"]
            and (bucket["rule"]["max_input_bytes"] is None or probe["input_bytes"] < bucket["rule"]["max_input_bytes"])
        ]
        assert len(fits) <= 1
        assert buckets.match(probe, found) in (fits or [bucket["id"] for bucket in found])
    shuffled = list(table)
    rng.shuffle(shuffled)
    again = buckets.partition(specs, {"workloads": {key: table[key] for key in shuffled}}, cap)
    assert {frozenset(group) for group in groups(again)} == {frozenset(group) for group in groups(found)}


def test_sets_that_differ_are_refused() -> None:
    specs, signatures = campaign(sizes(1, 2))
    del signatures["workloads"]["w1"]
    with pytest.raises(InputError, match="w1 not in both"):
        buckets.partition(specs, signatures, 8)


def test_check_finds_a_wrong_partition() -> None:
    table = sizes(100, 10**9)
    found = buckets.partition(*campaign(table), cap=8)
    found[0]["workloads"], found[1]["workloads"] = found[1]["workloads"], found[0]["workloads"]
    with pytest.raises(KernelwrightError, match="its signature matches"):
        buckets.check(found, table)


@pytest.mark.parametrize("cap", ["0", "101"])
def test_cap_is_checked(cap: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--specs", "s", "--signatures", "f", "--max", cap, "--output", "o"]
    assert buckets.main(argv) == 2
    assert f"--max {cap}: must be from 1 to 100" in capsys.readouterr().err
