"""How could a checkpoint's frontier be reached again, from where its replicas would be? (VAL-2)

Owns the recipes: bring it back from the Host, go on from an earlier surviving checkpoint, or
rebuild from root. They follow real placement in one target and name no price; which is cheapest is
for whoever has prices. Pure.
"""

from __future__ import annotations

from ninfer_lab.contract.machine_work import (
    MachineWork,
    PrefillWork,
    TransferBatch,
    TransferDirection,
    TransferPhase,
)
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.planning import CheckpointRecoveries
from ninfer_lab.contract.transfer import STATE_IMAGE_COPIES_COUNT
from ninfer_lab.program.storage.bitset import runs_count
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.replica_layout import ReplicaLayout


def recoveries(
    layout: ReplicaLayout,
    options: ResolvedOptions,
    owner: Continuation,
    surviving: tuple[CheckpointRecord, ...],
    replicas: int,
) -> tuple[CheckpointRecoveries, ...]:
    """Of every checkpoint an owner has now, shallowest first.

    Args:
        surviving: Those that are left in the target, ascending.
        replicas: What is where in the target's end.
    """
    cuts = owner.execution_frontiers_tokens
    restores = [(c, _restore(layout, options, c, replicas)) for c in surviving]
    listed: list[CheckpointRecoveries] = []
    for checkpoint in owner.checkpoints:
        frontier = checkpoint.summary.frontier_tokens
        rebuild = MachineWork.of(prefill=_prefill(options, 0, frontier, cuts))
        recipes = [
            MachineWork.of(
                batches,
                prefill=_prefill(options, c.summary.frontier_tokens, frontier, cuts),
            )
            for c, batches in restores
            if c.summary.frontier_tokens <= frontier
        ]
        listed.append(
            CheckpointRecoveries(
                checkpoint=checkpoint.summary.ref, rebuild=rebuild, recipes=(*recipes, rebuild)
            )
        )
    return tuple(listed)


def _restore(
    layout: ReplicaLayout, options: ResolvedOptions, checkpoint: CheckpointRecord, replicas: int
) -> tuple[TransferBatch, ...]:
    """What has to come back from the Host before a forward could go on from a checkpoint."""
    batches = []
    if not replicas & layout.device_images.put(1 << checkpoint.image):
        batches.append(_batch(options.state_image_bytes, STATE_IMAGE_COPIES_COUNT))
    for pool, device in layout.device_pages.items():
        missing = checkpoint.holdings.of_pool(pool) & ~device.of(replicas)
        if missing:
            payload_bytes = missing.bit_count() * options.page_bytes.of(pool)
            batches.append(_batch(payload_bytes, runs_count(missing)))
    return tuple(batches)


def _batch(payload_bytes: int, operation_count: int) -> TransferBatch:
    return TransferBatch(
        phase=TransferPhase.CANDIDATE,
        direction=TransferDirection.H2D,
        payload_bytes=payload_bytes,
        operation_count=operation_count,
    )


def _prefill(
    options: ResolvedOptions, start_tokens: int, end_tokens: int, cuts_tokens: tuple[int, ...]
) -> PrefillWork:
    """Priced afresh for its own interval: never a difference of two prefills from root."""
    return PrefillWork.between(
        start_tokens,
        end_tokens,
        prefill_chunk_tokens=options.prefill_chunk_tokens,
        cuts_tokens=cuts_tokens,
    )
