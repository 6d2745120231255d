"""What does one decision of the planner look like, written down? (SRCH)

Owns a problem as a plain value: which owners there are, where their checkpoints and replicas lie,
how much room there is, and what a request wants. Does not know which problems are worth posing
(`lab.planner_problems`), nor how one is opened and solved (`decision_room`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.context_cache.retention import RetentionClass
from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.capacity import Capacity, HostArenaGeometry
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.options import PAGE_TOKENS, ContextCache, KvPageBytes, ResolvedOptions

__all__ = [
    "Continued",
    "DecisionProblem",
    "KeptCheckpoint",
    "KeptOwner",
    "RetentionClass",
    "Room",
    "Where",
]


class Where(Enum):
    """The tiers that something has replicas in."""

    DEVICE = "device"
    HOST = "host"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCheckpoint:
    """One checkpoint of an owner.

    Attributes:
        image: Where its StateImage is.
        hits: How often it was selected, and when last, as a publication order.
    """

    kind: CheckpointKind
    frontier_tokens: int
    image: Where = Where.DEVICE
    hits: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOwner:
    """One inactive owner.

    Attributes:
        checkpoints: Ascending by frontier, never empty.
        pages: Where its own pages are.
        branches_from: (owner, checkpoint), as ordinals: an earlier owner whose full pages up to
            that checkpoint's frontier are this one's, too. Below all of its own frontiers.
    """

    checkpoints: tuple[KeptCheckpoint, ...]
    retention: RetentionClass
    pages: Where = Where.DEVICE
    branches_from: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """A checkpoint that the request could start from, by ordinals."""

    owner: int
    checkpoint: int
    disposition: SourceDisposition


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The capacity, and the sizes of what takes it.

    Attributes:
        host_pages: What the Host arena could hold.
    """

    device_slots: int
    device_pages: int
    host_slots: int
    host_pages: int
    page_bytes: int
    state_image_bytes: int
    prefill_chunk_tokens: int = 1_024

    def resolved(self) -> ResolvedOptions:
        """As Program takes it: one lane, Main pool alone."""
        capacity = Capacity(
            device_state_slots=self.device_slots,
            device_kv_pages=self.device_pages,
            host_state_slots=self.host_slots,
            host_kv=HostArenaGeometry.divide(
                self.host_pages * self.page_bytes,
                main_page_bytes=self.page_bytes,
                backend_page_bytes=None,
            ),
        )
        return ResolvedOptions(
            capacity=capacity,
            max_concurrency=1,
            max_context_tokens=self.device_pages * PAGE_TOKENS,
            prefill_chunk_tokens=self.prefill_chunk_tokens,
            max_private_continuations=self.device_slots + self.host_slots,
            max_shared_prefixes=0,
            automatic_markers_take_surplus=False,
            recycles_shared_prefixes=False,
            context_cache=ContextCache.ENABLED,
            max_pending_requests=1,
            backend=None,
            page_bytes=KvPageBytes(main=self.page_bytes),
            state_image_bytes=self.state_image_bytes,
            lease_window_tokens=None,
            backfill=False,
            recency_eviction=False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionProblem:
    """One request before a full cache.

    Attributes:
        name: Tells it from others; a seed, for one.
        continued: What the request could start from, beside root, deepest last. The prompt begins
            with the deepest one's history.
        new_tokens: Of the prompt, behind that history.
        session_owner: What the request's session is bound to, by ordinal.
        vacant_catalog_slots: Private continuations that could still be catalogued (CAP-3).
        recency: Owners by ordinal, the one to give way first in front; `None` without the recency
            ladder (SRCH-4).
    """

    name: str
    room: Room
    owners: tuple[KeptOwner, ...]
    continued: tuple[Continued, ...]
    new_tokens: int
    output_tokens: int
    session_owner: int | None = None
    vacant_catalog_slots: int = 1
    recency: tuple[int, ...] | None = None
