"""Law: J of a target is what pricing everything anew gives, whatever was asked before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_cache.decisions import TOKEN_NS, noise, owner, price, problem, walk
from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.context_cache.judged_targets import Problem
from ninfer_lab.context_cache.portfolio_value import private_loss_ns, saving_ns
from ninfer_lab.context_cache.public_worth import PublicWorth
from ninfer_lab.context_cache.valuation import OwnerWorth, PriceWork, Valuation
from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, OwnerId
from ninfer_lab.contract.planning import TargetHandle
from ninfer_lab.engine.decision_problem import RetentionClass, Where
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab.planner_problems import generated


def from_scratch_ns(posed: Problem, price: PriceWork, target: TargetHandle) -> tuple[int, int]:
    """(now, private loss), with nothing remembered and every owner asked."""
    session = posed.session
    loss_ns = 0
    for ordinal, ref in enumerate(session.owners):
        if not session.is_eligible(target.candidate, ordinal):
            continue
        identity = session.identity(target.candidate)
        before, after = (
            [
                saving_ns(price(each.rebuild), min(price(r) for r in each.recipes))
                for each in session.recoveries(state, ordinal)
            ]
            for state in (identity, target)
        )
        loss_ns += private_loss_ns(posed.worth(ref.id).weight, before, after)
    return price(session.judge(target).work), loss_ns


@pytest.mark.parametrize("belief", [price, noise])
@pytest.mark.parametrize("seed", range(10))
def test_j_is_j_from_scratch(seed: int, belief: PriceWork) -> None:  # spec: VAL-6
    posed = open_problem(generated(seed), belief)
    for way in range(4):
        for target in walk(posed.session, way):
            cost = posed.valuation.cost(target, posed.session.judge(target))
            assert (cost.now_ns, cost.private_loss_ns) == from_scratch_ns(posed, belief, target)
            assert cost.total_ns == cost.now_ns + cost.private_loss_ns


def test_by_hand() -> None:  # spec: VAL-4, VAL-6
    # 128 new tokens from root. The owner has an anchor at 320 and an endpoint at 640, all on the
    # Device, so each spares its whole rebuild: tokens, and S(S + 1)/2 pairs at 10 ns.
    posed = open_problem(
        problem(owner(320, 640, retention=RetentionClass.LIVE_SESSION), pages=30), price
    )
    session = posed.session

    endpoint = CheckpointRef(id=CheckpointId(1), owner=OwnerId(0))

    def loss_ns(gone: int) -> int:
        (target,) = [
            session.identity(0).after(step)
            for step in session.steps(session.identity(0))
            if len(step.facts.deleted) == gone and endpoint in step.facts.deleted
        ]
        return posed.valuation.cost(target, session.judge(target)).private_loss_ns

    rebuild_ns = 640 * TOKEN_NS + 640 * 641 // 2 * 10
    interval_ns = 320 * TOKEN_NS + (320 * 320 + 320 * 321 // 2) * 10
    assert loss_ns(2) == 16 * rebuild_ns
    assert loss_ns(1) == 16 * interval_ns
    identity = session.identity(0)
    cost = posed.valuation.cost(identity, session.judge(identity))
    assert (cost.now_ns, cost.private_loss_ns) == (128 * TOKEN_NS + 128 * 129 // 2 * 10, 0)


def test_a_consumed_source_is_no_loss() -> None:  # spec: VAL-8
    consume = SourceDisposition.CONSUME
    posed = open_problem(
        problem(owner(320, 640), owner(640), continued=((0, 0, consume),), pages=40), price
    )
    identity, maximal = posed.session.identity(1), posed.session.maximal(1)
    assert posed.valuation.loss_ns(identity) == 0
    alone = posed.valuation.own_loss_ns(1, maximal.choices[1])
    assert posed.valuation.loss_ns(maximal) == alone > 0


WANTED = PrefixKey(640, b"wanted")


def wanted_of_the_first(posed: Problem, *demands: Demand) -> Valuation:
    """Belief in which the first owner's endpoint is what some demands match."""
    session = posed.session
    endpoint = session.recoveries(session.identity(0), 0)[-1].checkpoint

    def worth(owner_id: OwnerId) -> OwnerWorth:
        known = posed.worth(owner_id)
        return replace(known, keys={endpoint: WANTED}) if owner_id == endpoint.owner else known

    return Valuation(session, price, worth, lambda: PublicWorth(demands))


def wanting(*keys: PrefixKey) -> Demand:
    return Demand(domain=b"x", keys=frozenset(keys))


def test_a_private_checkpoint_that_was_asked_for_is_lost_to_those_as_well() -> None:
    # spec: VAL-3, VAL-6
    posed = open_problem(problem(owner(640), owner(640), pages=60), price)
    session = posed.session
    rebuild_ns = 640 * TOKEN_NS + 640 * 641 // 2 * 10
    for demands, times in (((), 0), ((wanting(WANTED),) * 2, 2), ((wanting(),), 0)):
        valuation = wanted_of_the_first(posed, *demands)
        for gone, expected in (((0,), times), ((1,), 0), ((0, 1), times)):
            target = session.identity(0)
            for ordinal in gone:
                target = target.with_choice(ordinal, session.maximal(0).choices[ordinal])
            cost = valuation.cost(target, session.judge(target))
            assert cost.public_loss_ns == expected * rebuild_ns
            # The prior of one further use that nobody has seen yet stands beside it (VAL-4).
            assert cost.private_loss_ns == posed.valuation.loss_ns(target)
            own = [valuation.own_loss_ns(o, target.choices[o]) for o in gone]
            assert sum(own) == cost.public_loss_ns + cost.private_loss_ns


def test_what_an_active_request_has_taken_over_serves_nobody_else() -> None:  # spec: VAL-8, VAL-3
    consume, retain = SourceDisposition.CONSUME, SourceDisposition.RETAIN
    continued = ((0, 0, consume), (0, 0, retain))
    posed = open_problem(problem(owner(640), owner(640), continued=continued, pages=60), price)
    valuation = wanted_of_the_first(posed, wanting(WANTED))
    rebuild_ns = 640 * TOKEN_NS + 640 * 641 // 2 * 10
    values = [valuation.public_value_ns(posed.session.identity(c)) for c in range(3)]
    assert values == [rebuild_ns, 0, rebuild_ns]


def test_owners_add_up_by_their_weights() -> None:  # spec: VAL-4
    classes = list(RetentionClass)
    posed = open_problem(
        problem(*(owner(640, retention=each) for each in classes), pages=60), price
    )
    maximal = posed.session.maximal(0)
    alone = [posed.valuation.own_loss_ns(o, maximal.choices[o]) for o in range(3)]
    assert alone == [alone[0], 4 * alone[0], 16 * alone[0]]
    assert posed.valuation.loss_ns(maximal) == 21 * alone[0]


def test_what_can_never_match_again_carries_no_loss() -> None:
    posed = open_problem(problem(owner(320, 640), pages=30), price)
    session = posed.session
    refs = frozenset(c.checkpoint for c in session.recoveries(session.identity(0), 0))
    worth = {OwnerId(0): OwnerWorth(retention=RetentionClass.LIVE_SESSION, unreachable=refs)}
    assert Valuation(session, price, worth.__getitem__).loss_ns(session.maximal(0)) == 0


def test_what_another_keeps_is_not_lost() -> None:  # spec: VAL-4, REC-2
    # Both hold the first ten pages; moving owner 0's to the Host leaves them on the Device.
    written = problem(
        owner(640), owner(704, branches_from=(0, 0)), pages=40, host_slots=2, host_pages=20
    )
    posed = open_problem(written, price)
    session = posed.session
    identity = session.identity(0)
    (moved,) = [
        step
        for step, units in zip(
            session.steps(identity), session.relief(identity, session.steps(identity)), strict=True
        )
        if step.owner == 0 and units[4] == -10_000
    ]
    assert posed.valuation.step_loss_ns(moved) > 0
    assert posed.valuation.loss_ns(identity.after(moved)) == 0


def test_a_step_is_forecast_exactly_where_nothing_is_shared() -> None:  # spec: SRCH-1
    posed = open_problem(
        problem(owner(320, 640), owner(640, pages=Where.BOTH), pages=40, host_pages=40), price
    )
    session, identity = posed.session, posed.session.identity(0)
    for step in session.steps(identity):
        assert posed.valuation.step_loss_ns(step) == posed.valuation.loss_ns(identity.after(step))


def test_equal_work_is_priced_once() -> None:
    asked: list[object] = []

    def counting(work):  # type: ignore[no-untyped-def]
        asked.append(work)
        return price(work)

    posed = open_problem(generated(24), counting)
    for way in range(4):
        for target in walk(posed.session, way):
            posed.valuation.cost(target, posed.session.judge(target))
    assert len(asked) == len(set(asked)) > 5
