"""What if pages alone were enough to go on from? (NOT-1)

Owns a design that is wrong on purpose, so that it can be seen: it goes on from the longest prefix,
in whole pages, that a prompt shares with what its lane holds, whether or not there is a state at
that position. An attention-only model could. A recurrent one has nothing there to continue, and
starts from the zero state in the middle of the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.cache_controller import (
    Admission,
)
from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath
from ninfer_lab.contract.ids import LaneId, PageId, SequenceHandle
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions
from ninfer_lab.contract.result import SequenceEnd, Settlement
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.policies.row_ledger import RowStart
from ninfer_lab.policies.synchronous_design import SynchronousDesign


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pages:
    """What a lane holds: tokens, and the pages with their keys and values."""

    tokens: TokenSpan
    pages: tuple[PageId, ...]


class LongestPrefix(SynchronousDesign):
    """Pages without states; do not use it."""

    def __init__(self, options: ResolvedOptions, machine: MachineApi) -> None:
        super().__init__(options, machine)
        self._held: dict[LaneId, _Pages] = {}
        (self._zero_slot,) = self.ledger.slots.take(1)  # never written: it stays all zeros

    def admit(self, request: AdmissionRequest) -> Admission:
        """The first free lane, and the whole pages that its tokens share with the prompt."""
        lane, tokens = request.free_lanes[0], request.prompt.tokens
        held = self._held.get(lane, _Pages(tokens=TokenSpan(), pages=()))
        wanted_pages = self.ledger.entitled_pages(request) - len(held.pages)
        if wanted_pages > self.ledger.unpromised_pages:
            return self.blocked(request)
        self._held.pop(lane, None)
        common_tokens = min(held.tokens.common_prefix_tokens(tokens), len(tokens) - 1)
        shared_pages = common_tokens // PAGE_TOKENS
        self.ledger.pages.give_back(held.pages[shared_pages:])
        pages, reuse_tokens = held.pages[:shared_pages], shared_pages * PAGE_TOKENS
        slot = self._zero_slot if reuse_tokens else None
        start = RowStart(
            pages=pages, frontier_tokens=reuse_tokens, slot=slot, is_lent=slot is not None
        )
        row = self.ledger.start(request, lane, start)
        path = ReusePath.APPEND_AT_FRONTIER if reuse_tokens else ReusePath.FULL_RESET
        return self.admitted(row, path)

    def finish(self, handle: SequenceHandle, end: SequenceEnd) -> Settlement:
        """The pages stay on the lane, the state goes."""
        ended = self.ledger.end(handle)
        if ended.slot is not None:
            self.ledger.slots.give_back((ended.slot,))
        if end is SequenceEnd.PUBLISH:
            self._held[handle.lane] = _Pages(tokens=ended.consumed, pages=ended.pages)
        else:
            self.ledger.pages.give_back(ended.pages)
        return self.settled(ended, None)


def longest_prefix(
    options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
) -> LongestPrefix:
    """A factory, as assembly takes it."""
    return LongestPrefix(options, machine)
