from kernelwright.search import halving
from kernelwright.search.halving import Rung, Trial

WORKLOADS = ("large", "small", "middle", "other")


def play(scores, rounds, reasons=None):
    """Run halving over fixed scores; None drops out."""
    lines = []

    def measure(candidate: int, rung: Rung) -> Trial:
        score = scores[candidate]
        return Trial(candidate, rung.index, score, None if score is not None else "compile_error", {})

    best, trials = halving.run(range(len(scores)), rounds, measure, lines.append)
    return best, trials, lines


def test_each_round_halves_and_the_last_measures_the_finalists_in_full():
    rounds = halving.rungs(12, 2, WORKLOADS, samples=30, seeds=3)
    assert [rung.keep for rung in rounds] == [6, 3, 2, 1]
    assert rounds[-1].workloads == WORKLOADS
    assert (rounds[-1].samples, rounds[-1].seeds) == (30, 3)
    assert rounds[0].workloads == ("large", "small")
    assert rounds[0].samples < rounds[1].samples < rounds[2].samples < 30
    assert {rung.seeds for rung in rounds[:-1]} == {1}


def test_one_candidate_has_one_full_round():
    (only,) = halving.rungs(1, 2, WORKLOADS, samples=30, seeds=3)
    assert only.workloads == WORKLOADS
    assert only.samples == 30


def test_the_best_wins_and_the_number_of_trials_is_that_of_the_rounds():
    scores = [1.0, 1.2, 3.0, 0.5, None, 2.0, 1.1, 0.9]
    best, trials, lines = play(scores, halving.rungs(8, 2, WORKLOADS, 10, 1))
    assert best == 2
    assert len(trials) == 8 + 4 + 2
    assert "1 dropped" in lines[0]
    assert {trial.candidate for trial in trials if trial.rung == 2} == {2, 5}


def test_equal_scores_give_the_earlier_candidate():
    best, _, _ = play([1.5, 1.5, 1.5], halving.rungs(3, 1, WORKLOADS, 10, 1))
    assert best == 0


def test_when_all_drop_out_there_is_no_winner_and_no_further_round():
    best, trials, _ = play([None, None, None, None], halving.rungs(4, 1, WORKLOADS, 10, 1))
    assert best is None
    assert len(trials) == 4
