"""Law: nothing replaces Skip that does not gain; what is taken gains most of all that fits, and all
that gives way for it is charged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import pytest

from ninfer_lab.context_cache import shared_capture_planner
from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.context_cache.portfolio_value import saving_ns
from ninfer_lab.context_cache.public_worth import PublicWorth, SharedWorth, Standing
from ninfer_lab.context_cache.retention import RetentionClass
from ninfer_lab.context_cache.shared_capture_planner import (
    CaptureDecision,
    CaptureProblem,
    SlotWay,
    plan_shared_capture,
)
from ninfer_lab.context_cache.valuation import OwnerWorth, Valuation
from ninfer_lab.contract.fixed_point import U64_MAX
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.planning import STAYS, TargetHandle
from ninfer_lab.contract.result import Committed
from ninfer_lab.contract.shared_report import CaptureForm, CaptureGain, SlotSource
from simulation.capture_world import CaptureWorld

NEW, OLD = PrefixKey(100, b"new"), PrefixKey(50, b"old")
VACANT = SlotWay(SlotSource.VACANT)
TOKEN_NS, COPY_NS = 1_000, 10


def price(work: MachineWork) -> int:
    """1,000 ns a token and 10 ns a copy, whatever it carries."""
    tokens = 0 if work.prefill is None else work.prefill.suffix_tokens
    return TOKEN_NS * tokens + COPY_NS * sum(b.operation_count for b in work.transfers)


def demand(*keys: PrefixKey, domain: bytes = b"x") -> Demand:
    return Demand(domain=domain, keys=frozenset(keys))


class Scene:
    """A sequence of 150 tokens at 100, and private owners of 50 tokens beside it."""

    def __init__(self, *, extra: int, host: int, owners: int) -> None:
        self.world = CaptureWorld(
            extra_slots=extra, pages=10, host_slots=host, host_granules=8 if host else 0
        )
        self.owners = [
            self.world.published(range(300 + 60 * i, 350 + 60 * i)) for i in range(owners)
        ]
        self.active: Committed = self.world.at_offer(150, 100)

    def problem(
        self,
        *,
        demands: Sequence[Demand] = (demand(NEW),),
        worth: Mapping[OwnerRef, OwnerWorth] | None = None,
        ways: Sequence[SlotWay] = (VACANT,),
        may_press: bool = True,
        blocked: int = 0,
        immediate: bool = False,
    ) -> CaptureProblem:
        session = self.world.session(self.active)
        known = {ref.id: OwnerWorth(retention=RetentionClass.DISPOSABLE) for ref in self.owners}
        known |= {ref.id: each for ref, each in (worth or {}).items()}
        return CaptureProblem(
            session=session,
            valuation=Valuation(session, price, known.__getitem__, lambda: PublicWorth(demands)),
            worth=SharedWorth(NEW, is_credited=False),
            ways=ways,
            may_press=may_press,
            blocked_count=blocked,
            must_be_immediate=immediate,
        )

    def shared(self, ordinal: int, key: PrefixKey) -> dict[OwnerRef, OwnerWorth]:
        """One of the owners is a shared one."""
        worth = OwnerWorth(retention=None, shared=SharedWorth(key, is_credited=False))
        return {self.owners[ordinal]: worth}


def gain_of(decision: CaptureDecision) -> CaptureGain:
    assert decision.chosen is not None
    gain = decision.scenarios[decision.chosen].gain
    assert gain is not None
    return gain


def test_where_there_is_room_only_the_tails_copy_is_paid() -> None:  # spec: VAL-7
    decision = plan_shared_capture(Scene(extra=3, host=0, owners=0).problem())
    assert gain_of(decision) == CaptureGain(
        public_before_ns=0, public_after_ns=100_000, private_loss_ns=0, immediate_ns=COPY_NS
    )
    assert decision.target is not None
    assert decision.target.is_identity


@pytest.mark.parametrize(("blocked", "copies_ns"), [(0, 10), (3, 40)])
def test_everybody_who_waits_pays_for_the_copies(blocked: int, copies_ns: int) -> None:
    # spec: VAL-7
    scene = Scene(extra=3, host=0, owners=0)
    assert gain_of(plan_shared_capture(scene.problem(blocked=blocked))).immediate_ns == copies_ns


def test_nothing_that_does_not_gain_is_taken() -> None:  # spec: VAL-7, CPT-3, ACT-6
    scene = Scene(extra=3, host=0, owners=0)
    nobody = plan_shared_capture(scene.problem(demands=[demand(OLD)]))
    assert (nobody.target, nobody.chosen) == (None, None)
    (scenario,) = nobody.scenarios
    assert scenario.gain is not None
    assert scenario.gain.net_ns == -COPY_NS


def test_what_comes_out_even_is_left() -> None:  # spec: VAL-7, CPT-3, INV-16
    scene = Scene(extra=3, host=0, owners=0)
    even = plan_shared_capture(scene.problem(blocked=100_000 // COPY_NS - 1))
    (scenario,) = even.scenarios
    assert scenario.gain is not None
    assert (scenario.gain.net_ns, even.chosen) == (0, None)
    assert plan_shared_capture(scene.problem(blocked=100_000 // COPY_NS - 2)).chosen == 0


def test_what_saturates_proves_no_gain() -> None:  # spec: VAL-7
    gain = CaptureGain(
        public_before_ns=0, public_after_ns=U64_MAX, private_loss_ns=0, immediate_ns=0
    )
    assert gain.net_ns == 0


def test_a_surplus_right_takes_nobodys_place() -> None:  # spec: EVD-1, CPT-2
    scene = Scene(extra=1, host=0, owners=1)
    assert plan_shared_capture(scene.problem(may_press=False)).target is None
    pressed = plan_shared_capture(scene.problem())
    assert pressed.target is not None
    assert gain_of(pressed).private_loss_ns == 50_000  # the idle owner goes, weight 1
    weighed = scene.problem(
        worth={scene.owners[0]: OwnerWorth(retention=RetentionClass.RECENT_PRIVATE)}
    )
    assert plan_shared_capture(weighed).target is None  # 4 x 50,000 ns is more than it brings


def test_with_a_host_nobody_needs_to_go() -> None:  # spec: STATE-2, VAL-7
    scene = Scene(extra=1, host=4, owners=1)
    decision = plan_shared_capture(scene.problem(may_press=False))
    (scenario,) = decision.scenarios
    assert scenario.form is CaptureForm.SNAPSHOT
    assert scenario.gain is not None
    # Its image has to come back before anybody can start from it: two copies less are saved.
    assert scenario.gain.public_after_ns == 100_000 - 2 * COPY_NS
    assert scenario.gain.immediate_ns == 3 * COPY_NS


def test_before_the_first_forward_nothing_may_be_in_flight() -> None:  # spec: SHR-6
    scene = Scene(extra=1, host=4, owners=1)
    assert plan_shared_capture(scene.problem(may_press=False, immediate=True)).target is None


def test_a_replaced_entry_is_charged_and_a_recycled_one_is_not() -> None:  # spec: CPT-2, EVD-2
    scene = Scene(extra=3, host=0, owners=1)
    entry = scene.owners[0].id
    replaced, recycled = (
        SlotWay(SlotSource.REPLACED, entry),
        SlotWay(SlotSource.RECYCLED, entry),
    )
    both = [demand(NEW), demand(OLD, domain=b"y")]
    problem = scene.problem(demands=both, worth=scene.shared(0, OLD), ways=[replaced, recycled])
    decision = plan_shared_capture(problem)
    first, second = decision.scenarios
    assert first.gain is not None
    assert second.gain is not None
    assert (first.gain.public_before_ns, first.gain.public_after_ns) == (50_000, 100_000)
    assert (second.gain.public_before_ns, second.gain.public_after_ns) == (50_000, 150_000)
    assert decision.chosen == 1
    assert decision.target is not None
    assert decision.target.is_identity  # its owner is released before, and by nobody else


def test_a_demand_that_the_entry_serves_already_gains_only_the_difference() -> None:
    # spec: VAL-3
    scene = Scene(extra=3, host=0, owners=1)
    problem = scene.problem(demands=[demand(NEW, OLD)], worth=scene.shared(0, OLD))
    assert gain_of(plan_shared_capture(problem)).net_ns == 100_000 - 50_000 - COPY_NS


def test_a_demand_that_a_private_owner_serves_gains_only_the_difference() -> None:
    # spec: VAL-3, VAL-7
    scene = Scene(extra=3, host=0, owners=1)
    (checkpoint,) = scene.world.session(scene.active).own_recoveries(0, STAYS)
    private = OwnerWorth(retention=RetentionClass.DISPOSABLE, keys={checkpoint.checkpoint: OLD})
    problem = scene.problem(demands=[demand(NEW, OLD)], worth={scene.owners[0]: private})
    assert gain_of(plan_shared_capture(problem)).net_ns == 100_000 - 50_000 - COPY_NS


def test_targets_are_bounded_and_shared_by_the_scenarios(  # spec: CPT-3
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shared_capture_planner, "CAPTURE_TARGETS", 8)
    scene = Scene(extra=4, host=0, owners=4)
    ways = [SlotWay(SlotSource.REPLACED, owner.id) for owner in scene.owners]
    worth: dict[OwnerRef, OwnerWorth] = {}
    for ordinal in range(4):
        worth |= scene.shared(ordinal, OLD)
    decision = plan_shared_capture(scene.problem(ways=ways, worth=worth))
    assert len(decision.scenarios) == 4
    assert all(1 <= scenario.targets_count <= 2 for scenario in decision.scenarios)


def every_target(problem: CaptureProblem) -> list[TargetHandle]:
    """All of a small session, found without the planner."""
    session = problem.session
    found: set[TargetHandle] = set()
    waiting = [session.identity(candidate) for candidate in range(len(session.forms))]
    while waiting:
        target = waiting.pop()
        if target not in found:
            found.add(target)
            waiting += [target.after(step) for step in session.steps(target)]
    return sorted(found)


@pytest.mark.parametrize(("extra", "host", "owners"), [(2, 0, 2), (3, 1, 3), (2, 2, 2)])
def test_no_target_of_the_whole_graph_gains_more(  # spec: VAL-7, CPT-2
    extra: int, host: int, owners: int
) -> None:
    for classes in product(RetentionClass, repeat=2):
        scene = Scene(extra=extra, host=host, owners=owners)
        worth = {
            scene.owners[i]: OwnerWorth(retention=retention) for i, retention in enumerate(classes)
        }
        worth |= scene.shared(owners - 1, OLD) if owners > 2 else {}
        problem = scene.problem(demands=[demand(NEW), demand(OLD, domain=b"y")], worth=worth)
        session, valuation = problem.session, problem.valuation
        best = 0
        for target in every_target(problem):
            verdict = session.judge(target)
            if not verdict.is_feasible:
                continue
            listed = session.new_recoveries(target.candidate)
            new = saving_ns(price(listed.rebuild), min(map(price, listed.recipes)))
            net = (
                valuation.public_value_ns(target, Standing(problem.worth, new))
                - valuation.public_value_ns(session.identity(0))
                - valuation.loss_ns(target)
                - price(verdict.work)
            )
            best = max(best, net)
        decision = plan_shared_capture(problem)
        found = 0 if decision.chosen is None else gain_of(decision).net_ns
        assert found == best
