"""Which checkpoints does an admission mean to leave on its way, and on what terms? (ANC)

Owns the two values by which a capture in the request's own lineage is planned and told its terms.
Whether there is room is known when its frontier is reached (INV-17). Does not know who plans.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import CheckpointRef


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCapture:
    """A checkpoint wanted at a frontier of the prompt, if there is room when it is reached
    (INV-17).
    """

    kind: CheckpointKind
    frontier_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureTerms:
    """What logical policy says to an offer.

    Attributes:
        gives_way: The checkpoint of the lineage whose place is taken, and whose places count as
            room; `None` where one more may stand beside the others.
        leaves_slots_count: Device slots that the capture must leave free for later ones.
    """

    gives_way: CheckpointRef | None = None
    leaves_slots_count: int = 0
