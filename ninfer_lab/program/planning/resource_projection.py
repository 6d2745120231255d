"""What is the complete end state of this target, and does every stage on the way fit?

Owns the joint post-state projection (REC): releases, Move or Fork and the partial-tail copy are
derived from the references that survive the *whole* target, never added up owner by owner (REC-2).
Pure: reads the ledger, changes nothing. Does not know what a target is worth. Source: spec REC,
STG, STATE-3, KV-4, ACT-1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ninfer_lab.contract.candidate import AdmissionCandidate, SourceDisposition
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.ids import PageId, StateSlotId
from ninfer_lab.contract.options import pages_of_tokens
from ninfer_lab.contract.placement import CheckpointPlacement
from ninfer_lab.contract.target import StateTransition, TargetSketch
from ninfer_lab.program.storage.kv_store import snapshot_shape
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.occupancy import occupancy_of
from ninfer_lab.program.storage.post_state import AdmissionPostState


def project_admission(ledger: Ledger, target: TargetSketch) -> AdmissionPostState:
    """Derives the post-state of one target.

    Args:
        target: Its owners must be inactive at their generations (`Program.assess` checks).
    """
    source, kept, dropped = _source_lineage(ledger, target.candidate)
    released = dropped + tuple(
        checkpoint
        for owner in target.evicted
        for checkpoint in ledger.continuations.require(owner).checkpoints
    )
    survivors = _Survivors(ledger, released)
    state = _state_transition(target.candidate, source, survivors)
    pages, immutable_pages, copied_tail = _address_space(target.candidate, source, survivors)
    growth = growth_pages(target.candidate, len(pages))
    return AdmissionPostState(
        state=state,
        source=source,
        kept=kept,
        released=released,
        pages=pages,
        immutable_pages=immutable_pages,
        copied_tail_pages=copied_tail,
        growth_pages=growth,
        stages=_stages(
            ledger,
            survivors,
            destination_slots=0 if state is StateTransition.MOVE else 1,
            copied_pages=copied_tail,
            growth=growth,
        ),
    )


def growth_pages(candidate: AdmissionCandidate, covered_pages: int) -> int:
    """Pages still to come until the request has all of prompt and output (ACT-1)."""
    request = candidate.request
    return pages_of_tokens(len(request.prompt.tokens) + request.max_output_tokens) - covered_pages


class _Survivors:
    """References that remain once every release of the target has happened."""

    def __init__(self, ledger: Ledger, released: Iterable[CheckpointPlacement]) -> None:
        self._ledger = ledger
        self._slot_drops: Counter[StateSlotId] = Counter()
        self._page_drops: Counter[PageId] = Counter()
        for checkpoint in released:
            self._slot_drops[checkpoint.state_slot] += 1
            self._page_drops.update(checkpoint.pages)

    def of_slot(self, slot: StateSlotId) -> int:
        return self._ledger.states.holders_of(slot) - self._slot_drops[slot]

    def of_page(self, page: PageId) -> int:
        return self._ledger.pages.references_of(page) - self._page_drops[page]

    @property
    def freed_slots(self) -> int:
        return sum(1 for slot in self._slot_drops if self.of_slot(slot) == 0)

    @property
    def freed_pages(self) -> int:
        return sum(1 for page in self._page_drops if self.of_page(page) == 0)


def _source_lineage(
    ledger: Ledger, candidate: AdmissionCandidate
) -> tuple[
    CheckpointPlacement | None, tuple[CheckpointPlacement, ...], tuple[CheckpointPlacement, ...]
]:
    """(source, checkpoints that go on with a consumed lineage, checkpoints that end with it)."""
    if candidate.source is None:
        return None, (), ()
    owner = ledger.continuations.require(candidate.source.owner)
    source = owner.checkpoint(candidate.source.checkpoint)
    assert source is not None, "the owner's generation proves its checkpoints"
    if candidate.source.disposition is SourceDisposition.RETAIN:
        return source, (), ()
    others = tuple(c for c in owner.checkpoints if c is not source)
    below = tuple(c for c in others if c.summary.frontier_tokens < source.summary.frontier_tokens)
    return source, below, tuple(c for c in others if c not in below)


def _state_transition(
    candidate: AdmissionCandidate, source: CheckpointPlacement | None, survivors: _Survivors
) -> StateTransition:
    if source is None or candidate.source is None:
        return StateTransition.ROOT
    match candidate.source.disposition:
        case SourceDisposition.RETAIN:
            return StateTransition.FORK
        case SourceDisposition.CONSUME:
            alone = survivors.of_slot(source.state_slot) == 1
            return StateTransition.MOVE if alone else StateTransition.FORK


def _address_space(
    candidate: AdmissionCandidate, source: CheckpointPlacement | None, survivors: _Survivors
) -> tuple[tuple[PageId, ...], int, int]:
    """(pages, leading immutable pages, partial tails to copy)."""
    if source is None or candidate.source is None:
        return (), 0, 0
    shape = snapshot_shape(source.summary.frontier_tokens)
    match candidate.source.disposition:
        case SourceDisposition.RETAIN:
            return source.pages, shape.full_pages, shape.copied_pages
        case SourceDisposition.CONSUME:
            shared = sum(1 for page in source.pages if survivors.of_page(page) > 1)
            return source.pages, min(shared, shape.full_pages), max(0, shared - shape.full_pages)


def _stages(
    ledger: Ledger, survivors: _Survivors, *, destination_slots: int, copied_pages: int, growth: int
) -> tuple[Occupancy, ...]:
    """Releases come first: no destination of this transition is filled from what it releases."""
    slots, pages = ledger.states.allocated_slots, ledger.pages.allocated_pages
    reserved = ledger.reserved_pages
    slots_left, pages_left = slots - survivors.freed_slots, pages - survivors.freed_pages
    counts = (
        (slots, pages, reserved),
        (slots_left, pages_left, reserved),
        (slots_left + destination_slots, pages_left + copied_pages, reserved + growth),
    )
    return tuple(
        occupancy_of(ledger.capacity, state_slots=s, kv_pages=p, reserved_kv_pages=r)
        for s, p, r in counts
    )
