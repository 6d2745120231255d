"""Law: a rung is read by what it changes, and a way leads from staying to the end."""

from __future__ import annotations

from context_cache.decisions import owner, price, problem
from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.planning import STAYS
from ninfer_lab.engine.decision_problem import DecisionProblem, Where
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab.owner_rungs import (
    RungKind,
    candidate_words,
    merged,
    outcome_words,
    target_words,
    units,
    way_down,
    way_to,
)

CONSUME, RETAIN = SourceDisposition.CONSUME, SourceDisposition.RETAIN
PAGES = tuple(Axis).index(Axis.DEVICE_KV)


def one_of_each() -> DecisionProblem:
    """Two checkpoints on the Device, and a Host that could carry them."""
    return problem(owner(320, 640), pages=40, host_slots=2, host_pages=20)


def test_a_way_down_takes_the_gentlest_kind_first() -> None:  # spec: TGT-5
    posed = open_problem(one_of_each(), price)
    way = way_down(posed.session, 0, STAYS, posed.valuation.own_loss_ns)
    kinds = [rung.kind for rung in merged(way)]
    assert kinds == [RungKind.TO_HOST, RungKind.END_CHECKPOINT, RungKind.EVICT]
    assert [str(rung) for rung in merged(way)] == [
        "2 states and 10 pages to the Host",
        "checkpoint at 320 ends",
        "evicted",
    ]
    losses = [posed.valuation.own_loss_ns(0, rung.choice) for rung in way]
    assert losses == sorted(losses)


def test_a_spare_replica_goes_before_anything_else() -> None:  # spec: TGT-5
    both = problem(owner(640, pages=Where.BOTH), pages=40, host_slots=1, host_pages=20)
    posed = open_problem(both, price)
    first, *_ = way_down(posed.session, 0, STAYS, posed.valuation.own_loss_ns)
    assert (first.kind, str(first)) == (RungKind.DROP_REPLICA, "spare Host replica goes")
    words = {
        outcome_words(posed.session, 0, step.choice)
        for step in posed.session.steps(posed.session.identity(0))
    }
    assert "spare Device replica goes" in words


def test_the_end_of_the_deepest_checkpoint_shortens() -> None:  # spec: TGT-5
    session = open_problem(problem(owner(320, 640), pages=40), price).session
    words = {outcome_words(session, 0, step.choice) for step in session.steps(session.identity(0))}
    assert words == {"shortened to 320 tokens", "checkpoint at 320 ends", "evicted"}


def test_a_way_leads_to_every_outcome_it_is_asked_for() -> None:
    session = open_problem(one_of_each(), price).session
    asked, waiting = {STAYS}, [STAYS]
    while waiting:
        number = waiting.pop()
        way = way_to(session, 0, number)
        assert (way[-1].choice if way else STAYS) == number
        for step in session.steps_of(session.identity(0).with_choice(0, number), 0):
            if step.choice not in asked:
                asked.add(step.choice)
                waiting.append(step.choice)
    assert len(asked) > 20
    assert outcome_words(session, 0, STAYS) == "stays"


def test_what_is_shared_is_freed_with_the_other_or_not_at_all() -> None:  # spec: TGT-6, REC-2
    written = problem(owner(640), owner(704, branches_from=(0, 0)), pages=40)
    session = open_problem(written, price).session
    identity, gone = session.identity(0), session.maximal(0)
    alone = units(session, identity, 0, STAYS, gone.choices[0])
    jointly = units(session, gone, 0, STAYS, gone.choices[0])
    assert (alone[PAGES], jointly[PAGES]) == (0, 10)


def test_a_target_is_told_in_one_line() -> None:
    written = problem(
        owner(320, 640),
        owner(640),
        owner(640),
        continued=((0, 0, RETAIN), (0, 1, CONSUME)),
        pages=60,
    )
    session = open_problem(written, price).session
    assert [candidate_words(session, c) for c in range(3)] == [
        "from root",
        "from owner 0 at 320, leaving it",
        "from owner 0 at 640, using it up",
    ]
    assert target_words(session, session.identity(0)) == "from root"
    told = target_words(session, session.maximal(2))
    assert told == "from owner 0 at 640, using it up; owners 1, 2 evicted"
