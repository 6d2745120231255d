"""How could a checkpoint's frontier be reached again, from where its replicas would be? (VAL-2)

Owns the recipes: bring it back from the Host, go on from an earlier surviving checkpoint, or
rebuild from root. They follow real placement in one target and name no price; which is cheapest is
for whoever has prices. Equal work is one value, for it is asked for very often. Pure.
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

Copies = tuple[tuple[int, int], ...]
"""(bytes, calls) of what has to come back from the Host."""


class RecoveryRecipes:
    """The recipes of one session's owners."""

    def __init__(self, layout: ReplicaLayout, options: ResolvedOptions) -> None:
        self._layout = layout
        self._options = options
        self._works: dict[tuple[Copies, int, int, tuple[int, ...]], MachineWork] = {}

    def of(
        self, owner: Continuation, surviving: tuple[CheckpointRecord, ...], replicas: int
    ) -> tuple[CheckpointRecoveries, ...]:
        """Of every checkpoint an owner has now, shallowest first.

        Args:
            surviving: Those that are left in the target, ascending.
            replicas: What is where in the target's end.
        """
        cuts = owner.execution_frontiers_tokens
        restores = [(c.summary.frontier_tokens, self.copies_back(c, replicas)) for c in surviving]
        listed: list[CheckpointRecoveries] = []
        for checkpoint in owner.checkpoints:
            frontier = checkpoint.summary.frontier_tokens
            rebuild = self._work((), 0, frontier, cuts)
            recipes = [
                self._work(copies, start, frontier, cuts)
                for start, copies in restores
                if start <= frontier
            ]
            recipes.append(rebuild)
            listed.append(CheckpointRecoveries(checkpoint.summary.ref, rebuild, tuple(recipes)))
        return tuple(listed)

    def of_new(
        self, frontier_tokens: int, cuts_tokens: tuple[int, ...], restore: Copies
    ) -> tuple[MachineWork, tuple[MachineWork, ...]]:
        """(rebuild, recipes) of a checkpoint that is not there yet.

        Args:
            restore: What would have to come back from the Host.
        """
        rebuild = self._work((), 0, frontier_tokens, cuts_tokens)
        return rebuild, (self._work(restore, frontier_tokens, frontier_tokens, ()), rebuild)

    @property
    def image_copies(self) -> Copies:
        """What an image alone comes to."""
        return ((self._options.state_image_bytes, STATE_IMAGE_COPIES_COUNT),)

    def copies_back(self, checkpoint: CheckpointRecord, replicas: int) -> Copies:
        """What has to come back before a forward could go on from a checkpoint."""
        layout, options = self._layout, self._options
        copies = []
        if not replicas & layout.device_images.put(1 << checkpoint.image):
            copies.append((options.state_image_bytes, STATE_IMAGE_COPIES_COUNT))
        for pool, device in layout.device_pages.items():
            pages = checkpoint.holdings.of_pool(pool)
            missing = pages and pages & ~device.of(replicas)
            if missing:
                payload_bytes = missing.bit_count() * options.page_bytes.of(pool)
                copies.append((payload_bytes, runs_count(missing)))
        return tuple(copies)

    def _work(
        self, copies: Copies, start_tokens: int, end_tokens: int, cuts_tokens: tuple[int, ...]
    ) -> MachineWork:
        """Copies, then a prefill priced afresh for its own interval: never a difference of two
        prefills from root.
        """
        key = (copies, start_tokens, end_tokens, cuts_tokens)
        work = self._works.get(key)
        if work is None:
            prefill = PrefillWork.between(
                start_tokens,
                end_tokens,
                prefill_chunk_tokens=self._options.prefill_chunk_tokens,
                cuts_tokens=cuts_tokens,
            )
            batches = [_batch(payload_bytes, calls) for payload_bytes, calls in copies]
            work = self._works[key] = MachineWork.of(batches, prefill=prefill)
        return work


def _batch(payload_bytes: int, operation_count: int) -> TransferBatch:
    return TransferBatch(
        phase=TransferPhase.CANDIDATE,
        direction=TransferDirection.H2D,
        payload_bytes=payload_bytes,
        operation_count=operation_count,
    )
