"""What came of a chance to write a shared prefix, and why, term by term? (CPT, VAL-7)

Owns the report values: for recordings and for whoever asks why a capture was or was not published.
Nothing decides from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.fixed_point import U64_MAX, saturated_sum
from ninfer_lab.contract.ids import CheckpointId, OwnerId
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.shared_prefix import Evidence
from ninfer_lab.contract.target import Stage


class CaptureForm(Enum):
    """How a shared owner comes by its StateImage (STATE-2, SHR-6)."""

    LEND = "lend"
    """An exact checkpoint is there and lends its contents: nothing is written."""
    FREEZE = "freeze"
    """The written image stays where it lies; its writer goes on in another Device slot."""
    SNAPSHOT = "snapshot"
    """The image is copied to a Host slot; its writer goes on where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureGain:
    """NetGain of one complete shared target against the private-only baseline (VAL-7).

    Attributes:
        public_before_ns: What shared owners are worth without it.
        public_after_ns: With it, and with everybody who gives way.
        private_loss_ns: Weighted, over all private owners.
        immediate_ns: Its copies beyond the baseline's, once for each request that waits for them.
    """

    public_before_ns: int
    public_after_ns: int
    private_loss_ns: int
    immediate_ns: int

    @property
    def net_ns(self) -> int:
        """Published only above 0; what has saturated proves nothing, so it counts as 0 (VAL-7).

        >>> CaptureGain(public_before_ns=5, public_after_ns=U64_MAX, private_loss_ns=0,
        ...             immediate_ns=0).net_ns
        0
        """
        lost_ns = saturated_sum(self.public_before_ns, self.private_loss_ns, self.immediate_ns)
        if U64_MAX in (self.public_after_ns, lost_ns):
            return 0
        return self.public_after_ns - lost_ns

    def __str__(self) -> str:
        return (
            f"net {self.net_ns:,} ns = public {self.public_after_ns:,} - {self.public_before_ns:,}"
            f" - private {self.private_loss_ns:,} - immediate {self.immediate_ns:,}"
        )


class SlotSource(Enum):
    """Where the catalog slot of a scenario comes from."""

    VACANT = "vacant"
    RECYCLED = "recycled"
    """The least recently used automatic entry gives its place up (EVD-2)."""
    REPLACED = "replaced"
    """An entry goes, and its worth with it, in the same target (CPT-2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureScenario:
    """The best target of one way to a slot.

    Attributes:
        entry: Whose slot it would be; `None` for a vacant one.
        targets_count: Complete targets that were judged.
        form: Of the best that fits; `None` if none does.
        gain: Of that target.
    """

    slot: SlotSource
    entry: OwnerId | None
    targets_count: int
    form: CaptureForm | None
    gain: CaptureGain | None

    def __str__(self) -> str:
        slot = self.slot.value if self.entry is None else f"{self.slot.value} owner {self.entry}"
        if self.gain is None or self.form is None:
            return f"{slot}: none of {self.targets_count} targets fits"
        return f"{slot}, {self.form.value}: {self.gain}"


class SharedOutcome(Enum):
    """What came of it. Skipping is never a failure (INV-15)."""

    PUBLISHED = "published"
    UNDER_WAY = "copies are in flight"
    DEDUPLICATED = "an exact shared owner is there"
    NO_SLOT = "no shared slot that this evidence may take"
    NO_ROOM = "no target fits"
    NO_GAIN = "nothing is gained"
    ABORTED = "given up"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCaptureTold:
    """One chance, from the frontier to its end.

    Attributes:
        scenarios: Everything that was weighed, in the order of their slots.
        chosen: Ordinal of the scenario that was carried out.
        published: The new shared checkpoint.
        work: The copies of the target that was carried out.
        stages: And every ordered stage of it with its occupancy.
        evicted: Owners that had to go for it, or that went before it was given up.
        deleted: Checkpoints that ended with it, of owners that stay.
        detail: Why it was given up.
    """

    frontier_tokens: int
    evidence: Evidence
    outcome: SharedOutcome
    scenarios: tuple[CaptureScenario, ...] = ()
    chosen: int | None = None
    published: CheckpointSummary | None = None
    work: MachineWork | None = None
    stages: tuple[Stage, ...] = ()
    evicted: tuple[OwnerId, ...] = ()
    deleted: tuple[CheckpointId, ...] = ()
    detail: str = ""

    @property
    def scenario(self) -> CaptureScenario | None:
        """The one that was carried out."""
        return None if self.chosen is None else self.scenarios[self.chosen]

    @property
    def is_final(self) -> bool:
        """Whether nothing more will be told of it."""
        return self.outcome is not SharedOutcome.UNDER_WAY

    def __str__(self) -> str:
        return f"shared@{self.frontier_tokens}: {self.outcome.value}"
