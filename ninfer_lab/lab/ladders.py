"""What is given up first, owner by owner, and what if the oldest must go? (W-2, SRCH-4)

Owns two views of a searched decision: for every owner a ladder from staying to its end that passes
through what was decided, with what each rung frees alone and jointly and what it loses; and the
recency ladder, rung by rung, with the licence that came of it. Judges nothing that the planner
would not judge by the same words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from random import Random

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.planning import STAYS, TargetHandle
from ninfer_lab.contract.target import Violation
from ninfer_lab.engine.decision_problem import (
    DecisionProblem,
    KeptCheckpoint,
    KeptOwner,
    RetentionClass,
    Room,
    Where,
)
from ninfer_lab.engine.decision_reading import PriceWork, judge
from ninfer_lab.lab.decisions import Decision, look
from ninfer_lab.lab.owner_rungs import RungKind, merged, units, way_down, way_to
from ninfer_lab.lab.planner_problems import PAGE_BYTES, STATE_IMAGE_BYTES
from ninfer_lab.lab.regret import SMALL_WORLDS, problems

_AXES = tuple(Axis)


@dataclass(frozen=True, slots=True, kw_only=True)
class Freed:
    """Units that an owner's change frees on the Device.

    Attributes:
        slots: Of states.
    """

    slots: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRung:
    """One rung of one owner.

    Attributes:
        alone: Freed by it, if everybody else stays.
        jointly: Freed by it, with everybody else as was decided.
        loss_ns: Weighted, of the owner.
    """

    kind: RungKind
    words: str
    alone: Freed
    jointly: Freed
    loss_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerLadder:
    """From staying down to the end.

    Attributes:
        taken: Ordinal of the rung that was decided.
        is_source: Whether the request goes on from this owner, which then has no rung to take.
    """

    owner: int
    retention: RetentionClass
    rungs: tuple[LadderRung, ...]
    taken: int
    is_source: bool

    def __str__(self) -> str:
        rungs = " → ".join(
            f"[{rung.words}]" if i == self.taken else rung.words
            for i, rung in enumerate(self.rungs)
        )
        source = ", the source" if self.is_source else ""
        return f"owner {self.owner} ({self.retention.value}{source}): {rungs}"


def owner_ladders(
    decision: Decision, target: TargetHandle | None = None
) -> tuple[OwnerLadder, ...]:
    """One for each owner, by the decision that was taken, or by another of its targets."""
    target = decision.best.target if target is None else target
    return tuple(
        _owner_ladder(decision, owner, target)
        for owner in range(len(decision.posed.session.owners))
    )


def _owner_ladder(decision: Decision, owner: int, target: TargetHandle) -> OwnerLadder:
    session, valuation = decision.posed.session, decision.posed.valuation
    choice = target.choices[owner]
    above = merged(way_to(session, owner, choice))
    below = merged(way_down(session, owner, choice, valuation.own_loss_ns))
    rungs = [(STAYS, RungKind.KEEP, RungKind.KEEP.value)]
    rungs += [(rung.choice, rung.kind, str(rung)) for rung in (*above, *below)]
    retention = decision.posed.worth(session.owners[owner].id).retention
    assert retention is not None, "a written-down decision has private owners alone"
    identity = session.identity(target.candidate)
    return OwnerLadder(
        owner=session.owners[owner].id,
        retention=retention,
        rungs=tuple(
            LadderRung(
                kind=kind,
                words=words,
                alone=_freed(units(session, identity, owner, STAYS, number)),
                jointly=_freed(units(session, target, owner, STAYS, number)),
                loss_ns=valuation.own_loss_ns(owner, number),
            )
            for number, kind, words in rungs
        ),
        taken=len(above),
        is_source=not session.is_eligible(target.candidate, owner),
    )


def freed_pages(decision: Decision, target: TargetHandle) -> int:
    """Device pages that a target as a whole has fewer in use than its candidate's identity."""
    session = decision.posed.session
    before, after = (
        session.assess(each).stages[-1].occupancy.device_kv.used_count
        for each in (session.identity(target.candidate), target)
    )
    return before - after


def _freed(frees: tuple[int, ...]) -> Freed:
    return Freed(
        slots=frees[_AXES.index(Axis.DEVICE_STATE)], pages=frees[_AXES.index(Axis.DEVICE_KV)]
    )


# ── a decision with something for everybody ─────────────────────────────────────────────────────


def everybody_gives_way() -> DecisionProblem:
    """Five owners of different kinds, and a request that continues none of them."""
    device, both = Where.DEVICE, Where.BOTH
    live, recent, lost = (
        RetentionClass.LIVE_SESSION,
        RetentionClass.RECENT_PRIVATE,
        RetentionClass.DISPOSABLE,
    )
    owners = (
        _owner((6_400, 12_800), live, pages=both, image=both),
        _owner((8_000, 16_000), recent, pages=device),
        _owner((19_200,), recent, pages=device, branches_from=(1, 0)),
        _owner((3_200,), lost, pages=device),
        _owner((2_560, 9_600), live, pages=device),
    )
    return DecisionProblem(
        name="everybody gives way",
        room=Room(
            device_slots=8,
            device_pages=840,
            host_slots=4,
            host_pages=440,
            page_bytes=PAGE_BYTES,
            state_image_bytes=STATE_IMAGE_BYTES,
        ),
        owners=owners,
        continued=(),
        new_tokens=44_000,
        output_tokens=800,
        session_owner=None,
        vacant_catalog_slots=1,
    )


def _owner(
    frontiers_tokens: tuple[int, ...],
    retention: RetentionClass,
    *,
    pages: Where,
    image: Where = Where.DEVICE,
    branches_from: tuple[int, int] | None = None,
) -> KeptOwner:
    kinds = [CheckpointKind.LONG_ANCHOR] * (len(frontiers_tokens) - 1)
    return KeptOwner(
        checkpoints=tuple(
            KeptCheckpoint(kind=kind, frontier_tokens=tokens, image=image)
            for kind, tokens in zip(
                (*kinds, CheckpointKind.SESSION_ENDPOINT), frontiers_tokens, strict=True
            )
        ),
        retention=retention,
        pages=pages,
        branches_from=branches_from,
    )


# ── the recency ladder ──────────────────────────────────────────────────────────────────────────


class Fate(Enum):
    """What a rung of the recency ladder does to an owner."""

    GONE = "evicted"
    LEAVES = "keeps everything, on the Host"
    STAYS = "stays"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecencyRung:
    """The oldest few evicted, and the rest on the Host or where it is.

    Attributes:
        fates: By owner, in the order of recency, oldest first.
        verdict: Why it cannot be adopted, or that it can.
    """

    gone_count: int
    fates: tuple[Fate, ...]
    is_adoptable: bool
    verdict: str
    cost_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecencyLadder:
    """All rungs of one decision.

    Attributes:
        order: Owners, the oldest first.
        licence: Owners that might be evicted by what the search found.
    """

    order: tuple[int, ...]
    rungs: tuple[RecencyRung, ...]
    licence: frozenset[int]

    @property
    def least(self) -> RecencyRung | None:
        """The adoptable rung with the least sacrifice."""
        return next((rung for rung in self.rungs if rung.is_adoptable), None)

    def __str__(self) -> str:
        return "\n".join(
            f"{'→' if rung is self.least else ' '} {rung.gone_count} gone:"
            f" {rung.verdict}, J {rung.cost_ns / 1e6:,.0f} ms"
            for rung in self.rungs
        )


def recency_ladder(decision: Decision) -> RecencyLadder:
    """Every rung, judged; for each number of evictions the better of its two forms.

    Raises:
        ValueError: The decision was taken without a ladder.
    """
    order = decision.problem.recency
    licence = decision.found.licence
    if order is None or licence is None:
        raise ValueError(f"{decision.problem.name}: found no order of recency")
    return RecencyLadder(
        order=order,
        rungs=tuple(
            _recency_rung(decision, order, gone_count) for gone_count in range(len(order) + 1)
        ),
        licence=licence,
    )


def _recency_rung(decision: Decision, order: tuple[int, ...], gone_count: int) -> RecencyRung:
    session, gone = decision.posed.session, order[:gone_count]
    forms = [
        (rest_leaves, judge(decision.posed, session.rung(0, gone, rest_leaves=rest_leaves)))
        for rest_leaves in (True, False)
    ]
    adoptable = [form for form in forms if form[1].is_adoptable]
    rest_leaves, judged = (adoptable or forms)[0]
    assessment = session.assess(judged.target)
    rest = Fate.LEAVES if rest_leaves else Fate.STAYS
    if assessment.violations:
        verdict = _short_of(
            max(assessment.violations, key=lambda v: v.used_count / max(1, v.capacity_count))
        )
    else:
        verdict = "fits" if judged.has_slot else "no catalog slot"
    return RecencyRung(
        gone_count=gone_count,
        fates=tuple(Fate.GONE if owner in gone else rest for owner in order),
        is_adoptable=judged.is_adoptable,
        verdict=verdict,
        cost_ns=judged.cost.total_ns,
    )


def _short_of(violation: Violation) -> str:
    if violation.axis is Axis.HOST_KV:
        used, there = violation.used_count / 1e9, violation.capacity_count / 1e9
        return f"{violation.axis.value.removesuffix(' bytes')}: {used:.2f} GB > {there:.2f} GB"
    return f"{violation.axis.value}: {violation.used_count:,} > {violation.capacity_count:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecencyPrice:
    """Many problems, each decided without a ladder and with one.

    Attributes:
        dearer: J with the ladder over J without, less one, ascending.
        blocked_count: Problems that only one of the two could admit.
    """

    dearer: tuple[float, ...]
    blocked_count: int

    def quantile(self, part: float) -> float:
        """What this part of the problems stays at or below."""
        return self.dearer[min(len(self.dearer) - 1, int(part * len(self.dearer)))]

    def __str__(self) -> str:
        same = sum(each == 0 for each in self.dearer) / len(self.dearer)
        return (
            f"{len(self.dearer)} problems: the same J in {same:.0%}; median"
            f" {self.quantile(0.5):.0%} dearer, three of four at most {self.quantile(0.75):.0%},"
            f" p95 {self.quantile(0.95):.0%}, most {self.dearer[-1]:,.0%}"
        )


def price_of_recency(problems_count: int, price: PriceWork) -> RecencyPrice:
    """Small worlds, each with an order of recency drawn for it."""
    dearer, blocked_count = [], 0
    for ordinal, problem in enumerate(islice(problems(SMALL_WORLDS), problems_count)):
        order = list(range(len(problem.owners)))
        Random(ordinal).shuffle(order)
        off, on = look(problem, price), look(replace(problem, recency=tuple(order)), price)
        if off.found.best is None or on.found.best is None:
            blocked_count += off.found.best is not on.found.best
            continue
        dearer.append(on.best.cost.total_ns / max(1, off.best.cost.total_ns) - 1)
    return RecencyPrice(dearer=tuple(sorted(dearer)), blocked_count=blocked_count)
