"""How are forwards and copies carried out with no tensors, in virtual time?

Owns what is in flight: one forward's result, one transfer. Time passes only where the engine's loop
waits; how much is the truth of `DeviceTiming`, whatever the planner believes. Tokens come from a
`TokenSource`, so the same requests can be run in both worlds. Decides nothing and knows no
contents.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.contents import ImagePlace, PagePlace
from ninfer_lab.contract.ids import LaneId
from ninfer_lab.contract.token_source import TokenSource
from ninfer_lab.contract.transfer import Transfer
from ninfer_lab.contract.work import ForwardResult, ForwardRow, ForwardStep, PageCopy
from ninfer_lab.machine.charged_time import ChargedTime
from ninfer_lab.machine.lane_tables import LaneTables


class SimulatedFault(Exception):
    """What a seeded fault raises in place of a forward or of a transfer's good end."""


class SimulatedMachine(LaneTables):
    """`MachineApi` in virtual time.

    Args:
        time: What work is charged.
        tokens: What requests say.
        failing_forwards: Ordinals of forwards, from 0, that raise `SimulatedFault`.
        failing_transfers: Ordinals of transfers, from 0, that take their time and raise it then.
    """

    def __init__(
        self,
        time: ChargedTime,
        tokens: TokenSource,
        *,
        failing_forwards: Container[int] = frozenset(),
        failing_transfers: Container[int] = frozenset(),
    ) -> None:
        super().__init__()
        self._time = time
        self._tokens = tokens
        self._failing_forwards = failing_forwards
        self._failing_transfers = failing_transfers
        self._forward_ordinal = 0
        self._transfer_ordinal = 0
        self._result: ForwardResult | None = None
        self._has_transfer = False

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        self._time.charge_page_copies(copies)

    def start_transfer(self, transfer: Transfer) -> None:
        assert not self._has_transfer, "the transfer before has not been seen to end"
        assert not transfer.is_empty
        self._time.charge_transfer(transfer)
        self._has_transfer = True

    def transfer_is_done(self) -> bool:
        assert self._has_transfer, "no transfer is in flight"
        if not self._time.transfer_has_ended:
            return False
        self._has_transfer = False
        ordinal, self._transfer_ordinal = self._transfer_ordinal, self._transfer_ordinal + 1
        if ordinal in self._failing_transfers:
            raise SimulatedFault(f"transfer {ordinal} was seeded to fail")
        return True

    def submit(self, step: ForwardStep) -> None:
        assert self._result is None, "the result of the forward before has not been taken"
        ordinal, self._forward_ordinal = self._forward_ordinal, self._forward_ordinal + 1
        if ordinal in self._failing_forwards:
            raise SimulatedFault(f"forward {ordinal} was seeded to fail")
        self._result = ForwardResult(
            drawn_tokens=tuple([self._drawn(row) for row in step.rows]),
            elapsed_ns=self._time.charge_forward(step),
            gathered_bytes=0,
        )

    def next_completion_ns(self) -> int | None:
        if self._result is not None:
            return self._time.compute_until_ns
        return self._time.transfer_until_ns if self._has_transfer else None

    def take_result(self) -> ForwardResult:
        assert self._result is not None, "no forward is in flight"
        result, self._result = self._result, None
        return result

    # ── contents: none, so that a session saved here can be restored here and nowhere else ──────

    @property
    def contents_signature(self) -> str:
        return f"no tensors: {self._time.sizes}"

    def content_bytes(self, pool: KvPool | None) -> int:
        return 0

    def read_image(self, place: ImagePlace) -> bytes:
        return b""

    def read_page(self, place: PagePlace, cells_count: int) -> bytes:
        return b""

    def write_image(self, place: ImagePlace, content: bytes) -> None:
        assert not content

    def write_row(self, lane: LaneId, pool: KvPool, pages: Sequence[bytes]) -> None:
        assert len(pages) == len(self._bound(lane, pool))

    def _drawn(self, row: ForwardRow) -> int | None:
        draw = row.draw
        return None if draw is None else self._tokens.token(draw.request, draw.position_tokens)
