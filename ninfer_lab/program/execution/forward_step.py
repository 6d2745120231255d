"""How does one forward of a sequence begin and end in the ledger?

Owns the two moments: giving out the next cut with its pages mapped, and committing it. Both move
only what is inside the sequence's own guarantee (ACT-2), so neither advances the resource revision
(REV-3).
"""

from __future__ import annotations

from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions, pages_of_tokens
from ninfer_lab.contract.work import Cut
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import AddressSpace
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.replica_layout import Holdings


def missing_pages(
    sequence: ActiveSequence, options: ResolvedOptions, end_tokens: int
) -> tuple[int, ...]:
    """Pages that a forward up to a frontier still has to map, by space."""
    return tuple([_missing_in(space, options, end_tokens) for space in sequence.spaces])


def _missing_in(space: AddressSpace, options: ResolvedOptions, end_tokens: int) -> int:
    wanted_pages = pages_of_tokens(options.coverage_tokens(space.pool, end_tokens))
    return max(0, wanted_pages - space.pages_count)


def begin_cut(
    ledger: Ledger, machine: MachineApi, sequence: ActiveSequence, options: ResolvedOptions
) -> Cut:
    """Maps the pages of the next cut out of the reservation and gives it out."""
    assert sequence.cut is None, "the cut given out before has not been settled"
    end_tokens = sequence.next_end_tokens(options.prefill_chunk_tokens)
    for space in sequence.spaces:
        missing_count = _missing_in(space, options, end_tokens)
        if missing_count:
            store = ledger.kv[space.pool]
            places = store.device_places.take(missing_count)
            space.grow(store.create(places))
            machine.extend(sequence.handle.lane, space.pool, places)
    read = sequence.read_image
    write_slot = ledger.states.device_slot(sequence.write_image)
    assert write_slot is not None, "an active image lies on the Device"
    sequence.cut = Cut(
        start_tokens=sequence.frontier_tokens,
        end_tokens=end_tokens,
        state_read_slot=None if read is None else ledger.states.device_slot(read),
        state_write_slot=write_slot,
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
    borrowed = sequence.read_image if sequence.pinned_read else None
    sequence.read_image, sequence.pinned_read = sequence.write_image, False
    if borrowed is not None:
        ledger.release_unreferenced(Holdings(images=1 << borrowed))
    return borrowed is not None
