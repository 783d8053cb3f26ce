"""How a judgement ends early: a reason code of verdict.schema.yaml and one sentence."""

from __future__ import annotations

FAILED = {
    "no_candidate",
    "agent_failed",
    "bad_contract",
    "compile_error",
    "crashed",
    "timed_out",
    "raised",
    "protocol_error",
}
INVALID = {"invalid_operator", "trivial_answer_passes", "reference_not_finite", "input_without_effect"}


class Fault(Exception):
    """A kernel or a problem was found wanting. `log` is what the kernel printed or raised."""

    def __init__(self, reason: str, sentence: str, log: str = "") -> None:
        super().__init__(clean(sentence))
        self.reason = reason
        self.sentence = clean(sentence)
        self.log = clean(log)
        self.workload: str | None = None

    @property
    def status(self) -> str:
        if self.reason in FAILED:
            return "failed"
        return "invalid_problem" if self.reason in INVALID else "rejected"


def clean(text: str) -> str:
    """Text of a stranger without what UTF-8 cannot hold, lone surrogates."""
    return text.encode("utf-8", "replace").decode()
