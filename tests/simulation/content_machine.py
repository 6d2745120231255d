"""A machine without tensors that knows what lies in every slot and page.

It keeps no numbers, only the exact token history each StateImage has consumed and, per page cell,
the digest of the history that wrote it. A forward whose state or pages belong to another history,
to another frontier or to an overwritten page is seen at once, whatever the ledger believes. Tokens
are drawn from the history alone, so a request that reuses must answer as one that does not.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ninfer_lab.contract.capacity import Capacity
from ninfer_lab.contract.clock import Clock, VirtualClock
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, PageId, StateSlotId
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.token_span import DIGEST_BYTES, TOKEN_BYTES, TokenSpan
from ninfer_lab.contract.work import ForwardResult, ForwardRow, ForwardStep, PageCopy
from ninfer_lab.lab.checkers.lineages import checkpoints_of, name_of

VOCABULARY_TOKENS = 1_000
FORWARD_NS = 1_000

TORN = b"half-written"
"""What an aborted forward leaves in the cells it was about to write."""


class MachineFault(Exception):
    """The device gave up: what the test told the machine to raise."""


@dataclass(frozen=True, slots=True)
class Consumed:
    """Tokens a state has consumed, and the digest of the history after each of them."""

    tokens: tuple[int, ...] = ()
    digests: tuple[bytes, ...] = ()
    hasher: hashlib.blake2b = field(
        default_factory=lambda: hashlib.blake2b(digest_size=DIGEST_BYTES), compare=False, repr=False
    )

    def then(self, token_ids: Iterable[int]) -> Consumed:
        """The state after some more tokens."""
        span, hasher, digests = TokenSpan(token_ids), self.hasher.copy(), []
        for position in range(len(span)):
            hasher.update(span.to_bytes()[position * TOKEN_BYTES : (position + 1) * TOKEN_BYTES])
            digests.append(hasher.copy().digest())
        return Consumed((*self.tokens, *span), (*self.digests, *digests), hasher)

    @property
    def next_token(self) -> int:
        """What the machine draws after this history: a fixed function of it."""
        return int.from_bytes(self.digests[-1][:4], "big") % VOCABULARY_TOKENS


def answer_to(prompt: Iterable[int], output_tokens: int) -> tuple[int, ...]:
    """What an unscripted machine answers to a prompt, computed without any engine."""
    history, answer = Consumed().then(prompt), []
    for _ in range(output_tokens):
        answer.append(history.next_token)
        history = history.then((history.next_token,))
    return tuple(answer)


class ContentMachine:
    """Implements `MachineApi`.

    Attributes:
        truth: Per lane, the tokens its sequence really consists of, told by the watcher and not by
            the ledger.
        script: Tokens to draw before the history decides; one per draw, in row order.
        failing_forwards: Ordinals of forwards, from 0, that tear their destinations and raise.
        failing_copies: Ordinals of page copies that raise.
        interrupted_forwards: Ordinals of forwards during which SIGINT arrives.
    """

    def __init__(self, capacity: Capacity, clock: Clock | None = None) -> None:
        self.truth: dict[LaneId, list[int]] = {}
        self.script: deque[int] = deque()
        self.failing_forwards: set[int] = set()
        self.failing_copies: set[int] = set()
        self.interrupted_forwards: set[int] = set()
        self.steps: list[ForwardStep] = []
        self.copies: list[PageCopy] = []
        self._clock = clock or VirtualClock()
        self._tables: dict[LaneId, tuple[PageId, ...]] = {}
        self._cells: list[list[bytes]] = [
            [b"never written"] * PAGE_TOKENS for _ in range(capacity.device_kv_pages)
        ]
        self._states: list[Consumed | None] = [None] * capacity.device_state_slots
        self._in_flight: tuple[int, ForwardResult] | None = None
        self._uncommitted: set[LaneId] = set()

    # ── row tables and copies ───────────────────────────────────────────────────────────────────

    def bind(self, lane: LaneId, pages: Sequence[PageId]) -> None:
        if lane in self._tables:
            raise InvariantBroken("MACHINE row table", f"lane {lane} is bound already")
        self._tables[lane] = tuple(pages)

    def extend(self, lane: LaneId, pages: Sequence[PageId]) -> None:
        self._tables[lane] = (*self._tables[lane], *pages)

    def replace_tail(self, lane: LaneId, page: PageId) -> None:
        self._tables[lane] = (*self._tables[lane][:-1], page)

    def unbind(self, lane: LaneId) -> None:
        del self._tables[lane]
        self._uncommitted.discard(lane)

    def row_table(self, lane: LaneId) -> tuple[PageId, ...] | None:
        return self._tables.get(lane)

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        for copy in copies:
            self.copies.append(copy)
            if len(self.copies) - 1 in self.failing_copies:
                raise MachineFault(f"copy {copy} failed")
            self._cells[copy.destination] = list(self._cells[copy.source])

    # ── forwards ────────────────────────────────────────────────────────────────────────────────

    def submit(self, step: ForwardStep) -> None:
        assert self._in_flight is None, "the result of the forward before has not been taken"
        ordinal = len(self.steps)
        self.steps.append(step)
        before = [self._read(row) for row in step.rows]
        _refuse_shared_slots(step)
        self._uncommitted.update(row.lane for row in step.rows)
        if ordinal in self.interrupted_forwards:
            os.kill(os.getpid(), signal.SIGINT)
        if ordinal in self.failing_forwards:
            for row in step.rows:
                self._write(row, Consumed(), [TORN] * len(row.token_ids))
            raise MachineFault(f"forward {ordinal} failed")
        drawn = []
        for row, history in zip(step.rows, before, strict=True):
            after = history.then(row.token_ids)
            self._write(row, after, after.digests[row.cut.start_tokens :])
            drawn.append(None if row.draw is None else self._draw(row, after))
        result = ForwardResult(drawn_tokens=tuple(drawn), elapsed_ns=FORWARD_NS, gathered_bytes=0)
        self._in_flight = (self._clock.now_ns() + FORWARD_NS, result)

    def next_completion_ns(self) -> int | None:
        return None if self._in_flight is None else self._in_flight[0]

    def take_result(self) -> ForwardResult:
        assert self._in_flight is not None, "no forward is in flight"
        (_, result), self._in_flight = self._in_flight, None
        return result

    def _read(self, row: ForwardRow) -> Consumed:
        """The row's history as state and pages have it, which must be the true one."""
        if row.lane in self._uncommitted:
            raise InvariantBroken("CONTENT state", f"{row} follows a forward never committed")
        cut, truth = row.cut, self.truth[row.lane]
        if list(row.token_ids) != truth[cut.start_tokens : cut.end_tokens]:
            raise InvariantBroken("CONTENT tokens", f"{row} is not what its request consists of")
        history = self._state(cut.state_read_slot)
        reader = f"lane {row.lane}, tokens [{cut.start_tokens}, {cut.end_tokens})"
        self._require_true(history, truth[: cut.start_tokens], reader)
        self._require_cells(self._tables[row.lane], history, reader)
        return history

    def _state(self, slot: StateSlotId | None) -> Consumed:
        if slot is None:
            return Consumed()
        state = self._states[slot]
        if state is None:
            raise InvariantBroken("CONTENT state", f"slot {slot} was never written")
        return state

    def _write(self, row: ForwardRow, after: Consumed, digests: Sequence[bytes]) -> None:
        self._states[row.cut.state_write_slot] = after
        table = self._tables[row.lane]
        for position, digest in enumerate(digests, start=row.cut.start_tokens):
            self._cells[table[position // PAGE_TOKENS]][position % PAGE_TOKENS] = digest

    def _draw(self, row: ForwardRow, after: Consumed) -> int:
        assert row.draw is not None
        if row.draw.position_tokens != len(after.tokens):
            raise InvariantBroken("CONTENT draw", f"{row.draw} after {len(after.tokens)} tokens")
        return self.script.popleft() if self.script else after.next_token

    # ── what a watcher says and asks ────────────────────────────────────────────────────────────

    def committed(self, lane: LaneId) -> None:
        """The ledger has taken the lane's last forward into account."""
        self._uncommitted.discard(lane)

    def check_contents(self, ledger: LedgerSnapshot) -> None:
        """Every checkpoint holds the history it is named for, every sequence its own.

        Raises:
            InvariantBroken: A slot or a page holds something else.
        """
        for checkpoint in checkpoints_of(ledger):
            summary = checkpoint.summary
            history = self._state(checkpoint.state_slot)
            named = summary.frontier_tokens, summary.prefix_digest
            if (len(history.tokens), history.digests[-1:]) != (named[0], named[1:]):
                raise InvariantBroken(
                    "CONTENT state",
                    f"slot {checkpoint.state_slot} of {summary} consumed"
                    f" {len(history.tokens)} tokens, or others",
                )
            self._require_cells(checkpoint.pages, history, f"{summary}")
        for sequence in ledger.sequences:
            if sequence.lane in self._uncommitted:
                continue  # written, or torn, and the ledger has not heard of it yet
            truth = self.truth[sequence.lane][: sequence.frontier_tokens]
            history = self._state(sequence.state_read_slot)
            self._require_true(history, truth, name_of(sequence))
            self._require_cells(sequence.pages, history, name_of(sequence))

    def _require_true(self, history: Consumed, truth: Sequence[int], reader: str) -> None:
        if history.tokens != tuple(truth):
            raise InvariantBroken(
                "CONTENT state",
                f"{reader} has to do with {len(truth)} tokens, but the slot consumed"
                f" {len(history.tokens)}, or others",
            )

    def _require_cells(self, pages: Sequence[PageId], history: Consumed, reader: str) -> None:
        for ordinal in range(-(-len(history.digests) // PAGE_TOKENS)):
            wanted = history.digests[ordinal * PAGE_TOKENS : (ordinal + 1) * PAGE_TOKENS]
            if ordinal >= len(pages):
                raise InvariantBroken("CONTENT KV", f"{reader} has no page {ordinal}")
            if tuple(self._cells[pages[ordinal]][: len(wanted)]) != wanted:
                raise InvariantBroken(
                    "CONTENT KV", f"page {pages[ordinal]} holds another history than {reader}"
                )


def _refuse_shared_slots(step: ForwardStep) -> None:
    """Rows of one forward run side by side: what one writes no other may touch."""
    for row in step.rows:
        for other in step.rows:
            touched = {other.cut.state_read_slot, other.cut.state_write_slot}
            if other is not row and row.cut.state_write_slot in touched:
                raise InvariantBroken(
                    "CONTENT state", f"{row} writes a slot that {other} reads or writes"
                )
