"""What is the machine asked to do? Forwards over rows, and copies of pages.

Owns the values that cross from Engine and Program to a machine, and what comes back. A forward row
names the state slot it reads and the one it writes, so a Fork costs no copy of its own (STATE-2).
Does not know who the rows belong to, nor what the work costs.

What is made anew for every forward is a named tuple: one of four fields is made in a third of the
time that a frozen dataclass takes, and a simulated forward makes a dozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import LaneId, PageId, RequestId, StateSlotId
from ninfer_lab.contract.sampling import Sampling


class ForwardPhase(Enum):
    """One prompt cut of one sequence, or one token of up to eight."""

    PREFILL = "prefill"
    DECODE = "decode"


class StateAccess(Enum):
    """How a forward comes by its state (STATE-2)."""

    ROOT = "root"
    IN_PLACE = "in_place"
    FORK = "fork"


class Cut(NamedTuple):
    """The next forward of one sequence, as its cache design allows it.

    Attributes:
        start_tokens: Tokens already consumed; the cut is `[start_tokens, end_tokens)`.
        end_tokens: The frontier after it. Pages for the whole cut are bound when the cut is given
            out.
        state_read_slot: Where the state at `start_tokens` lies; `None` is the root's zero state.
        state_write_slot: Where the state at `end_tokens` goes.
    """

    start_tokens: int
    end_tokens: int
    state_read_slot: StateSlotId | None
    state_write_slot: StateSlotId

    @property
    def state_access(self) -> StateAccess:
        """ROOT, IN_PLACE or FORK, by the slots alone."""
        if self.state_read_slot is None:
            return StateAccess.ROOT
        return (
            StateAccess.IN_PLACE
            if self.state_read_slot == self.state_write_slot
            else StateAccess.FORK
        )


class Draw(NamedTuple):
    """The token wanted from a row's last logits.

    Attributes:
        request: Whose token it is: a machine without logits looks its continuation up.
        position_tokens: Absolute position of the drawn token: the generator's counter.
    """

    request: RequestId
    sampling: Sampling
    position_tokens: int


class ForwardRow(NamedTuple):
    """One sequence in one forward.

    Attributes:
        token_ids: The tokens of `cut`, `end_tokens - start_tokens` of them.
        draw: `None` while the prompt is not finished.
    """

    lane: LaneId
    token_ids: Sequence[int]
    cut: Cut
    draw: Draw | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardStep:
    """One forward: a single PREFILL row, or 1..8 DECODE rows of one token each."""

    phase: ForwardPhase
    rows: tuple[ForwardRow, ...]

    def __post_init__(self) -> None:
        assert self.rows
        assert self.phase is ForwardPhase.DECODE or len(self.rows) == 1

    @property
    def tokens_count(self) -> int:
        """Tokens over all rows."""
        return sum(len(row.token_ids) for row in self.rows)


class ForwardResult(NamedTuple):
    """What a forward gave.

    Attributes:
        drawn_tokens: One per row, `None` where no draw was asked.
        elapsed_ns: Machine time, from start to completion.
        gathered_bytes: Keys and values that attention gathered into per-call scratch (KV-6).
    """

    drawn_tokens: tuple[int | None, ...]
    elapsed_ns: int
    gathered_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCopy:
    """A whole page, Device to Device: the partial tail that a new writer gets for itself (KV-4)."""

    source: PageId
    destination: PageId
    pool: KvPool = KvPool.MAIN
