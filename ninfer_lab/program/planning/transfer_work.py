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


def machine_work(
    ledger: Ledger,
    options: ResolvedOptions,
    candidate: AdmissionCandidate,
    source: CheckpointRecord | None,
    post: PostState,
) -> MachineWork:
    """The copies of both halves, coalesced, and the prefill behind them."""
    own, h2d, d2d = TransferPhase.CANDIDATE, TransferDirection.H2D, TransferDirection.D2D
    batches = _demotions(ledger, options, post)
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
    request = candidate.request
    prefill = prefill_work(request, candidate.reuse_tokens, len(request.prompt.tokens), options)
    return MachineWork.of(batches, prefill=prefill)


def prefill_work(
    request: AdmissionRequest,
    start_tokens: int,
    end_tokens: int,
    options: ResolvedOptions,
    offers_tokens: Collection[int] = (),
) -> PrefillWork:
    """Of a part of a prompt, cut where it must be, and where something is offered."""
    return PrefillWork.between(
        start_tokens,
        end_tokens,
        prefill_chunk_tokens=options.prefill_chunk_tokens,
        cuts_tokens=(*request.prompt.rewrite_execution_frontiers, *offers_tokens),
    )


def capture_work(ledger: Ledger, options: ResolvedOptions, post: PostState) -> MachineWork:
    """The copies of a capture: what victims save, then the image where it is snapshot, and the
    writer's own partial tails (KV-4).
    """
    batches = _demotions(ledger, options, post)
    own, d2h, d2d = TransferPhase.CANDIDATE, TransferDirection.D2H, TransferDirection.D2D
    batches.append(_images(options, own, d2h, post.snapshot_slots))
    batches += [
        _pages(options, own, d2d, pool, needs.copied_tail_pages, 1)
        for pool, needs in zip(ledger.kv, post.needs, strict=True)
        if needs.copied_tail_pages
    ]
    return MachineWork.of(batches)


def _demotions(ledger: Ledger, options: ResolvedOptions, post: PostState) -> list[TransferBatch]:
    """What victims save to the Host."""
    if not post.pending:
        return []
    pressure, d2h = TransferPhase.PRESSURE_TO_HOST, TransferDirection.D2H
    demoted_images = ledger.layout.host_images.count(post.pending)
    return [
        _images(options, pressure, d2h, demoted_images),
        *(
            _pages(options, pressure, d2h, e.pool, e.pages.bit_count(), runs_count(e.pages))
            for e in post.extents
        ),
    ]


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
