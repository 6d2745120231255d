"""Which line of admission ran, and what destroyed what?

Owns what a lane-owned engine tells of itself beside the engine's own events: the lines of its two
passes, every destruction with its author, what went to the registry and came back, and how often
the eviction function was called. Told, never read back.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.ids import LaneId, OwnerId, RequestId
from ninfer_lab.policies.lane_owned.reuse_plan import CheckpointAction

RETAINED_RECORDS = 100_000
"""A trace forgets its oldest records beyond so many: long streams would fill the memory."""


class Line(Enum):
    """A line of the admission's two passes (LANE-4)."""

    BUSY = "pass 1: a request runs on it"
    NO_ROOM = "pass 1: it cannot be admitted there"
    TAKEN = "pass 1: taken, its key is greater or the first"
    NOT_GREATER = "pass 1: its key is not greater"
    RETURNED = "pass 1: one was taken, so it returns"
    NOT_RETAINED = "pass 2: nothing is retained there"
    EVICT_RETAINED = "pass 2: sets evict_retained"
    BLOCKED = "pass 2: nothing left to evict would make room"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRan:
    """One line, for one lane where it is about one.

    Attributes:
        path: Of the plan on that lane, where it was made.
        reuse_tokens: Of the same.
        bundle_pages: Of what is retained there.
    """

    line: Line
    lane: LaneId | None = None
    path: ReusePath | None = None
    reuse_tokens: int = 0
    bundle_pages: int = 0

    def __str__(self) -> str:
        where = "" if self.lane is None else f", lane {self.lane}, reuse {self.reuse_tokens}"
        return f"{self.line.value}{where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRan:
    """One admission.

    Attributes:
        lane: `None` if the request stayed blocked.
        action: What it does to the checkpoint it found; `None` if it stayed blocked.
    """

    request: RequestId
    lines: tuple[LineRan, ...]
    lane: LaneId | None = None
    path: ReusePath | None = None
    reuse_tokens: int = 0
    action: CheckpointAction | None = None


class Lost(Enum):
    """What of a bundle is gone."""

    PAGES = "pages"
    """And with them everything else: states without pages are of no use."""
    CHECKPOINT = "rewrite checkpoint"
    FINGERPRINT = "fingerprint"


class Destroyer(Enum):
    """Who did it."""

    FULL_RESET = "full_reset, at entry"
    DROP = "Drop, at execution"
    CAPTURE_NEW = "CaptureNew, at execution"
    OVERWRITTEN = "the ledger of the next request"
    EVICTION = "eviction, pass 2"
    REGISTRY = "the registry's limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Destruction:
    """Something that a later request could have used.

    Attributes:
        request: On whose admission it went.
        tokens: Prompt tokens that it could have spared.
    """

    request: RequestId
    destroyer: Destroyer
    lost: Lost
    owner: OwnerId
    tokens: int

    def __str__(self) -> str:
        return (
            f"request {self.request}: {self.destroyer.value} takes the {self.lost.value} of owner"
            f" {self.owner}, worth {self.tokens} tokens"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Detached:
    """A bundle left its lane and lives on (RT-3)."""

    request: RequestId
    owner: OwnerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """A bundle came back to a lane."""

    request: RequestId
    owner: OwnerId
    lane: LaneId


Record = AdmissionRan | Destruction | Detached | Attached


class LaneTrace:
    """Records in order.

    Attributes:
        evict_calls_count: How often the eviction function was called.
    """

    def __init__(self) -> None:
        self._records: deque[Record] = deque(maxlen=RETAINED_RECORDS)
        self.evict_calls_count = 0

    def tell(self, record: Record) -> None:
        """Adds a record."""
        self._records.append(record)

    @property
    def records(self) -> tuple[Record, ...]:
        """All that are retained."""
        return tuple(self._records)

    @property
    def admissions(self) -> tuple[AdmissionRan, ...]:
        """Of every request that was looked at."""
        return tuple(each for each in self._records if isinstance(each, AdmissionRan))

    @property
    def destructions(self) -> tuple[Destruction, ...]:
        """Of everything."""
        return tuple(each for each in self._records if isinstance(each, Destruction))

    def __str__(self) -> str:
        lines = [line for record in self._records for line in _said(record)]
        return "\n".join((*lines, f"eviction function called {self.evict_calls_count} times"))


def _said(record: Record) -> tuple[str, ...]:
    match record:
        case AdmissionRan(path=ReusePath() as path, action=CheckpointAction() as action):
            head = (
                f"request {record.request} enters lane {record.lane} by {path.value},"
                f" reuse {record.reuse_tokens}, checkpoint action {action.value}"
            )
            return (head, *(f"  {each}" for each in record.lines))
        case AdmissionRan():
            return (f"request {record.request} waits", *(f"  {each}" for each in record.lines))
        case Destruction():
            return (f"  {record}",)
        case Detached():
            return (f"  owner {record.owner} leaves its lane and lives on",)
        case Attached():
            return (f"  owner {record.owner} comes back, to lane {record.lane}",)
        case _:
            assert_never(record)
