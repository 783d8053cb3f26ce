from __future__ import annotations

import os

import pytest
from kernelwright.sandbox import placement


def test_each_pool_thread_gets_a_core_of_its_own() -> None:
    assert placement.plan(4, [0, 1, 2, 3]) == [{0}, {1}, {2}, {3}]


def test_a_second_pool_starts_again_beside_the_main_thread() -> None:
    assert placement.plan(5, [4, 6, 7]) == [{4}, {6}, {7}, {6}, {7}]


def test_one_thread_or_one_core_is_not_bound() -> None:
    assert placement.plan(1, [0, 1]) == [{0, 1}]
    assert placement.plan(3, [5]) == [{5}, {5}, {5}]
    assert placement.plan(0, [0, 1]) == []


def test_threads_of_this_process_start_with_the_main_one() -> None:
    assert placement.threads(os.getpid())[0] == os.getpid()
    assert placement.threads(2**22 + 1) == []


def test_the_main_thread_comes_first_after_a_wrap_of_the_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda path: ["2050", "31246", "2051"])
    assert placement.threads(31246) == [31246, 2050, 2051]
