"""What does Program (and the Engine's step loop) hold of a machine?

Owns the protocol alone. The torch machine runs it on tensors, the simulated one in virtual time;
neither side of the protocol knows which. A machine decides nothing: it has no ledger, and its row
tables are a derived copy of what Program bound (checked by a law).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ninfer_lab.contract.ids import LaneId, PageId
from ninfer_lab.contract.work import ForwardResult, ForwardStep, PageCopy


class MachineApi(Protocol):
    """The hands: row tables, copies, forwards. Every call is ordered after the ones before it."""

    def bind(self, lane: LaneId, pages: Sequence[PageId]) -> None:
        """Gives an unbound lane its block table."""
        ...

    def extend(self, lane: LaneId, pages: Sequence[PageId]) -> None:
        """Appends pages to a bound lane's table."""
        ...

    def replace_tail(self, lane: LaneId, page: PageId) -> None:
        """The last page of a bound lane becomes `page` (partial-tail COW)."""
        ...

    def unbind(self, lane: LaneId) -> None:
        """Forgets a bound lane's table."""
        ...

    def row_table(self, lane: LaneId) -> tuple[PageId, ...] | None:
        """What the lane is bound to, for the law that compares it with Program's ledger."""
        ...

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        """Copies whole pages before any later forward runs."""
        ...

    def submit(self, step: ForwardStep) -> None:
        """Starts one forward; at most one is in flight."""
        ...

    def next_completion_ns(self) -> int | None:
        """When the work in flight ends, on the engine's clock; `None` if nothing is in flight."""
        ...

    def take_result(self) -> ForwardResult:
        """The forward's result, once `next_completion_ns()` has passed."""
        ...
