"""Law: a good target is built without a detour: what has room on the Host goes there first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_cache.decisions import decided, evicted, owner, price, problem, searched
from ninfer_lab.engine.decision_problem import DecisionProblem, RetentionClass
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab.decisions import look
from ninfer_lab.lab.ladders import everybody_gives_way

LIVE, LOST = RetentionClass.LIVE_SESSION, RetentionClass.DISPOSABLE


def pressed(*, host_pages: int) -> DecisionProblem:
    """Ten pages are missing; two owners have as many, and one of them nobody will miss."""
    owners = (owner(640, retention=LIVE), owner(640, retention=LOST))
    return problem(*owners, new_tokens=640, pages=22, host_slots=2, host_pages=host_pages)


@pytest.mark.parametrize("host_pages", [15, 30])
def test_room_on_the_host_is_used_before_anybody_is_evicted(host_pages: int) -> None:
    # spec: SRCH-5
    posed = open_problem(pressed(host_pages=host_pages), price)
    found = searched(posed)
    assert found.best is not None
    assert evicted(posed.session, found.best.target) == []
    # Beside root with everybody gone, which is looked at whatever happens (SRCH-3).
    built = [j.target for j in found.judged if j.target != posed.session.maximal(0)]
    assert not any(evicted(posed.session, target) for target in built)


def test_without_room_on_the_host_somebody_goes() -> None:  # spec: SRCH-5
    found = decided(pressed(host_pages=4))
    assert found.best is not None
    assert [bool(choice) for choice in found.best.target.choices] == [False, True]


def test_a_way_by_halves_is_gone_to_its_end() -> None:  # spec: SRCH-5
    # Value first sends five owners to the Host half by half, until it is full and one has to go.
    written = everybody_gives_way()
    roomier = replace(written, room=replace(written.room, host_pages=520))
    assert look(roomier).best.cost.total_ns < look(written).best.cost.total_ns


@pytest.mark.parametrize("host_pages", [480, 580])
def test_more_room_on_the_host_is_no_dearer(host_pages: int) -> None:  # spec: SRCH-5
    """Whatever fits the smaller Host fits the larger one. Wrong is a spare replica that is dropped
    early for next to nothing, and then an owner for tens of seconds.
    """
    written = everybody_gives_way()
    small, large = (
        look(replace(written, room=replace(written.room, host_pages=pages))).best.cost.total_ns
        for pages in (host_pages, host_pages + 20)
    )
    assert large <= small + small // 100
