"""Law: a gate is judged where the model does worst, and passes exactly at its limit."""

from __future__ import annotations

from ninfer_lab.lab.tiny_model.evaluate import Score, Subject, Swap
from ninfer_lab.lab.tiny_model.gates import judge


def score(subject: Subject, swap: Swap, *, length: int, right: int, foreign: int = 0) -> Score:
    return Score(
        length_tokens=length,
        subject=subject,
        swap=swap,
        asked_count=100,
        right_count=right,
        foreign_known_count=50,
        foreign_count=foreign,
    )


def scores(length: int, rights: tuple[int, int, int, int], foreign: int) -> list[Score]:
    """Changing and codes with their own cache, codes with zeroed and with foreign KV."""
    changing, codes, zeroed, swapped = rights
    return [
        score(Subject.CHANGING, Swap.NOTHING, length=length, right=changing),
        score(Subject.CODE, Swap.NOTHING, length=length, right=codes),
        score(Subject.CHANGING, Swap.STATE_FOREIGN, length=length, right=0, foreign=foreign),
        score(Subject.CODE, Swap.KV_ZERO, length=length, right=zeroed),
        score(Subject.CODE, Swap.KV_FOREIGN, length=length, right=swapped),
    ]


def test_exactly_at_the_limits_everything_passes() -> None:
    gates = judge(scores(256, (98, 90, 50, 50), 45))
    assert [gate.passed for gate in gates] == [True] * 5
    assert [gate.found_share for gate in gates] == [0.98, 0.90, 0.90, 0.50, 0.50]


def test_one_below_the_limits_everything_fails() -> None:
    gates = judge(scores(256, (97, 89, 51, 51), 44))
    assert [gate.passed for gate in gates] == [False] * 5


def test_the_worst_length_decides() -> None:
    good, bad = scores(256, (100, 100, 0, 0), 50), scores(1024, (90, 80, 60, 70), 10)
    for order in (good + bad, bad + good):
        gates = judge(order)
        assert [gate.at_length_tokens for gate in gates] == [1024] * 5
        assert [gate.passed for gate in gates] == [False] * 5
