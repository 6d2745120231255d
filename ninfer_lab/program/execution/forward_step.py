"""How does one forward of a sequence begin and end in the ledger?

Owns the two moments: giving out the next cut with its pages mapped, and committing it. Both move
only what is inside the sequence's own guarantee (ACT-2), so neither advances the resource revision
(REV-3).
"""

from __future__ import annotations

from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import pages_of_tokens
from ninfer_lab.contract.work import Cut
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.ledger import Ledger


def begin_cut(
    ledger: Ledger, machine: MachineApi, sequence: ActiveSequence, prefill_chunk_tokens: int
) -> Cut:
    """Maps the pages of the next cut out of the reservation and gives it out."""
    assert sequence.cut is None, "the cut given out before has not been settled"
    end_tokens = sequence.next_end_tokens(prefill_chunk_tokens)
    missing_pages = pages_of_tokens(end_tokens) - sequence.space.pages_count
    if missing_pages > 0:
        assert missing_pages <= sequence.reserved_pages, "ACT-1 guarantees the growth"
        pages = ledger.pages.allocate(missing_pages)
        sequence.reserved_pages -= missing_pages
        sequence.space.grow(pages)
        machine.extend(sequence.handle.lane, pages)
    sequence.cut = Cut(
        start_tokens=sequence.frontier_tokens,
        end_tokens=end_tokens,
        state_read_slot=sequence.state_read_slot,
        state_write_slot=sequence.state_write_slot,
    )
    return sequence.cut


def commit_cut(ledger: Ledger, sequence: ActiveSequence) -> bool:
    """The state in the write slot has consumed the cut.

    Returns:
        Whether a Fork pin ended, which is a change of global facts.
    """
    assert sequence.cut is not None, "no cut was given out"
    sequence.frontier_tokens = sequence.cut.end_tokens
    sequence.cut = None
    unpinned = sequence.pinned_read
    if unpinned:
        assert sequence.state_read_slot is not None
        ledger.states.unpin(sequence.state_read_slot)
        sequence.pinned_read = False
    sequence.state_read_slot = sequence.state_write_slot
    return unpinned
