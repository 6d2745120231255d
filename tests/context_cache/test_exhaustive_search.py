"""Law: the bound leaves out nothing that could be better, and the search is measured against it."""

from __future__ import annotations

from math import prod

import pytest

from context_cache.decisions import decided, noise, owner, price, problem, searched
from ninfer_lab.context_cache.exhaustive_search import best_target, every_target, targets_count
from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab.planner_problems import generated

SMALL_SEEDS = [
    s for s in range(40) if targets_count(open_problem(generated(s), price).session, 700)
]
"""Whose every target can be looked at in a moment."""


@pytest.mark.parametrize("seed", SMALL_SEEDS)
def test_the_bound_finds_what_looking_at_all_finds(seed: int) -> None:
    written = generated(seed)
    all_, bounded = (
        every_target(open_problem(written, price)),
        best_target(open_problem(written, price)),
    )
    assert all_.targets_count == bounded.targets_count == all_.judged_count
    assert all_.best is not None
    assert bounded.best is not None
    # A target's own numbers depend on the order of looking, and come last in the key.
    assert all_.best.key[:-1] == bounded.best.key[:-1]


@pytest.mark.parametrize("seed", SMALL_SEEDS)
def test_the_search_finds_the_best_of_a_small_world(seed: int) -> None:  # spec: SRCH-5
    written = generated(seed)
    found, truth = decided(written), every_target(open_problem(written, price))
    assert found.best is not None
    assert truth.best is not None
    assert found.best.cost.total_ns == truth.best.cost.total_ns


@pytest.mark.parametrize("seed", SMALL_SEEDS[:10])
def test_by_any_belief_nothing_is_better_than_the_best(seed: int) -> None:
    truth = every_target(open_problem(generated(seed), noise))
    found = searched(open_problem(generated(seed), noise))
    assert found.best is not None
    assert truth.best is not None
    assert truth.best.key[:-1] <= found.best.key[:-1]


def test_an_incumbent_spares_looking_and_decides_nothing() -> None:
    written = generated(24)
    known = decided(written).best
    alone = best_target(open_problem(written, price))
    helped = best_target(open_problem(written, price), known)
    assert alone.best is not None
    assert helped.best is not None
    assert alone.best.key[:-1] == helped.best.key[:-1]
    assert helped.judged_count <= alone.judged_count


def test_the_graph_is_counted() -> None:
    # Without a Host an owner of n checkpoints keeps any set of them; its source's owner stays.
    retain = SourceDisposition.RETAIN
    written = problem(owner(320, 640), owner(128, 320, 640), continued=((0, 1, retain),), pages=60)
    session = open_problem(written, price).session
    assert targets_count(session) == prod((4, 8)) + 8
    assert targets_count(session, 39) is None
    with pytest.raises(OptionsError, match="40 targets"):
        every_target(open_problem(written, price), limit=39)


def test_nothing_is_best_where_nothing_fits() -> None:
    written = problem(owner(640), new_tokens=40 * 64, pages=20)
    assert best_target(open_problem(written, price)).best is None
    assert every_target(open_problem(written, price)).best is None
