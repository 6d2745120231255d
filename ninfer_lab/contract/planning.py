"""How are many targets of one decision looked at, without building one? (TGT, SRCH-10)

Owns the protocol of a planning session and the light values that cross it. A session is bound to
one revision and dies with it. A target is a handle: which candidate, and for every eligible owner
the number of its outcome; what stands behind a number is Program's. Two orders of the same
degradations are one handle. Prices and worth are unknown here (COST-1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.ids import CheckpointRef, OwnerRef
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.target import Assessment, TargetSketch

STAYS = 0
"""The outcome number of an owner that stays as it is."""


class TargetHandle(NamedTuple):
    """One complete target of a session.

    Attributes:
        candidate: Ordinal.
        choices: The outcome number of every eligible owner, in the session's order.
    """

    candidate: int
    choices: tuple[int, ...]

    def after(self, step: DegradationStep) -> TargetHandle:
        """The target with a step taken."""
        return self.with_choice(step.owner, step.choice)

    def with_choice(self, owner: int, choice: int) -> TargetHandle:
        """The target with another outcome for one owner."""
        choices = self.choices
        return TargetHandle(self.candidate, (*choices[:owner], choice, *choices[owner + 1 :]))

    @property
    def is_identity(self) -> bool:
        """Everybody stays."""
        return not any(self.choices)


class OutcomeFacts(NamedTuple):
    """What logical policy may know of one outcome (ROLE-2).

    Attributes:
        deleted: Checkpoints that end.
        steps_count: Degradations that lead to it: how far it is from staying.
    """

    deleted: frozenset[CheckpointRef]
    is_eviction: bool
    steps_count: int


class DegradationStep(NamedTuple):
    """One owner gives more way; nothing that was given up comes back (TGT-5).

    Attributes:
        owner: Ordinal of the owner whose outcome changes.
        before: Its outcome so far.
        choice: Its outcome after the step.
        facts: Of that outcome.
    """

    owner: int
    before: int
    choice: int
    facts: OutcomeFacts


class CheckpointRecoveries(NamedTuple):
    """How one checkpoint's frontier could be reached again, in one target.

    Equal values are equally dear, so that each is priced once.

    Attributes:
        checkpoint: Of the owner as it stands now, ended or not.
        rebuild: Canonical prefill from root.
        recipes: Restore, copy or interval prefill, as real placement allows; the rebuild always
            among them (VAL-2).
    """

    checkpoint: CheckpointRef
    rebuild: MachineWork
    recipes: tuple[MachineWork, ...]


class Verdict(NamedTuple):
    """Program's exact word on one target.

    Attributes:
        is_feasible: Every stage fits, and every extent finds its place.
        balance: Used less capacity at the worst stage of each axis, in the order of `Axis`: what
            is missing where positive, what is left where negative.
        unplaced_bytes: Of extents that find no hole in the Host arena, however much is left.
        work: Copies, then what is left to prefill.
    """

    is_feasible: bool
    balance: tuple[int, ...]
    unplaced_bytes: int
    work: MachineWork


class PlanningSession(Protocol):
    """All targets of one decision, at one revision. Reads only."""

    @property
    def resource_revision(self) -> int: ...

    @property
    def candidates(self) -> Sequence[AdmissionCandidate]:
        """Root first."""
        ...

    @property
    def owners(self) -> Sequence[OwnerRef]:
        """Eligible victims, ascending by id; a candidate's own source stays among them and has no
        step there (SRCH-10).
        """
        ...

    def identity(self, candidate: int) -> TargetHandle:
        """Everybody stays (TGT-4)."""
        ...

    def maximal(self, candidate: int) -> TargetHandle:
        """Everybody but the source's owner is evicted."""
        ...

    def steps(self, target: TargetHandle) -> Sequence[DegradationStep]:
        """Every semantic successor, owner by owner (TGT-5)."""
        ...

    def steps_of(self, target: TargetHandle, owner: int) -> Sequence[DegradationStep]:
        """Those of one owner; the same outcome gives the same steps."""
        ...

    def lesser(self, target: TargetHandle, owner: int) -> Sequence[int]:
        """How an owner could give less way: the numbers of every outcome met before that its
        present one was reached from, least degraded first.
        """
        ...

    def is_eligible(self, candidate: int, owner: int) -> bool:
        """Whether an owner may give way to a candidate (TGT-2)."""
        ...

    def can_be_improved(self, candidate: int) -> bool:
        """Whether somebody's giving way could take a copy out of an identity that fits."""
        ...

    def relief(
        self, target: TargetHandle, steps: Sequence[DegradationStep]
    ) -> Sequence[tuple[int, ...]]:
        """Units that each of some steps frees at the end of the joint state, less those that it
        takes, in the order of `Axis`; a forecast for ordering (SRCH-1), since stages may need more.
        """
        ...

    def judge(self, target: TargetHandle) -> Verdict:
        """The exact evaluator: the one that seals, too."""
        ...

    def facts(self, target: TargetHandle) -> Sequence[tuple[int, OutcomeFacts]]:
        """Of every owner that does not stay: (ordinal, facts)."""
        ...

    def affected(self, target: TargetHandle) -> Sequence[int]:
        """Owners that have other recoveries than in the candidate's identity, or may have."""
        ...

    def recoveries(self, target: TargetHandle, owner: int) -> tuple[CheckpointRecoveries, ...]:
        """How each checkpoint of an owner could be reached again, by its placement in a target."""
        ...

    def own_recoveries(self, owner: int, choice: int) -> tuple[CheckpointRecoveries, ...]:
        """The same by what an outcome keeps itself, whoever else may keep more: a forecast."""
        ...

    def rung(self, candidate: int, gone: Sequence[int], *, rest_leaves: bool) -> TargetHandle:
        """Some owners evicted; the rest stays, or keeps everything with nothing on the Device
        that the Host can carry (SRCH-4).
        """
        ...

    def placement_key(self, target: TargetHandle, owner: int) -> object:
        """Equal where an owner's recoveries are: what is remembered by it stays true."""
        ...

    def sketch(self, target: TargetHandle) -> TargetSketch:
        """The target as a value that can be sealed and printed."""
        ...

    def assess(self, target: TargetHandle) -> Assessment:
        """The same verdict with every stage, for a report or a seal."""
        ...
