"""What would the world look like after admitting this request? (TGT)

Owns the target (a candidate plus an outcome for every affected inactive owner) and Program's
verdict on it. A target is complete: what it does not name stays as it is. Does not know what a
target is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.capacity import Axis, Occupancy
from ninfer_lab.contract.ids import CheckpointRef, OwnerRef
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.replicas import NOTHING, ReplicaSet


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerOutcome:
    """What becomes of one inactive owner, absolutely: not what is done to it.

    Two orders of the same degradations are the same value (TGT-5).

    Attributes:
        deleted: Exactly the checkpoints that end (TXN-5); all of them is an eviction.
        keeps: Every replica that the surviving checkpoints keep or get. Program's, opaque to
            logical policy (ROLE-2).
    """

    owner: OwnerRef
    deleted: frozenset[CheckpointRef]
    keeps: ReplicaSet

    @property
    def is_eviction(self) -> bool:
        """Nothing of the owner is left."""
        return self.keeps == NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSketch:
    """One candidate and what becomes of the inactive owners that do not stay as they are.

    Attributes:
        outcomes: Ascending by owner id, each owner once; empty is the candidate's identity target
            (TGT-4). The source's own owner is never among them: its role is `candidate.source`
            (SRCH-10).
    """

    candidate: AdmissionCandidate
    outcomes: tuple[OwnerOutcome, ...] = ()

    def __post_init__(self) -> None:
        owners = [outcome.owner.id for outcome in self.outcomes]
        assert owners == sorted(set(owners)), "one target is one value, however it was reached"

    @property
    def is_identity(self) -> bool:
        """Nothing but the activation and the source's disposition."""
        return not self.outcomes

    @property
    def evicted(self) -> tuple[OwnerRef, ...]:
        """The owners that go."""
        return tuple(outcome.owner for outcome in self.outcomes if outcome.is_eviction)

    def __str__(self) -> str:
        parts = [str(self.candidate)]
        if self.evicted:
            parts.append("evict " + ", ".join(map(str, self.evicted)))
        if self.degraded:
            parts.append("degrade " + ", ".join(map(str, self.degraded)))
        return "; ".join(parts)

    @property
    def degraded(self) -> tuple[OwnerRef, ...]:
        """The owners that stay with less than they have."""
        return tuple(outcome.owner for outcome in self.outcomes if not outcome.is_eviction)


class StateTransition(Enum):
    """How the active StateImage comes to be (STATE-2, STATE-3): derived from the post-state."""

    ROOT = "root"
    MOVE = "move"
    """The consumed source's own image becomes the active one."""
    FORK = "fork"
    """The source's Device image is read once and written elsewhere."""
    RESTORE = "restore"
    """The source has no Device image; its Host image is copied into the active one."""


class StageName(Enum):
    """The stages of an admission, in their one canonical order (STG-2)."""

    NOW = "now"
    RELEASED = "victims released"
    """Evictions, deletions and redundant replicas are gone; no copy was needed for them."""
    DEMOTION_RESERVED = "Host places reserved"
    """Every demotion has its destination; the Device replicas are still there."""
    DEMOTED = "victims demoted"
    """Host replicas are published and what they replace is released."""
    DESTINATIONS_RESERVED = "destinations reserved"
    """The consumed lineage's tail end is gone; state, pages, tail copy and growth are held."""
    COMMITTED = "committed"
    """The sequence is active; replicas that writing makes stale are gone."""


class Stage(NamedTuple):
    """One ordered stage and the occupancy it reaches."""

    name: StageName
    occupancy: Occupancy


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One inequality that does not hold: used <= capacity on one axis of one stage.

    Attributes:
        run_bytes: Set where the bytes would do and no hole is large enough (CAP-2): the extent
            that finds no place.
        largest_hole_bytes: The largest there is then.
    """

    stage: StageName
    axis: Axis
    used_count: int
    capacity_count: int
    run_bytes: int | None = None
    largest_hole_bytes: int | None = None

    def __str__(self) -> str:
        where = f"at “{self.stage.value}” {self.axis.value}"
        if self.run_bytes is not None:
            return (
                f"{where}: an extent of {self.run_bytes} bytes finds no hole; the largest has"
                f" {self.largest_hole_bytes}"
            )
        return f"{where}: {self.used_count} used > {self.capacity_count} there are"


class Assessment(NamedTuple):
    """Program's verdict on one target, bound to one revision; it reads only (REV-1).

    Attributes:
        state: The transition the post-state asks for.
        cow_pages: Partial tails the new writer needs a copy of, over all pools.
        stages: Every ordered stage; all must fit (STG-1).
        work: The copies it takes, and what is left to prefill (COST-2).
        violations: Every inequality that fails, in stage order; empty means feasible.
    """

    target: TargetSketch
    resource_revision: int
    state: StateTransition
    cow_pages: int
    stages: tuple[Stage, ...]
    work: MachineWork
    violations: tuple[Violation, ...]

    @property
    def is_feasible(self) -> bool:
        """Physically executable at this revision."""
        return not self.violations

    @property
    def needs_transfer(self) -> bool:
        """Whether copies between Device and Host stand between here and Ready (RES-1)."""
        return any(batch.crosses_tiers for batch in self.work.transfers)

    def __str__(self) -> str:
        if self.is_feasible:
            return f"feasible by {self.state.value}; end: {self.stages[-1].occupancy}"
        return f"does not fit: {self.violations[0]}"
