"""Where was everything at this event?

Owns the rebuilding of the ledger from recorded changes: back to the nearest keyframe, then forward.
No engine is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ninfer_lab.contract.events import Event, LedgerChanged
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.placement_change import applied, empty_ledger


def ledger_at(events: Sequence[Event], ordinal: int) -> LedgerSnapshot | None:
    """The ledger as the event at `ordinal` found it; `None` if no keyframe stands before it."""
    start = next((i for i in range(ordinal, -1, -1) if _is_keyframe(events[i])), None)
    if start is None:
        return None
    return ledger_from(events[start : ordinal + 1])


def ledger_from(events: Iterable[Event]) -> LedgerSnapshot | None:
    """The ledger after the last of these changes, a keyframe first."""
    ledger: LedgerSnapshot | None = None
    for _, each in walk(events):
        ledger = each
    return ledger


def walk(events: Iterable[Event]) -> Iterator[tuple[int, LedgerSnapshot]]:
    """The ledger after each of its changes, with the change's ordinal, from the first keyframe
    on.
    """
    ledger: LedgerSnapshot | None = None
    for ordinal, event in enumerate(events):
        if not isinstance(event, LedgerChanged):
            continue
        if event.is_keyframe:
            ledger = applied(empty_ledger(event.change.occupancy), event.change)
        elif ledger is not None:
            ledger = applied(ledger, event.change)
        if ledger is not None:
            yield ordinal, ledger


def _is_keyframe(event: Event) -> bool:
    return isinstance(event, LedgerChanged) and event.is_keyframe
