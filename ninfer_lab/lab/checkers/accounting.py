"""Is everything that is held held by somebody, and is all of it counted?

Owns the laws of references and occupancy (ACC, INV-3). Does not know who may write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeVar

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.ids import PageId, StateSlotId
from ninfer_lab.lab.checkers.lineages import checkpoints_of

_Unit = TypeVar("_Unit", bound=int)


class StateReferencesAreAccountedFor:
    """Every reference and pin of a slot is a checkpoint's, a writer's or a Fork's; none is lost."""

    rules = "INV-3 ACC-2"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        ledger = now.ledger
        held: Counter[StateSlotId] = Counter(c.state_slot for c in checkpoints_of(ledger))
        held.update(sequence.state_write_slot for sequence in ledger.sequences)
        yield from _differences("references of slot", held, dict(ledger.state_references))
        pinned = Counter(
            sequence.state_read_slot
            for sequence in ledger.sequences
            if sequence.borrowed_read and sequence.state_read_slot is not None
        )
        yield from _differences("pins of slot", pinned, dict(ledger.state_pins))


class PageReferencesAreAccountedFor:
    """Every reference of a page is a checkpoint's or an address space's; none is lost."""

    rules = "INV-3 ACC-2"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        held: Counter[PageId] = Counter()
        for checkpoint in checkpoints_of(now.ledger):
            held.update(checkpoint.pages)
        for sequence in now.ledger.sequences:
            held.update(sequence.pages)
        yield from _differences("references of page", held, dict(now.ledger.page_references))


class OccupancyIsCounted:
    """Occupancy is the recount of unique allocations plus what is promised and not yet there."""

    rules = "INV-3 ACC-1"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        ledger = now.ledger
        slots = {slot for slot, _ in (*ledger.state_references, *ledger.state_pins)}
        pages = {page for page, _ in ledger.page_references}
        recount = {
            Axis.DEVICE_STATE: (len(slots), 0),
            Axis.DEVICE_KV: (len(pages), sum(s.reserved_pages for s in ledger.sequences)),
        }
        for use in ledger.occupancy.axes:
            said = (use.allocated_count, use.reserved_count)
            if said != recount[use.axis]:
                yield f"{use}, but a recount gives (allocated, reserved) {recount[use.axis]}"


class OccupancyFits:
    """No axis holds more than its capacity."""

    rules = "ACC-4"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        yield from map(str, now.ledger.occupancy.over_capacity)


def _differences(what: str, expected: Counter[_Unit], said: Mapping[_Unit, int]) -> Iterator[str]:
    for key in sorted(expected.keys() | said.keys()):
        if expected[key] != said.get(key, 0):
            yield f"{what} {key}: ledger says {said.get(key, 0)}, accounted for {expected[key]}"
