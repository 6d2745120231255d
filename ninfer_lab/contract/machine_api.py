"""What does Program (and the Engine's step loop) hold of a machine?

Owns the protocol alone. The torch machine runs it on tensors, the simulated one in virtual time;
neither side of the protocol knows which. A machine decides nothing: it has no ledger, and its row
tables are a derived copy of what Program bound (checked by a law).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.contents import ContentsApi
from ninfer_lab.contract.ids import LaneId, PageId
from ninfer_lab.contract.transfer import Transfer
from ninfer_lab.contract.work import ForwardResult, ForwardStep, PageCopy


class MachineApi(ContentsApi, Protocol):
    """The hands: row tables, copies, forwards. Every call is ordered after the ones before it."""

    def bind(self, lane: LaneId, pool: KvPool, pages: Sequence[PageId]) -> None:
        """Gives a lane its block table in one pool."""
        ...

    def extend(self, lane: LaneId, pool: KvPool, pages: Sequence[PageId]) -> None:
        """Appends pages to a bound table."""
        ...

    def replace_tail(self, lane: LaneId, pool: KvPool, page: PageId) -> None:
        """The last page of a bound table becomes `page` (partial-tail COW)."""
        ...

    def unbind(self, lane: LaneId) -> None:
        """Forgets a bound lane's tables in every pool."""
        ...

    def row_table(self, lane: LaneId, pool: KvPool) -> tuple[PageId, ...] | None:
        """What the lane is bound to, for the law that compares it with Program's ledger."""
        ...

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        """Copies whole pages before any later forward runs."""
        ...

    def start_transfer(self, transfer: Transfer) -> None:
        """Starts copies between Device and Host, at least one; at most one transfer is in flight.

        Forwards and page copies may run beside it. They may read what it reads; they touch nothing
        that it writes, and write nothing that it reads.

        Raises:
            InvariantBroken: A place that is not there; nothing was copied.
            Exception: The machine's own, if the copies could not be started; nothing is in flight
                then, and what the destinations hold is undefined.
        """
        ...

    def transfer_is_done(self) -> bool:
        """Whether the transfer in flight has ended; once told so, none is in flight.

        Raises:
            Exception: The machine's own, if a copy failed; the transfer has ended then, too, and
                what its destinations hold is undefined.
        """
        ...

    def submit(self, step: ForwardStep) -> None:
        """Starts one forward; at most one is in flight."""
        ...

    def next_completion_ns(self) -> int | None:
        """When the next work in flight ends, on the engine's clock: the forward if one is, else the
        transfer; `None` if nothing is in flight.

        In wall time this is when to look again: a transfer may take longer.
        """
        ...

    def take_result(self) -> ForwardResult:
        """The forward's result, once `next_completion_ns()` has passed."""
        ...
