"""What is the complete end state of this target, and does every stage on the way fit?

Owns the joint post-state projection (REC): releases, Move or Fork and the partial-tail copy are
derived from the replicas and references that survive the *whole* target, never added up owner by
owner (REC-2). Pure: reads the ledger, changes nothing. Does not know what a target is worth.
Source: spec REC, STG, STATE-3, KV-4, ACT-1, ACT-4.

The stages (STG-2): victims' releases need no copy and come first; then the Host places of demotions
are held while the Device replicas are still there; then the replicas are exchanged; then the
consumed lineage gives up what lies above the source, and the candidate's destinations are held; at
the commit, Host replicas of what becomes writable are stale and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple

from ninfer_lab.contract.candidate import AdmissionCandidate, AdmissionRequest
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.options import ResolvedOptions, pages_of_tokens
from ninfer_lab.contract.replicas import NOTHING, ReplicaSet
from ninfer_lab.contract.target import OwnerOutcome, StateTransition
from ninfer_lab.program.planning.readied_outcome import ReadiedOutcome, ReadiedOutcomes
from ninfer_lab.program.planning.stage_order import StageOrder
from ninfer_lab.program.storage.address_space import SnapshotShape, snapshot_shape
from ninfer_lab.program.storage.checkpoint_record import holdings_of
from ninfer_lab.program.storage.host_arena import FreeRuns
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import Extent, PoolNeeds, PostState, post_state_of
from ninfer_lab.program.storage.replica_layout import Field
from ninfer_lab.program.storage.source_lineage import source_lineage

REMEMBERED_ARENAS = 1_024
"""Sets of granules whose free runs are remembered at one revision."""


class Projector:
    """The ledger at one revision, made ready for many targets.

    Attributes:
        active: Replicas that active sequences keep, whatever is decided.
        kept_by_owner: What every inactive owner keeps if it stays as it is.
        order: Counts the stages.
        readied: The outcomes met so far.
    """

    def __init__(self, ledger: Ledger, options: ResolvedOptions) -> None:
        self.ledger = ledger
        self.options = options
        self.layout = ledger.layout
        self.present = ledger.present
        self.active = NOTHING
        if ledger.sequences:
            self.active = ledger.replicas_of(ledger.holdings_of_sequences())
        self.kept_by_owner = ledger.kept_by_owner()
        self.order = StageOrder(ledger)
        self.readied = ReadiedOutcomes(ledger, self.order, self.kept_by_owner)
        self.absent = self.layout.everything ^ self.present
        self._free_runs: dict[int, FreeRuns] = {}

    @cached_property
    def staying(self) -> dict[OwnerId, ReadiedOutcome]:
        """Every inactive owner's outcome if it stays as it is, ascending by owner."""
        kept = self.kept_by_owner.items()
        return {owner: self.readied.made(owner, keeps) for owner, keeps in kept}

    def free_runs(self, demoted: int) -> FreeRuns:
        """Of the arena before extents are placed; most targets leave it as others do."""
        taken = self.layout.granules.of(demoted)
        known = self._free_runs.get(taken)
        if known is None:
            if len(self._free_runs) >= REMEMBERED_ARENAS:
                self._free_runs.clear()
            known = self._free_runs[taken] = FreeRuns(taken, self.layout.granules.width)
        return known.copy()

    def candidate(self, candidate: AdmissionCandidate) -> CandidateProjector:
        """All targets of one candidate."""
        return CandidateProjector(self, candidate)


class PoolShare(NamedTuple):
    """What a candidate takes of one pool, whatever the outcomes are.

    Attributes:
        shape: Of the source's coverage in this pool.
        source_pages: The source's logical pages, as a set.
        tail_page: The partial one of them, as a set; 0 when the coverage is aligned.
        tail_marks: Its replicas in both tiers.
        entitled_pages: Guaranteed from the start of the address space on.
    """

    pool: KvPool
    device: Field
    host: Field
    shape: SnapshotShape
    source_pages: int
    tail_page: int
    tail_marks: int
    entitled_pages: int


class CandidateProjector:
    """One candidate's share of every target.

    Attributes:
        lineage: Its source, and what goes on with it.
        active: Replicas that active sequences keep, whatever is decided.
        present: Every replica there is.
        consumed: What the source's owner has, where it is consumed; else nothing.
        anchors_its_start: Whether the endpoint it consumes is to stay as an anchor.
    """

    def __init__(self, projector: Projector, candidate: AdmissionCandidate) -> None:
        ledger = projector.ledger
        self._projector = projector
        self.active = projector.active
        self.present = projector.present
        self._ledger = ledger
        self._layout = projector.layout
        self.lineage = source_lineage(ledger.continuations, candidate)
        self._source, consumed = self.lineage.source, self.lineage.consumed
        self._kept_replicas = NOTHING
        if self.lineage.kept:
            self._kept_replicas = ledger.replicas_of(holdings_of(self.lineage.kept))
        self._image_marks = self._device_image = 0
        source_replicas = NOTHING
        if self._source is not None:
            source_replicas = ledger.replicas_of(self._source.holdings)
            image = 1 << self._source.image
            self._device_image = self._layout.device_images.put(image)
            self._image_marks = self._device_image | self._layout.host_images.put(image)
        self._kept_by_others = dict(projector.kept_by_owner)
        self.consumed = NOTHING
        if consumed is not None:
            self.consumed = self._kept_by_others.pop(consumed.ref.id)
        self._going_on = self._kept_replicas | source_replicas
        self._tail_end = self.consumed ^ (self.consumed & self._going_on)
        self.anchors_its_start = candidate.anchors_its_start
        self._shares = tuple([self._share(candidate, pool) for pool in ledger.kv])

    # ── one target ──────────────────────────────────────────────────────────────────────────────

    def project(self, outcomes: Sequence[OwnerOutcome]) -> PostState:
        """The post-state of a whole target.

        Args:
            outcomes: Of owners inactive at their generations, never the source's; their demotions
                are placed in this order.
        """
        return self.project_readied([*map(self._projector.readied.of, outcomes)])

    def project_readied(self, outcomes: Sequence[ReadiedOutcome]) -> PostState:
        """The same."""
        makers = [outcome for outcome in outcomes if outcome.runs]
        return self.post_state(self._survivors(outcomes), makers)

    def _survivors(self, outcomes: Sequence[ReadiedOutcome]) -> int:
        """What active sequences and all others keep in a target. Who shares nothing is there once,
        so that what moves of it moves there; of the others everything is joined anew.
        """
        if not outcomes:  # a decision with room ends here, and never asks who shares
            return reduce(or_, self._kept_by_others.values(), self.active)
        survivors, sharing = self._staying
        kept_by_owner: dict[OwnerId, int] = dict(sharing)
        for outcome in outcomes:
            if outcome.owner in sharing:
                kept_by_owner[outcome.owner] = outcome.keeps
            else:
                survivors ^= outcome.moved
        return reduce(or_, kept_by_owner.values(), survivors)

    @cached_property
    def _staying(self) -> tuple[int, dict[OwnerId, ReplicaSet]]:
        """What active sequences and owners who share nothing keep together if all of them stay as
        they are, and what each of the others keeps then.
        """
        shared = self._projector.readied.shared
        sharing = {owner: keeps for owner, keeps in self._kept_by_others.items() if keeps & shared}
        alone = [keeps for owner, keeps in self._kept_by_others.items() if owner not in sharing]
        return reduce(or_, alone, self.active), sharing

    def post_state(self, survivors: int, makers: Iterable[ReadiedOutcome]) -> PostState:
        """The post-state, from what all others keep together.

        Args:
            survivors: Joined over active sequences and all inactive owners but the consumed one.
            makers: Outcomes that have pages demoted, in the order in which they are placed.
        """
        projector = self._projector
        pending = survivors & projector.absent
        others, demoted, leaving, copied = survivors, survivors, 0, 0
        extents: tuple[Extent, ...] = ()
        if self.consumed:
            others = survivors | self._kept_replicas
            demoted = survivors | self.consumed
            leaving = self._tail_end ^ (self._tail_end & survivors)
        if pending:
            # What is demoted stays on the Device until its copy is published.
            copied = self._layout.under_host(pending) & projector.present
            copied ^= copied & demoted
            extents = self.extents(demoted, pending, makers)
        destined = demoted ^ leaving
        state = self._state(others, destined)
        needs = tuple([self._needs(share, others, destined) for share in self._shares])
        stale = self._stale(state, needs, others, destined) if self.consumed else 0
        snapshot_slots = self._snapshot_slots(state, destined) if self.anchors_its_start else 0
        return post_state_of(
            (
                state,
                projector.present,
                demoted,
                pending,
                copied,
                leaving,
                extents,
                needs,
                stale,
                snapshot_slots,
            )
        )

    @property
    def ledger(self) -> Ledger:
        """What is projected from."""
        return self._ledger

    @property
    def options(self) -> ResolvedOptions:
        """Of the engine."""
        return self._projector.options

    @property
    def identifying_marks(self) -> ReplicaSet:
        """Replicas whose other holders make a Fork or a tail copy of a consumed source."""
        marks: int = self._image_marks
        for share in self._shares:
            marks |= share.tail_marks
        return ReplicaSet(marks)

    @property
    def source_marks(self) -> ReplicaSet:
        """Replicas by which the source, its state transition and its tail copies are told."""
        marks: int = self._image_marks | self.consumed
        for share in self._shares:
            marks |= share.tail_marks | share.device.put(share.source_pages)
        return ReplicaSet(marks)

    @property
    def replicas_going_on(self) -> ReplicaSet:
        """Replicas of the source and of a consumed owner's kept checkpoints."""
        return ReplicaSet(self._going_on)

    def replicas_held(self, post: PostState) -> ReplicaSet:
        """What the sequence would keep from being released: its lineage and its source, in both
        tiers. A retained source stays whole, for somebody leans on its owner then.
        """
        owner = self.lineage.owner
        if owner is None:
            return NOTHING
        if self.lineage.consumed is None:
            return self._projector.kept_by_owner[owner.ref.id]
        return ReplicaSet(post.committed & self._going_on)

    # ── what the whole target makes of the source ───────────────────────────────────────────────

    def _state(self, others: int, destined: int) -> StateTransition:
        """By the replicas and references that survive: nothing is a Move that anybody needs."""
        if self._source is None:
            return StateTransition.ROOT
        if not destined & self._device_image:
            return StateTransition.RESTORE
        if not self.consumed or self._image_marks & others:
            return StateTransition.FORK
        return StateTransition.MOVE

    def _needs(self, share: PoolShare, others: int, destined: int) -> PoolNeeds:
        """Full pages are shared and need only a Device replica; a partial tail that anybody else
        refers to is copied from wherever it is.
        """
        pages = share.source_pages
        copied_tail_pages = 0
        if share.tail_marks & others:
            copied_tail_pages = 1
            pages ^= share.tail_page
        restored = pages ^ (pages & share.device.of(destined)) if pages else 0
        growth = share.entitled_pages - share.shape.covered_pages
        return PoolNeeds(share.shape.full_pages, restored, copied_tail_pages, growth)

    def _stale(
        self, state: StateTransition, needs: tuple[PoolNeeds, ...], others: int, destined: int
    ) -> int:
        """What nobody refers to any more, or what writing makes stale, of a consumed lineage."""
        stale = 0
        if state is StateTransition.MOVE:
            stale |= self._image_marks & ~self._device_image
        elif state is StateTransition.RESTORE:
            stale |= self._image_marks ^ (self._image_marks & others)
        # A Fork's source stays pinned until the first commit (STATE-3).
        for share, need in zip(self._shares, needs, strict=True):
            marks = share.tail_marks ^ (share.tail_marks & others)
            if not need.copied_tail_pages:
                marks &= share.host.mask
            stale |= marks
            if marks & share.host.mask & destined:
                granules = self._ledger.kv[share.pool].granules_of(share.tail_page)
                stale |= self._layout.granules.put(granules)
        return destined & stale

    def _snapshot_slots(self, state: StateTransition, destined: int) -> int:
        """The Host slot that an anchor at the start takes: where the sequence starts in place, no
        Device slot is to spare beside it, and the Host has one (ANC-3). It is optional, so that no
        target ever fails for want of it.
        """
        if state not in (StateTransition.MOVE, StateTransition.RESTORE):
            return 0
        ledger, device = self._ledger, self._layout.device_images
        on_host = self._layout.host_images.count(destined)
        if on_host >= ledger.capacity.host_state_slots:
            return 0
        taken = device.count(destined) + (state is StateTransition.RESTORE)
        lineage = holdings_of(self.lineage.kept).images | ledger.lineage_images
        held = device.count(device.put(lineage) & destined) + 1
        spare = ledger.capacity.device_state_slots - max(taken, held + ledger.free_lanes - 1)
        return 1 if spare < 1 else 0

    # ── Host geometry ───────────────────────────────────────────────────────────────────────────

    def extents(
        self, demoted: int, pending: int, makers: Iterable[ReadiedOutcome]
    ) -> tuple[Extent, ...]:
        """One extent for each owner and pool with pages to demote, first fit.

        Args:
            demoted: Replicas at DEMOTED, which say where the arena's holes are: no granule comes
                or goes while copies are made.
            pending: Host replicas to be made.
            makers: In the order of placement; what two have made is placed with the first.
        """
        projector = self._projector
        free_runs = projector.free_runs(demoted)
        extents: list[Extent] = []
        for maker in makers:
            runs = maker.runs
            if maker.is_shared:
                mine = maker.made & pending
                if mine != maker.made:
                    runs = projector.readied.runs(mine)
                pending ^= mine
            for pool, run_granules, pages in runs:
                first = free_runs.first_fit(run_granules)
                extents.append(Extent(pool, first, run_granules, pages))
        return tuple(extents)

    def _share(self, candidate: AdmissionCandidate, pool: KvPool) -> PoolShare:
        options, layout = self._projector.options, self._layout
        shape = snapshot_shape(options.coverage_tokens(pool, candidate.reuse_tokens))
        pages = 0 if self._source is None else self._source.holdings.of_pool(pool)
        tail = 0
        if self._source is not None and shape.tail_tokens:
            tail = 1 << self._source.pages_of(pool)[-1]
        device, host = layout.device_pages[pool], layout.host_pages[pool]
        tokens = options.coverage_tokens(pool, entitled_tokens(candidate.request, options))
        return PoolShare(
            pool=pool,
            device=device,
            host=host,
            shape=shape,
            source_pages=pages,
            tail_page=tail,
            tail_marks=device.put(tail) | host.put(tail),
            entitled_pages=pages_of_tokens(tokens),
        )


def entitled_tokens(request: AdmissionRequest, options: ResolvedOptions) -> int:
    """Tokens whose pages an admission guarantees: prompt and longest output (ACT-1), or prompt and
    one window of it (ACT-4).
    """
    output_tokens = request.max_output_tokens
    if options.lease_window_tokens is not None:
        output_tokens = min(output_tokens, options.lease_window_tokens)
    return len(request.prompt.tokens) + output_tokens


def fits_alone(request: AdmissionRequest, options: ResolvedOptions) -> bool:
    """Whether the isolated root of a request fits the engine's contract (RES-1)."""
    tokens, capacity = entitled_tokens(request, options), options.capacity
    return all(
        pages_of_tokens(options.coverage_tokens(pool, tokens)) <= capacity.device_pages(pool)
        for pool in capacity.pools
    )
