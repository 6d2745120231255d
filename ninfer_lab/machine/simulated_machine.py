"""How are forwards and copies carried out with no tensors, in virtual time?

Owns the row tables and the moment at which the work in flight ends. Time passes only where the
engine's loop waits; how much is the truth of `DeviceTiming`, whatever the planner believes. Tokens
come from a `TokenSource`, so the same requests can be run in both worlds. Decides nothing and knows
no contents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.device_timing import DeviceTiming
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, PageId
from ninfer_lab.contract.machine_work import TransferBatch, TransferDirection, TransferPhase
from ninfer_lab.contract.token_source import TokenSource
from ninfer_lab.contract.work import ForwardResult, ForwardRow, ForwardStep, PageCopy


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedDevice:
    """What the device is like: how long things take there, and how large they are.

    Attributes:
        kv_page_bytes: Of one 64-token page, for the price of copying it.
    """

    timing: DeviceTiming
    kv_page_bytes: int


class SimulatedFault(Exception):
    """What a seeded fault raises in place of a forward."""


class SimulatedMachine:
    """`MachineApi` in virtual time.

    Args:
        failing_forwards: Ordinals of forwards, from 0, that raise `SimulatedFault` (see
            `lab.worlds.seeded_faults`).
    """

    def __init__(
        self,
        device: SimulatedDevice,
        tokens: TokenSource,
        clock: Clock,
        failing_forwards: frozenset[int] = frozenset(),
    ) -> None:
        self._device = device
        self._tokens = tokens
        self._clock = clock
        self._failing_forwards = failing_forwards
        self._forward_ordinal = 0
        self._tables: dict[LaneId, tuple[PageId, ...]] = {}
        self._busy_until_ns = 0
        self._result: ForwardResult | None = None

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

    def row_table(self, lane: LaneId) -> tuple[PageId, ...] | None:
        return self._tables.get(lane)

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        batch = TransferBatch(
            phase=TransferPhase.CANDIDATE,
            direction=TransferDirection.D2D,
            payload_bytes=len(copies) * self._device.kv_page_bytes,
            operation_count=len(copies),
        )
        self._occupy(self._device.timing.transfers_ns((batch,)))

    def submit(self, step: ForwardStep) -> None:
        assert self._result is None, "the result of the forward before has not been taken"
        ordinal, self._forward_ordinal = self._forward_ordinal, self._forward_ordinal + 1
        if ordinal in self._failing_forwards:
            raise SimulatedFault(f"forward {ordinal} was seeded to fail")
        elapsed_ns = self._device.timing.forward_ns(step)
        self._occupy(elapsed_ns)
        self._result = ForwardResult(
            drawn_tokens=tuple(self._drawn(row) for row in step.rows),
            elapsed_ns=elapsed_ns,
            gathered_bytes=0,
        )

    def next_completion_ns(self) -> int | None:
        return None if self._result is None else self._busy_until_ns

    def take_result(self) -> ForwardResult:
        assert self._result is not None, "no forward is in flight"
        result, self._result = self._result, None
        return result

    def _occupy(self, elapsed_ns: int) -> None:
        """Work is ordered: it starts when what came before it has ended."""
        self._busy_until_ns = max(self._busy_until_ns, self._clock.now_ns()) + elapsed_ns

    def _drawn(self, row: ForwardRow) -> int | None:
        if row.draw is None:
            return None
        return self._tokens.token(row.draw.request, row.draw.position_tokens)
