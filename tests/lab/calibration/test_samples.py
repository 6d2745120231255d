"""Law: every point is measured once a round, in an order that changes, and nobody is preferred."""

from __future__ import annotations

from collections.abc import Callable

from ninfer_lab.lab.calibration.samples import Rounds, Sample, take_samples


def recorded(order: list[str], name: str, times: list[int]) -> Callable[[], int]:
    left = iter(times)

    def measure() -> int:
        order.append(name)
        return next(left)

    return measure


def test_rounds_are_interleaved_and_warm_ups_thrown_away() -> None:
    order: list[str] = []
    names = ("a", "b", "c", "d")
    measurers = [
        (name, recorded(order, name, [900 + i, 10 * i + 1, 10 * i + 2]))
        for i, name in enumerate(names)
    ]
    ticks: list[int] = []
    samples = take_samples(
        measurers, Rounds(warm_up_count=1, kept_count=2), seed=3, tick=lambda: ticks.append(1)
    )
    assert [sample.point for sample in samples] == list(names)
    assert [sample.repeats_ns for sample in samples] == [(1, 2), (11, 12), (21, 22), (31, 32)]
    rounds = [order[i : i + 4] for i in (0, 4, 8)]
    assert all(sorted(each) == list(names) for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1, "always the same neighbours"
    assert len(ticks) == 12


def test_the_same_seed_gives_the_same_order() -> None:
    orders: list[list[str]] = []
    for _ in range(2):
        order: list[str] = []
        measurers = [(name, recorded(order, name, [1] * 5)) for name in "abc"]
        take_samples(measurers, Rounds(warm_up_count=0, kept_count=5), seed=3, tick=lambda: None)
        orders.append(order)
    assert orders[0] == orders[1]


def test_one_slow_repeat_moves_no_median() -> None:
    sample = Sample(point="a", repeats_ns=(100, 102, 5_000, 98, 101))
    assert sample.median_ns == 101.0
    assert sample.spread == 1 / 101
    assert round(sample.standard_error, 5) == round(1.2533 * 1.4826 / 101 / 5**0.5, 5)
