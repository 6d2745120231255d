"""A machine without tensors that knows what lies in every place of both tiers.

It keeps no numbers, only the exact token history each StateImage has consumed and, per page cell,
the digest of the history that wrote it (`content_memory`). A forward whose state or pages belong to
another history, to another frontier or to an overwritten page is seen at once, whatever the ledger
believes; so is one that meets a transfer in flight. Tokens are drawn from the history alone, so a
request that reuses must answer as one that does not.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TypeVar

from ninfer_lab.contract.capacity import Capacity, KvPool
from ninfer_lab.contract.clock import Clock, VirtualClock
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import KvPageId, LaneId, PageId, StateImageId, StateSlotId
from ninfer_lab.contract.options import PAGE_TOKENS, SpeculativeBackend
from ninfer_lab.contract.placement import LedgerSnapshot, SequencePlacement
from ninfer_lab.contract.transfer import Transfer
from ninfer_lab.contract.work import ForwardResult, ForwardRow, ForwardStep, PageCopy
from ninfer_lab.lab.checkers.lineages import checkpoints_of, name_of
from simulation.content_bytes import ContentBytes
from simulation.content_memory import Cells, Consumed, ContentMemory

VOCABULARY_TOKENS = 1_000
FORWARD_NS = 1_000
TRANSFER_NS = 2_500
"""So that forwards end while a transfer is still in flight."""

TORN = b"half-written"
"""What an aborted forward leaves in the cells it was about to write."""


class MachineFault(Exception):
    """The device gave up: what the test told the machine to raise."""


def answer_to(prompt: Iterable[int], output_tokens: int) -> tuple[int, ...]:
    """What an unscripted machine answers to a prompt, computed without any engine."""
    history, answer = Consumed().then(prompt), []
    for _ in range(output_tokens):
        answer.append(_next_token(history))
        history = history.then(answer[-1:])
    return tuple(answer)


def _next_token(history: Consumed) -> int:
    """What the machine draws after a history: a fixed function of it."""
    return int.from_bytes(history.digests[-1][:4], "big") % VOCABULARY_TOKENS


class ContentMachine(ContentBytes):
    """Implements `MachineApi`.

    Args:
        capacity: As many places as Program has.
        clock: The engine's; one of its own by default.
        backend: Whose pages there are, where the capacity has some.

    Attributes:
        truth: Per lane, the tokens its sequence really consists of, told by the watcher and not by
            the ledger.
        script: Tokens to draw before the history decides; one per draw, in row order.
        failing_forwards: Ordinals of forwards, from 0, that tear their destinations and raise.
        failing_copies: Ordinals of page copies that raise.
        failing_transfers: Ordinals of transfers that leave their destinations undefined and raise.
        interrupted_forwards: Ordinals of forwards during which SIGINT arrives.
        transfer_ns: What the next transfer takes.
    """

    def __init__(
        self,
        capacity: Capacity,
        clock: Clock | None = None,
        backend: SpeculativeBackend | None = None,
    ) -> None:
        super().__init__()
        self.truth: dict[LaneId, list[int]] = {}
        self.script: deque[int] = deque()
        self.failing_forwards: set[int] = set()
        self.failing_copies: set[int] = set()
        self.failing_transfers: set[int] = set()
        self.interrupted_forwards: set[int] = set()
        self.transfer_ns = TRANSFER_NS
        self.steps: list[ForwardStep] = []
        self.copies: list[PageCopy] = []
        self.transfers: list[Transfer] = []
        self.clock = clock or VirtualClock()
        # A backend's cell at position p holds what lag_tokens more tokens have decided.
        self._lags = {KvPool.MAIN: 0}
        if KvPool.BACKEND in capacity.pools:
            self._lags[KvPool.BACKEND] = (backend or SpeculativeBackend()).lag_tokens
        self._memory = ContentMemory(capacity)
        self._in_flight: tuple[int, ForwardResult] | None = None
        self._transfer_end_ns: int | None = None
        self._uncommitted: set[LaneId] = set()

    # ── row tables and copies ───────────────────────────────────────────────────────────────────

    def unbind(self, lane: LaneId) -> None:
        super().unbind(lane)
        self._uncommitted.discard(lane)

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        for copy in copies:
            self.copies.append(copy)
            if len(self.copies) - 1 in self.failing_copies:
                raise MachineFault(f"copy {copy} failed")
            cells = self._memory.page(copy.pool, copy.source)
            self._memory.put_page(copy.pool, copy.destination, cells)

    def start_transfer(self, transfer: Transfer) -> None:
        assert self._transfer_end_ns is None, "the transfer before has not been seen to end"
        assert not transfer.is_empty
        self._memory.begin(transfer)
        self.transfers.append(transfer)
        self._transfer_end_ns = self.clock.now_ns() + self.transfer_ns

    def transfer_is_done(self) -> bool:
        assert self._transfer_end_ns is not None, "no transfer is in flight"
        if self.clock.now_ns() < self._transfer_end_ns:
            return False
        self._transfer_end_ns = None
        ordinal = len(self.transfers) - 1
        if ordinal in self.failing_transfers:
            self._memory.fail()
            raise MachineFault(f"transfer {ordinal} failed")
        self._memory.end()
        return True

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
                self._write(row, Consumed(), [TORN] * row.cut.end_tokens)
            raise MachineFault(f"forward {ordinal} failed")
        drawn = []
        for row, history in zip(step.rows, before, strict=True):
            after = history.then(row.token_ids)
            self._write(row, after, after.digests)
            drawn.append(None if row.draw is None else self._draw(row, after))
        result = ForwardResult(drawn_tokens=tuple(drawn), elapsed_ns=FORWARD_NS, gathered_bytes=0)
        self._in_flight = (self.clock.now_ns() + FORWARD_NS, result)

    def next_completion_ns(self) -> int | None:
        return self._transfer_end_ns if self._in_flight is None else self._in_flight[0]

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
        for pool in self._lags:
            pages = self._covering(row.lane, pool, cut.start_tokens)
            cells = [self._memory.page(pool, page) for page in pages]
            self._require_cells(pool, cells, history, reader)
        return history

    def _state(self, slot: StateSlotId | None) -> Consumed:
        return Consumed() if slot is None else self._memory.image(slot)

    def _covering(self, lane: LaneId, pool: KvPool, frontier_tokens: int) -> tuple[PageId, ...]:
        """The pages that hold what a row reads; those after them may never have been written."""
        table = self.row_table(lane, pool)
        if table is None:
            raise InvariantBroken("CONTENT KV", f"lane {lane} has no {pool.value} table")
        return table[: self._pages_count(pool, frontier_tokens)]

    def _pages_count(self, pool: KvPool, frontier_tokens: int) -> int:
        return -(-max(0, frontier_tokens - self._lags[pool]) // PAGE_TOKENS)

    def _write(self, row: ForwardRow, after: Consumed, digests: Sequence[bytes]) -> None:
        """Writes the state, and in each pool the cells that the cut adds; `digests` from 0."""
        self._memory.put_image(row.cut.state_write_slot, after)
        for pool, lag in self._lags.items():
            table = self.row_table(row.lane, pool) or ()
            start, end = (max(0, at - lag) for at in (row.cut.start_tokens, row.cut.end_tokens))
            while start < end:
                ordinal, offset = divmod(start, PAGE_TOKENS)
                if ordinal >= len(table):
                    raise InvariantBroken("CONTENT KV", f"{row} has no {pool.value} page {ordinal}")
                stop = min(end, (ordinal + 1) * PAGE_TOKENS)
                self._memory.put_cells(
                    pool, table[ordinal], offset, digests[start + lag : stop + lag]
                )
                start = stop

    def _draw(self, row: ForwardRow, after: Consumed) -> int:
        assert row.draw is not None
        if row.draw.position_tokens != len(after.tokens):
            raise InvariantBroken("CONTENT draw", f"{row.draw} after {len(after.tokens)} tokens")
        return self.script.popleft() if self.script else _next_token(after)

    # ── what a watcher says and asks ────────────────────────────────────────────────────────────

    def committed(self, lane: LaneId) -> None:
        """The ledger has taken the lane's last forward into account."""
        self._uncommitted.discard(lane)

    def check_contents(self, ledger: LedgerSnapshot) -> None:
        """Every checkpoint holds the history it is named for, wherever its replicas are, and every
        sequence its own on the Device; two replicas of one thing hold the same.

        Raises:
            InvariantBroken: A place holds something else.
        """
        held = _Held(self._memory, ledger)
        held.require_agreement()
        for checkpoint in checkpoints_of(ledger):
            summary = checkpoint.summary
            history = held.image(checkpoint.image)
            if (len(history.tokens), history.digests[-1:]) != (
                summary.frontier_tokens,
                (summary.prefix_digest,),
            ):
                raise InvariantBroken(
                    "CONTENT state",
                    f"image {checkpoint.image} of {summary} consumed {len(history.tokens)} tokens,"
                    " or others",
                )
            for pool in self._lags:
                pages = checkpoint.pages_of(pool)[: self._pages_count(pool, len(history.tokens))]
                cells = [held.cells(pool, page) for page in pages]
                self._require_cells(pool, cells, history, f"{summary}")
        for sequence in ledger.sequences:
            if sequence.lane not in self._uncommitted:
                self._require_own_history(sequence, held)
            # else written, or torn, and the ledger has not heard of it yet

    def _require_own_history(self, sequence: SequencePlacement, held: _Held) -> None:
        history, name = Consumed(), name_of(sequence)
        if sequence.read_image is not None:
            history = held.device_image(sequence.read_image, name)
        truth = self.truth[sequence.lane][: sequence.frontier_tokens]
        self._require_true(history, truth, name)
        for space in sequence.spaces:
            pages = space.pages[: self._pages_count(space.pool, sequence.frontier_tokens)]
            cells = [held.device_cells(space.pool, page, name) for page in pages]
            self._require_cells(space.pool, cells, history, name)

    def _require_true(self, history: Consumed, truth: Sequence[int], reader: str) -> None:
        if history.tokens != tuple(truth):
            raise InvariantBroken(
                "CONTENT state",
                f"{reader} has to do with {len(truth)} tokens, but the slot consumed"
                f" {len(history.tokens)}, or others",
            )

    def _require_cells(
        self, pool: KvPool, cells: Sequence[Cells], history: Consumed, reader: str
    ) -> None:
        """Pages, in the order of their tokens, hold the history as the pool has it."""
        digests = history.digests[self._lags[pool] :]
        for ordinal in range(-(-len(digests) // PAGE_TOKENS)):
            wanted = digests[ordinal * PAGE_TOKENS : (ordinal + 1) * PAGE_TOKENS]
            if ordinal >= len(cells):
                raise InvariantBroken("CONTENT KV", f"{reader} has no {pool.value} page {ordinal}")
            if cells[ordinal][: len(wanted)] != wanted:
                raise InvariantBroken(
                    "CONTENT KV",
                    f"{pool.value} page {ordinal} of {reader} holds another history",
                )


class _Held:
    """What the places hold that a ledger names, each looked at once."""

    def __init__(self, memory: ContentMemory, ledger: LedgerSnapshot) -> None:
        self._memory = memory
        self._images = {replicas.image: replicas for replicas in ledger.images}
        self._pages = {
            (pool, replicas.page): replicas for pool in KvPool for replicas in ledger.pages_of(pool)
        }
        self._seen_images: dict[StateImageId, Consumed] = {}
        self._seen_pages: dict[tuple[KvPool, KvPageId], Cells] = {}

    def require_agreement(self) -> None:
        """Whatever is on the Host can be read, and is what the Device has if it is there, too."""
        for image, replicas in self._images.items():
            if replicas.host_slot is not None:
                self.image(image)
        for (pool, page), placed in self._pages.items():
            if placed.host_granule is not None:
                self.cells(pool, page)

    def image(self, image: StateImageId) -> Consumed:
        """An image, from any replica."""
        if image not in self._seen_images:
            _, device_slot, host_slot = self._images[image]
            found = []
            if device_slot is not None:
                found.append(self._memory.image(device_slot))
            if host_slot is not None:
                found.append(self._memory.host_image(host_slot))
            self._seen_images[image] = _agreed(found, f"image {image}")
        return self._seen_images[image]

    def cells(self, pool: KvPool, page: KvPageId) -> Cells:
        """A logical page, from any replica."""
        if (pool, page) not in self._seen_pages:
            _, device_page, host_granule = self._pages[pool, page]
            found = []
            if device_page is not None:
                found.append(self._memory.page(pool, device_page))
            if host_granule is not None:
                found.append(self._memory.host_page(pool, host_granule))
            self._seen_pages[pool, page] = _agreed(found, f"{pool.value} logical page {page}")
        return self._seen_pages[pool, page]

    def device_image(self, image: StateImageId, reader: str) -> Consumed:
        """An image that a forward will read."""
        if self._images[image].device_slot is None:
            raise InvariantBroken(
                "CONTENT state", f"image {image} of {reader} is not on the Device"
            )
        return self.image(image)

    def device_cells(self, pool: KvPool, page: KvPageId, reader: str) -> Cells:
        """A page that a forward will read."""
        if self._pages[pool, page].device_page is None:
            raise InvariantBroken(
                "CONTENT KV", f"{pool.value} logical page {page} of {reader} is not on the Device"
            )
        return self.cells(pool, page)


_Content = TypeVar("_Content", Consumed, Cells)


def _agreed(replicas: Sequence[_Content], name: str) -> _Content:
    if not replicas:
        raise InvariantBroken("CONTENT replicas", f"{name} is nowhere")
    if any(replica != replicas[0] for replica in replicas):
        raise InvariantBroken("CONTENT replicas", f"{name} is one thing here and another there")
    return replicas[0]


def _refuse_shared_slots(step: ForwardStep) -> None:
    """Rows of one forward run side by side: what one writes no other may touch."""
    for row in step.rows:
        for other in step.rows:
            touched = {other.cut.state_read_slot, other.cut.state_write_slot}
            if other is not row and row.cut.state_write_slot in touched:
                raise InvariantBroken(
                    "CONTENT state", f"{row} writes a slot that {other} reads or writes"
                )
