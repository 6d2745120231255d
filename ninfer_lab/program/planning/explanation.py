"""Which allocations, reservations and pins make up an inequality that fails?

Owns the taking apart of one axis at one stage, holder by holder; what several refer to stands once
under all of them (ACC-2). Pure. Does not know what to do about it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ninfer_lab.contract.capacity import Axis, KvPool
from ninfer_lab.contract.explanation import Explanation, Holder, HolderKind, Holding, HoldingKind
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.target import Assessment, OwnerOutcome, StageName, Violation
from ninfer_lab.program.planning.resource_projection import CandidateProjector, Projector
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.bitset import ordinals_of
from ninfer_lab.program.storage.host_arena import FreeRuns
from ninfer_lab.program.storage.post_state import PoolNeeds, PostState
from ninfer_lab.program.storage.replica_layout import Field

_BEFORE_DEMOTION = (StageName.NOW, StageName.RELEASED, StageName.DEMOTION_RESERVED)
_WITH_DESTINATIONS = (StageName.DESTINATIONS_RESERVED, StageName.COMMITTED)
_NO_NEEDS = PoolNeeds(0, 0, 0, 0)


def explained(projector: Projector, assessment: Assessment) -> tuple[Explanation, ...]:
    """Every inequality that fails, in stage order."""
    target = assessment.target
    projected = projector.candidate(target.candidate)
    explainer = Explainer(
        projector,
        projected,
        target.outcomes,
        projected.project(target.outcomes),
        target.candidate.request.request,
    )
    return tuple(explainer.explain(str(target), v) for v in assessment.violations)


class Explainer:
    """Takes the violations of one target apart."""

    def __init__(
        self,
        projector: Projector,
        candidate: CandidateProjector,
        outcomes: Sequence[OwnerOutcome],
        post: PostState,
        request: RequestId,
    ) -> None:
        self._projector = projector
        self._candidate = candidate
        self._ledger = projector.ledger
        self._layout = projector.layout
        self._outcomes = {outcome.owner.id: outcome for outcome in outcomes}
        self._post = post
        self._request = Holder(kind=HolderKind.REQUEST, id=request)

    def explain(self, target: str, violation: Violation) -> Explanation:
        """Everything that is used on the violated axis at the violated stage."""
        stage, axis = violation.stage, violation.axis
        holdings = [*self._allocated(stage, axis), *self._reserved(stage, axis)]
        holes: tuple[int, ...] = ()
        if violation.run_bytes is not None:
            holes = self._holes_bytes()
        return Explanation(
            target=target, violation=violation, holdings=_joined(holdings), holes_bytes=holes
        )

    # ── what is there ───────────────────────────────────────────────────────────────────────────

    def _allocated(self, stage: StageName, axis: Axis) -> list[Holding]:
        """Replicas of the stage, each under all who refer to it."""
        field, unit = self._field(axis), self._unit(axis)
        there = field.of(self._at(stage))
        holders_of: defaultdict[int, list[Holder]] = defaultdict(list)
        for holder, replicas in self._holders(stage):
            for ordinal in ordinals_of(field.of(replicas) & there):
                holders_of[ordinal].append(holder)
        pinned = self._pinned_images() if axis is Axis.DEVICE_STATE else 0
        grouped: defaultdict[tuple[tuple[Holder, ...], HoldingKind], int] = defaultdict(int)
        for ordinal, holders in holders_of.items():
            is_pin = len(holders) == 1 and pinned >> ordinal & 1
            kind = HoldingKind.PINNED if is_pin else HoldingKind.ALLOCATED
            grouped[_sorted(holders), kind] += unit
        allocated = [
            Holding(holders=holders, kind=kind, units_count=count)
            for (holders, kind), count in grouped.items()
        ]
        if stage not in _BEFORE_DEMOTION and axis is Axis.HOST_KV:
            allocated += self._extents(HoldingKind.ALLOCATED)
        if stage is StageName.COMMITTED:
            allocated += self._own(HoldingKind.ALLOCATED, self._filled_count(axis))
        return allocated

    def _holders(self, stage: StageName) -> list[tuple[Holder, int]]:
        """Who refers to what at a stage: sequences, owners, the candidate's own lineage."""
        ledger, layout = self._ledger, self._layout
        holders = [
            (
                Holder(kind=HolderKind.SEQUENCE, id=sequence.handle.id),
                int(ledger.replicas_of(sequence.holdings)),
            )
            for sequence in ledger.sequences.values()
        ]
        consumed = self._candidate.lineage.consumed
        for owner, keeps in self._projector.kept_by_owner.items():
            outcome = self._outcomes.get(owner)
            replicas: int = keeps
            if consumed is not None and owner == consumed.ref.id and stage in _WITH_DESTINATIONS:
                continue
            if outcome is not None and stage is not StageName.NOW:
                replicas = outcome.keeps
                if stage in _BEFORE_DEMOTION:
                    moving = layout.contents(outcome.keeps & self._post.pending)
                    replicas |= layout.on_device(moving)
            holders.append((Holder(kind=HolderKind.OWNER, id=owner), replicas))
        if stage in _WITH_DESTINATIONS:
            holders.append((self._request, self._candidate.replicas_going_on))
        return holders

    def _pinned_images(self) -> int:
        """Images that a Fork which has not run yet reads."""
        pinned = 0
        for sequence in self._ledger.sequences.values():
            if sequence.pinned_read and sequence.read_image is not None:
                pinned |= 1 << sequence.read_image
        return pinned

    # ── what is promised or held ────────────────────────────────────────────────────────────────

    def _reserved(self, stage: StageName, axis: Axis) -> list[Holding]:
        reserved: list[Holding] = []
        pool = _POOLS.get(axis)
        if pool is not None:
            index = 0 if pool is KvPool.MAIN else 1
            for sequence in self._ledger.sequences.values():
                holder = Holder(kind=HolderKind.SEQUENCE, id=sequence.handle.id)
                growth = (
                    sequence.spaces[index].reserved_pages if index < len(sequence.spaces) else 0
                )
                reserved += _holding(holder, HoldingKind.GROWTH, growth)
        if stage in _WITH_DESTINATIONS:
            needs = self._needs(axis)
            reserved += self._own(HoldingKind.GROWTH, needs.growth_pages)
            if stage is StageName.DESTINATIONS_RESERVED:
                reserved += self._own(HoldingKind.DESTINATION, self._filled_count(axis))
        if stage is StageName.DEMOTION_RESERVED and axis is Axis.HOST_STATE:
            for outcome, mine in self._demotions():
                holder = Holder(kind=HolderKind.OWNER, id=outcome.owner.id)
                images = self._layout.host_images.count(mine)
                reserved += _holding(holder, HoldingKind.DESTINATION, images)
        if stage is StageName.DEMOTION_RESERVED and axis is Axis.HOST_KV:
            reserved += self._extents(HoldingKind.DESTINATION)
        return reserved

    def _extents(self, kind: HoldingKind) -> list[Holding]:
        """Of demoted pages, by the owner whose demotion they are."""
        geometry = self._ledger.capacity.host_kv
        holdings: list[Holding] = []
        for outcome, mine in self._demotions():
            holder = Holder(kind=HolderKind.OWNER, id=outcome.owner.id)
            granules = sum(
                self._layout.host_pages[pool].count(mine) * geometry.page_granules(pool)
                for pool in self._ledger.kv
            )
            holdings += _holding(holder, kind, granules * geometry.granule_bytes)
        return holdings

    def _demotions(self) -> list[tuple[OwnerOutcome, int]]:
        """New Host replicas by owner, each once: shared ones are the first owner's to place."""
        pending: int = self._post.pending
        shares: list[tuple[OwnerOutcome, int]] = []
        for outcome in self._outcomes.values():
            shares.append((outcome, outcome.keeps & pending))
            pending &= ~outcome.keeps
        return shares

    def _filled_count(self, axis: Axis) -> int:
        """Places that the candidate's copies and its image fill."""
        if axis is Axis.DEVICE_STATE:
            return self._post.destination_slots
        needs = self._needs(axis)
        return needs.destination_pages - needs.growth_pages

    def _needs(self, axis: Axis) -> PoolNeeds:
        pool = _POOLS.get(axis)
        if pool is None:
            return _NO_NEEDS
        index = 0 if pool is KvPool.MAIN else 1
        return self._post.needs[index] if index < len(self._post.needs) else _NO_NEEDS

    def _own(self, kind: HoldingKind, units_count: int) -> list[Holding]:
        return _holding(self._request, kind, units_count)

    # ── leaves ──────────────────────────────────────────────────────────────────────────────────

    def _at(self, stage: StageName) -> int:
        post = self._post
        return {
            StageName.NOW: post.now,
            StageName.RELEASED: post.released,
            StageName.DEMOTION_RESERVED: post.released,
            StageName.DEMOTED: post.demoted,
            StageName.DESTINATIONS_RESERVED: post.destined,
            StageName.COMMITTED: post.committed,
        }[stage]

    def _field(self, axis: Axis) -> Field:
        layout = self._layout
        return {
            Axis.DEVICE_STATE: layout.device_images,
            Axis.HOST_STATE: layout.host_images,
            Axis.DEVICE_KV: layout.device_pages[KvPool.MAIN],
            Axis.DEVICE_BACKEND_KV: layout.device_pages[KvPool.BACKEND],
            Axis.HOST_KV: layout.granules,
        }[axis]

    def _unit(self, axis: Axis) -> int:
        return self._ledger.capacity.host_kv.granule_bytes if axis is Axis.HOST_KV else 1

    def _holes_bytes(self) -> tuple[int, ...]:
        """Free runs of the arena once the victims' releases are done and placed extents are in."""
        geometry = self._ledger.capacity.host_kv
        taken = self._layout.granules.of(self._post.released)
        runs = FreeRuns(taken, geometry.granules_count)
        for extent in self._post.extents:
            runs.first_fit(extent.run_granules)
        return tuple(length * geometry.granule_bytes for length in runs.lengths)


_POOLS = {Axis.DEVICE_KV: KvPool.MAIN, Axis.DEVICE_BACKEND_KV: KvPool.BACKEND}


def _sequence(sequence: ActiveSequence) -> Holder:
    return Holder(kind=HolderKind.SEQUENCE, id=sequence.handle.id)


def _holding(holder: Holder, kind: HoldingKind, units_count: int) -> list[Holding]:
    return [Holding(holders=(holder,), kind=kind, units_count=units_count)] if units_count else []


def _sorted(holders: list[Holder]) -> tuple[Holder, ...]:
    return tuple(sorted(holders, key=lambda holder: holder.order))


def _joined(holdings: list[Holding]) -> tuple[Holding, ...]:
    """Units of the same holders and kind, told together."""
    totals: defaultdict[tuple[tuple[Holder, ...], HoldingKind], int] = defaultdict(int)
    for holding in holdings:
        totals[holding.holders, holding.kind] += holding.units_count
    return tuple(
        Holding(holders=holders, kind=kind, units_count=count)
        for (holders, kind), count in totals.items()
    )
