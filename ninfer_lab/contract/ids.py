"""Names of things: one type per kind of id, so that mypy refuses a page where a slot is meant.

Owns the id types and `Capability`, the name of a thing that can go stale.
Does not know what stands behind a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

RequestId = NewType("RequestId", int)
LaneId = NewType("LaneId", int)
PageId = NewType("PageId", int)
"""A Device page of one typed pool: a place, not a content."""
StateSlotId = NewType("StateSlotId", int)
"""A Device StateImage slot: a place, not a content."""
HostSlotId = NewType("HostSlotId", int)
"""A Host StateImage slot."""
HostGranuleId = NewType("HostGranuleId", int)
"""A granule of the Host KV arena: where a page's Host replica begins."""
StateImageId = NewType("StateImageId", int)
"""One StateImage, wherever its replicas are; reused once nobody refers to it."""
KvPageId = NewType("KvPageId", int)
"""One KV logical page of one typed pool, wherever its replicas are; reused like an image's."""
OwnerId = NewType("OwnerId", int)
CheckpointId = NewType("CheckpointId", int)
SequenceId = NewType("SequenceId", int)
PlanId = NewType("PlanId", int)
TransactionId = NewType("TransactionId", int)
CatalogSlotId = NewType("CatalogSlotId", int)
SessionKey = NewType("SessionKey", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRef:
    """A private continuation as Program knows it; stale once Program has advanced its
    generation.
    """

    id: OwnerId
    generation: int

    def __str__(self) -> str:
        return f"owner {self.id}.{self.generation}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRef:
    """One published checkpoint; never reused, so it goes stale only by being deleted."""

    id: CheckpointId
    owner: OwnerId

    def __str__(self) -> str:
        return f"checkpoint {self.id} of owner {self.owner}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceHandle:
    """An active sequence: the right to run forwards in one lane until its terminal settlement
    (ACT-1).

    Attributes:
        id: Never reused, so a handle kept past its settlement is refused.
        lane: The machine row it is bound to.
    """

    id: SequenceId
    lane: LaneId

    def __str__(self) -> str:
        return f"sequence {self.id} in lane {self.lane}"
