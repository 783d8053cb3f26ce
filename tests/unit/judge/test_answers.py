from __future__ import annotations

from typing import Any

import pytest
from kernelwright.judge import answers
from kernelwright.judge.faults import Fault

FACT = {"name": None, "type": "Tensor", "dtype": "float32", "shape": [2], "stride": [1], "device": "cpu", "pointer": 64}


def test_right_answers_come_through() -> None:
    assert answers.facts({"outputs": [FACT]}) == [FACT]
    assert answers.pointers({"pointers": [[1, 2], [3, 4]]}, 2) == [[1, 2], [3, 4]]
    assert answers.names({"names": ["a"]}) == ["a"] and answers.names({}) is None
    assert answers.profile({"rows": [["aten::mm", 2, 1]], "modules": ["torch"]})["rows"] == [["aten::mm", 2.0, 1]]
    assert answers.addresses({"addresses": [[1], []]}) == [[1], []]


@pytest.mark.parametrize(
    ("read", "reply"),
    [
        (answers.facts, {}),
        (answers.facts, {"outputs": [1]}),
        (answers.facts, {"outputs": [{**FACT, "name": [1]}]}),
        (answers.facts, {"outputs": [{**FACT, "pointer": 2**70}]}),
        (answers.facts, {"outputs": [{**FACT, "pointer": None}]}),
        (answers.facts, {"outputs": [{**FACT, "shape": [[2]]}]}),
        (answers.facts, {"outputs": [{"type": "int", "value": {"a": 1}}]}),
        (answers.addresses, {"addresses": [[None]]}),
        (lambda reply: answers.pointers(reply, 2), {"pointers": [[1]]}),
        (lambda reply: answers.pointers(reply, 1), {"pointers": [[{"a": 1}]]}),
        (answers.names, {"names": [1]}),
        (answers.profile, {"rows": [["a", 10**400, 1]], "modules": []}),
        (answers.profile, {"rows": [["a", float("nan"), 1]], "modules": []}),
        (answers.profile, {"rows": [], "modules": 7}),
    ],
)
def test_others_are_of_the_wrong_form(read: Any, reply: Any) -> None:
    with pytest.raises(answers.WrongForm):
        read(reply)


def test_what_a_fault_says_can_be_written() -> None:
    fault = Fault("raised", "bad \ud800 text", "log \udfff")
    assert (fault.sentence + fault.log).encode() == b"bad ? textlog ?"
