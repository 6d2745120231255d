"""What do a target's copies and its prefill come to, in bytes, calls and tokens? (COST-2)

Owns the translation of a post-state into `MachineWork`: demotions first, then the candidate's own
restorations and tail copies, then what is left to prefill. It counts what the transition will ask
the machine for and names no price (COST-1).

Calls are counted by runs of consecutive logical pages, which mostly lie in consecutive places;
where they do not, the machine needs more of them.
"""

from __future__ import annotations

from collections.abc import Collection

from ninfer_lab.contract.candidate import AdmissionCandidate, AdmissionRequest
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.machine_work import (
    MachineWork,
    PrefillWork,
    TransferBatch,
    TransferDirection,
    TransferPhase,
)
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.transfer import STATE_IMAGE_COPIES_COUNT
from ninfer_lab.program.storage.bitset import runs_count
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import PostState


def prefill_work(options: ResolvedOptions, candidate: AdmissionCandidate) -> PrefillWork:
    """What is left to prefill behind a candidate's source, whatever becomes of others: cut where
    its base plan captures, too.
    """
    request, cuts_tokens = candidate.request, [c.frontier_tokens for c in candidate.captures]
    end_tokens = len(request.prompt.tokens)
    return prefill_between(options, request, candidate.reuse_tokens, end_tokens, cuts_tokens)


def prefill_between(
    options: ResolvedOptions,
    request: AdmissionRequest,
    start_tokens: int,
    end_tokens: int,
    offers_tokens: Collection[int] = (),
) -> PrefillWork:
    """Of a part of a prompt, cut where it must be, and where something is offered."""
    return PrefillWork.between(
        start_tokens,
        end_tokens,
        prefill_chunk_tokens=options.prefill_chunk_tokens,
        cuts_tokens=(*request.prompt.rewrite_execution_frontiers, *offers_tokens),
    )


def machine_work(
    ledger: Ledger,
    options: ResolvedOptions,
    source: CheckpointRecord | None,
    post: PostState,
    prefill: PrefillWork,
) -> MachineWork:
    """The copies of both halves, coalesced, and the prefill behind them. An image that an anchor
    at the start saves to the Host is among them (ANC-3).
    """
    own = TransferPhase.CANDIDATE
    d2h, h2d, d2d = TransferDirection.D2H, TransferDirection.H2D, TransferDirection.D2D
    batches: list[TransferBatch] = []
    if post.snapshot_slots:
        batches.append(_images(options, own, d2h, post.snapshot_slots))
    if post.pending:
        batches.append(_demotions(ledger, options, post))
    if post.state is StateTransition.RESTORE:
        batches.append(_images(options, own, h2d, 1))
    for pool, needs in zip(ledger.kv, post.needs, strict=True):
        if needs.restored:
            count, runs = needs.restored.bit_count(), runs_count(needs.restored)
            batches.append(_pages(options, own, h2d, pool, count, runs))
        if needs.copied_tail_pages:
            assert source is not None
            tail = ledger.layout.device_pages[pool].put(1 << source.pages_of(pool)[-1])
            direction = d2d if tail & post.destined else h2d
            batches.append(_pages(options, own, direction, pool, 1, 1))
    return MachineWork.of(batches, prefill=prefill)


def capture_work(ledger: Ledger, options: ResolvedOptions, post: PostState) -> MachineWork:
    """The copies of a capture: what victims save, then the image where it is snapshot, and the
    writer's own partial tails (KV-4).
    """
    own, d2h, d2d = TransferPhase.CANDIDATE, TransferDirection.D2H, TransferDirection.D2D
    batches = [_images(options, own, d2h, post.snapshot_slots)]
    if post.pending:
        batches.append(_demotions(ledger, options, post))
    batches += [
        _pages(options, own, d2d, pool, needs.copied_tail_pages, 1)
        for pool, needs in zip(ledger.kv, post.needs, strict=True)
        if needs.copied_tail_pages
    ]
    return MachineWork.of(batches)


def _demotions(ledger: Ledger, options: ResolvedOptions, post: PostState) -> TransferBatch:
    """Images and pages of all owners, in one batch."""
    images = ledger.layout.host_images.count(post.pending)
    payload_bytes = images * options.state_image_bytes
    operation_count = images * STATE_IMAGE_COPIES_COUNT
    for extent in post.extents:
        payload_bytes += extent.pages.bit_count() * options.page_bytes.of(extent.pool)
        operation_count += runs_count(extent.pages)
    return TransferBatch(
        phase=TransferPhase.PRESSURE_TO_HOST,
        direction=TransferDirection.D2H,
        payload_bytes=payload_bytes,
        operation_count=operation_count,
    )


def _images(
    options: ResolvedOptions, phase: TransferPhase, direction: TransferDirection, count: int
) -> TransferBatch:
    return TransferBatch(
        phase=phase,
        direction=direction,
        payload_bytes=count * options.state_image_bytes,
        operation_count=count * STATE_IMAGE_COPIES_COUNT,
    )


def _pages(
    options: ResolvedOptions,
    phase: TransferPhase,
    direction: TransferDirection,
    pool: KvPool,
    count: int,
    runs: int,
) -> TransferBatch:
    return TransferBatch(
        phase=phase,
        direction=direction,
        payload_bytes=count * options.page_bytes.of(pool),
        operation_count=runs,
    )
