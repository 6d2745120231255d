"""What would the world look like after admitting this request? (TGT)

Owns the target (a candidate plus an outcome for every affected inactive owner) and Program's
verdict on it. A target is complete: what it does not name stays as it is. Does not know what a
target is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.capacity import AxisUse, Occupancy
from ninfer_lab.contract.ids import OwnerRef


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSketch:
    """One candidate and the inactive owners that go.

    Attributes:
        evicted: In catalog order; empty is the candidate's identity target (TGT-4). The source's
            own owner is never among them: its role is `candidate.source`.
    """

    candidate: AdmissionCandidate
    evicted: tuple[OwnerRef, ...] = ()

    @property
    def is_identity(self) -> bool:
        """Nothing but the activation and the source's disposition."""
        return not self.evicted


class StateTransition(Enum):
    """How the active StateImage comes to be (STATE-2, STATE-3): derived from the post-state."""

    ROOT = "root"
    MOVE = "move"
    FORK = "fork"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """Program's verdict on one target, bound to one revision; it reads only (REV-1).

    Attributes:
        stages: Occupancy of every ordered stage; all must fit (STG-1).
        state: The transition the post-state asks for.
        cow_pages: Partial tails the new writer needs a copy of.
    """

    target: TargetSketch
    resource_revision: int
    state: StateTransition
    cow_pages: int
    stages: tuple[Occupancy, ...]

    @property
    def violations(self) -> tuple[tuple[int, AxisUse], ...]:
        """(stage ordinal, axis) of every inequality that fails; empty means feasible."""
        return tuple((i, use) for i, stage in enumerate(self.stages) for use in stage.over_capacity)

    @property
    def is_feasible(self) -> bool:
        """Physically executable at this revision."""
        return not self.violations

    def __str__(self) -> str:
        if self.is_feasible:
            return f"feasible by {self.state.value}; end: {self.stages[-1]}"
        ordinal, use = self.violations[0]
        return f"stage {ordinal} does not fit: {use}"
