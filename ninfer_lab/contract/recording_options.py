"""How much of a run is written down?

Owns the options of a recording. They change what is kept of the events, never what the engine does:
two runs that differ only here make the same decisions. Source: spec RCD-1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.ids import RequestId


class RecordingDetail(Enum):
    """What is kept of each search."""

    DECISIONS = "decisions"
    """The winner, the best identity, the deepest offer, counts and the reason of the stop."""
    TARGETS = "targets"
    """Every target that was looked at."""


class PlacementDetail(Enum):
    """What is kept of the ledger."""

    NONE = "none"
    """Its occupancy, as the other events tell it."""
    CHANGES = "changes"
    """Every change of it, so that it can be rebuilt at any event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingOptions:
    """What a recorder keeps.

    Attributes:
        targets_of: Requests whose targets are all kept, whatever `detail` says.
        keyframe_every_changes: Every so many changes of the ledger one is written from nothing, so
            that a rebuild is short and survives the loss of old events.
        retained_events: The oldest go first: a long run must not grow without end. 200,000 decode
            steps take about 100 MB.
        remembered_tokens: How much of what was computed is remembered to tell a new prompt's cause
            of computing; 4 bytes each.

    Raises:
        OptionsError: A count below 1.
    """

    detail: RecordingDetail = RecordingDetail.DECISIONS
    targets_of: frozenset[RequestId] = frozenset()
    placements: PlacementDetail = PlacementDetail.NONE
    keyframe_every_changes: int = 256
    retained_events: int = 200_000
    remembered_tokens: int = 16_777_216

    def __post_init__(self) -> None:
        for name in ("keyframe_every_changes", "retained_events", "remembered_tokens"):
            found = getattr(self, name)
            if found < 1:
                raise OptionsError(f"recording.{name}", found=found, legal=">= 1")

    def keeps_targets_of(self, request: RequestId) -> bool:
        """Whether every target of this request is kept."""
        return self.detail is RecordingDetail.TARGETS or request in self.targets_of


DECISIONS_ONLY = RecordingOptions()
"""What is always on: small enough for very many requests."""

ALL_TARGETS = RecordingOptions(detail=RecordingDetail.TARGETS)
"""For runs that are looked at request by request."""

EVERYTHING = RecordingOptions(detail=RecordingDetail.TARGETS, placements=PlacementDetail.CHANGES)
"""For runs that are stepped through: where everything lay, too."""
