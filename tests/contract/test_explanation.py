"""Law: an explanation's parts add up to what is used, shared units stand once, and it says so the
same way everywhere.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.explanation import (
    Explanation,
    Holder,
    HolderKind,
    Holding,
    HoldingKind,
)
from ninfer_lab.contract.target import StageName, Violation

ONE, TWO = (Holder(kind=HolderKind.OWNER, id=id) for id in (1, 2))
RUNNING = Holder(kind=HolderKind.SEQUENCE, id=9)
ASKING = Holder(kind=HolderKind.REQUEST, id=4)


def holding(kind: HoldingKind, units_count: int, *holders: Holder) -> Holding:
    return Holding(holders=holders, kind=kind, units_count=units_count)


PAGES = Explanation(
    target="root: reuse 0, prefill 300 tokens",
    violation=Violation(
        stage=StageName.DESTINATIONS_RESERVED,
        axis=Axis.DEVICE_KV,
        used_count=12,
        capacity_count=10,
    ),
    holdings=(
        holding(HoldingKind.ALLOCATED, 1, TWO),
        holding(HoldingKind.ALLOCATED, 4, ONE, TWO),
        holding(HoldingKind.GROWTH, 2, RUNNING),
        holding(HoldingKind.GROWTH, 5, ASKING),
    ),
)


def test_an_explanation_names_the_inequality_and_every_part_of_it() -> None:
    assert str(PAGES) == (
        "root: reuse 0, prefill 300 tokens\n"
        "does not fit at “destinations reserved” device KV pages: 12 used > 10 there are:\n"
        "  5 promised growth by request 4\n"
        "  4 allocated by owner 1, owner 2 together\n"
        "  2 promised growth by sequence 9\n"
        "  1 allocated by owner 2"
    )
    assert (PAGES.allocated_count, PAGES.reserved_count) == (5, 7)


def test_the_notebook_shows_the_same_lines() -> None:
    shown = PAGES._repr_html_()
    assert all(f"<li>{line}</li>" in shown for line in PAGES.lines)
    assert "12 used &gt; 10" in shown


def test_a_hole_that_is_missing_is_told_with_the_holes_there_are() -> None:
    arena = Explanation(
        target="any",
        violation=Violation(
            stage=StageName.DEMOTION_RESERVED,
            axis=Axis.HOST_KV,
            used_count=600,
            capacity_count=1_000,
            run_bytes=300,
            largest_hole_bytes=200,
        ),
        holdings=(
            holding(HoldingKind.ALLOCATED, 500, ONE),
            holding(HoldingKind.DESTINATION, 100, TWO),
        ),
        holes_bytes=(200, 200),
    )
    assert arena.lines[-1] == "free runs: 200, 200 bytes"
    assert "an extent of 300 bytes finds no hole; the largest has 200" in str(arena)
    assert (arena.allocated_count, arena.reserved_count) == (500, 100)


def test_parts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(AssertionError, match="the parts come to 7, used are 12"):
        Explanation(
            target="", violation=PAGES.violation, holdings=PAGES.holdings[:2] + PAGES.holdings[2:3]
        )
    with pytest.raises(AssertionError):
        holding(HoldingKind.ALLOCATED, 0, ONE)
    with pytest.raises(AssertionError):
        holding(HoldingKind.ALLOCATED, 1, TWO, ONE)
    with pytest.raises(AssertionError):
        holding(HoldingKind.ALLOCATED, 1)
