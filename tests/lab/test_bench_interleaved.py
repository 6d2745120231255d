"""Law: two sides are timed in turn, and what is reported is a median over neighbouring pairs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ninfer_lab.lab.bench.interleaved import Interleaved, Pair, Spread, interleave


def test_the_sides_take_turns_and_the_one_that_goes_first_changes() -> None:
    calls: list[tuple[str, int]] = []

    def side(name: str, took_ns: int) -> Callable[[int], int]:
        def run(repeat: int) -> int:
            calls.append((name, repeat))
            return took_ns + repeat

        return run

    timed = interleave(side("ours", 100), side("other", 300), repeat_count=3)
    assert calls == [
        *(("ours", 0), ("other", 0)),  # warm-up
        *(("ours", 1), ("other", 1)),
        *(("other", 2), ("ours", 2)),
        *(("ours", 3), ("other", 3)),
    ]
    assert timed.pairs == tuple(Pair(ours_ns=100 + i, other_ns=300 + i) for i in (1, 2, 3))


def test_a_slow_minute_that_hits_both_sides_leaves_the_ratio_alone() -> None:
    slowdowns = (1, 1, 9, 9, 1)
    pairs = tuple(Pair(ours_ns=100 * slow, other_ns=150 * slow) for slow in slowdowns)
    timed = Interleaved(pairs=pairs)
    assert timed.times_faster == Spread(low=1.5, middle=1.5, high=1.5)
    assert timed.share.middle == pytest.approx(100 / 150)
    assert (timed.ours_ns, timed.other_ns) == (100, 150)


def test_one_disturbed_pair_does_not_move_the_median() -> None:
    pairs = [Pair(ours_ns=100, other_ns=200)] * 4 + [Pair(ours_ns=10_000, other_ns=200)]
    assert Interleaved(pairs=tuple(pairs)).times_faster.middle == 2.0


def test_a_single_value_is_its_own_quartiles() -> None:
    assert Spread.of([4.0]) == Spread(low=4.0, middle=4.0, high=4.0)


def test_no_repeat_is_refused() -> None:
    with pytest.raises(ValueError, match="repeat_count: found 0; legal: >= 1"):
        interleave(lambda _: 1, lambda _: 1, repeat_count=0)
