"""Which of the four ways out are taken? (RT)

Owns the choices. The first way, another shape of the prompt, is the client's and stands in the
story; the other three are here, in any combination.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.errors import OptionsError


class LaneKey(Enum):
    """What pass 1 compares lanes by."""

    REUSE = "reuse"
    """Strictly more reuse; of equals the first lane."""
    REUSE_THEN_DESTRUCTION = "reuse, then less destruction"
    """Of equal reuse the lane whose bundle has fewer pages, none at best (RT-4)."""


class EvictionOrder(Enum):
    """Whose bundle pass 2 takes first."""

    LANE = "lane"
    RETENTION = "retention priority"
    """The least that a prompt could be spared first (RT-4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSwitches:
    """The engine as it was, unless said otherwise.

    Attributes:
        preserves_existing: Whether a request that says it is a side request leaves checkpoint and
            fingerprint alone (RT-2).
        detached_entries_count: Bundles that may live on without a lane (RT-3); 0 for none.
        lane_key: Of pass 1.
        eviction_order: Of pass 2.
        side_requests_declare: Whether a request that says it is a side request may declare a
            boundary; that it does not is no way out (NOT-5).
    """

    preserves_existing: bool = False
    detached_entries_count: int = 0
    lane_key: LaneKey = LaneKey.REUSE
    eviction_order: EvictionOrder = EvictionOrder.LANE
    side_requests_declare: bool = True

    def __post_init__(self) -> None:
        if self.detached_entries_count < 0:
            raise OptionsError(
                "switches.detached_entries_count", found=self.detached_entries_count, legal=">= 0"
            )


AS_IT_WAS = LaneSwitches()
PRESERVE_EXISTING = LaneSwitches(preserves_existing=True)
DETACHED_REGISTRY = LaneSwitches(detached_entries_count=4)
LANE_SELECTION = LaneSwitches(
    lane_key=LaneKey.REUSE_THEN_DESTRUCTION, eviction_order=EvictionOrder.RETENTION
)
