"""What does the ledger keep of one published checkpoint?

Owns the immutable record: its summary, its StateImage and its logical pages in every pool (OWN-3).
Neither ever changes after publication (OWN-6); where their replicas are is the stores' to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import KvPageId, StateImageId
from ninfer_lab.contract.placement import CheckpointPlacement
from ninfer_lab.program.storage.bitset import mask_of
from ninfer_lab.program.storage.replica_layout import Holdings


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRecord:
    """Build it with `of`, which derives what it refers to."""

    summary: CheckpointSummary
    image: StateImageId
    pages: tuple[KvPageId, ...]
    backend_pages: tuple[KvPageId, ...]
    holdings: Holdings

    @classmethod
    def of(
        cls,
        summary: CheckpointSummary,
        image: StateImageId,
        pages: dict[KvPool, tuple[KvPageId, ...]],
    ) -> CheckpointRecord:
        """The record of a checkpoint with these contents."""
        main, backend = pages[KvPool.MAIN], pages.get(KvPool.BACKEND, ())
        return cls(
            summary=summary,
            image=image,
            pages=main,
            backend_pages=backend,
            holdings=Holdings(1 << image, mask_of(main), mask_of(backend)),
        )

    def pages_of(self, pool: KvPool) -> tuple[KvPageId, ...]:
        """Its logical pages in one pool."""
        return self.pages if pool is KvPool.MAIN else self.backend_pages

    @property
    def placement(self) -> CheckpointPlacement:
        """What a picture shows."""
        return CheckpointPlacement(
            summary=self.summary,
            image=self.image,
            pages=self.pages,
            backend_pages=self.backend_pages,
        )


def holdings_of(checkpoints: Iterable[CheckpointRecord]) -> Holdings:
    """What some checkpoints refer to together."""
    images = pages = backend_pages = 0
    for checkpoint in checkpoints:
        images |= checkpoint.holdings.images
        pages |= checkpoint.holdings.pages
        backend_pages |= checkpoint.holdings.backend_pages
    return Holdings(images, pages, backend_pages)
