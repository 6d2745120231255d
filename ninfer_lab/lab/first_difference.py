"""Where do two runs of one world first differ?

Owns the comparison: event by event, every field, for runs that were the same up to somewhere; and
decision by decision for runs of different engines, whose times and ledgers differ from the first
event on. Reads recordings only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    LedgerChanged,
    OwnerPublished,
    RequestAdmitted,
    RequestBlocked,
    RequestFinished,
    TransitionEnded,
    TransitionStarted,
)
from ninfer_lab.lab.explain import headline
from ninfer_lab.lab.recording.recording import Recording

_Place = tuple[int | None, Event | None]
"""An event and its ordinal; neither where there is nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The first place at which two recordings do not say the same.

    Attributes:
        ordinals: Of the event in each; `None` where one has ended before.
        events: Those events.
        fields: Names of what differs, where both are events of one kind.
    """

    ordinals: tuple[int | None, int | None]
    events: tuple[Event | None, Event | None] = field(repr=False)
    fields: tuple[str, ...]

    def __str__(self) -> str:
        mine, theirs = (
            "nothing more" if event is None else f"event {ordinal:,}, {headline(event)}"
            for ordinal, event in zip(self.ordinals, self.events, strict=True)
        )
        what = f" ({', '.join(self.fields)})" if self.fields else ""
        return f"{mine} — {theirs}{what}"


def first_difference(one: Recording, other: Recording) -> Difference | None:
    """The first events that are not equal, in every field. The ledger's changes are told before
    what they belong to: where that differs, too, it is what is named.
    """
    pairs = enumerate(zip_longest(one.events, other.events))
    first = next((i for i, (mine, theirs) in pairs if mine != theirs), None)
    if first is None:
        return None
    mine, theirs = _spoken(one, first), _spoken(other, first)
    if mine[1] == theirs[1]:
        mine, theirs = _at(one, first), _at(other, first)
    return _difference(mine, theirs)


def _spoken(recording: Recording, ordinal: int) -> _Place:
    """From there the first event that is no change of the ledger."""
    events = recording.events
    spoken = (i for i in range(ordinal, len(events)) if not isinstance(events[i], LedgerChanged))
    return _at(recording, next(spoken, None))


def _at(recording: Recording, ordinal: int | None) -> _Place:
    """The event there; a recording may have ended before."""
    if ordinal is None or ordinal >= len(recording.events):
        return None, None
    return ordinal, recording.events[ordinal]


def first_decision(one: Recording, other: Recording) -> Difference | None:
    """The first decisions that are not equal, whatever they took and wherever they lay."""
    for mine, theirs in zip_longest(_decisions(one), _decisions(other)):
        if mine is None or theirs is None or mine[1] != theirs[1]:
            first, second = mine and mine[0], theirs and theirs[0]
            return _difference(_at(one, first), _at(other, second))
    return None


def _decisions(recording: Recording) -> Iterator[tuple[int, tuple[object, ...]]]:
    """(ordinal, what was decided), in order."""
    for ordinal, event in enumerate(recording.events):
        decided = _decided(event)
        if decided is not None:
            yield ordinal, decided


def _decided(event: Event) -> tuple[object, ...] | None:
    """Without times, places and prices; `None` of what is no decision."""
    match event:
        case RequestBlocked():
            return ("blocked", event.request)
        case TransitionStarted():
            return ("copies", event.request, event.path, event.reuse_tokens)
        case TransitionEnded():
            return ("ended", event.request, event.ending)
        case RequestAdmitted():
            gone = len(event.evicted)
            return ("admitted", event.request, event.path, event.state, event.reuse_tokens, gone)
        case CaptureTried():
            result = event.result
            shared = None if result.shared is None else result.shared.outcome
            return ("capture", event.request, result.frontier_tokens, result.outcome, shared)
        case OwnerPublished():
            frontiers = tuple(each.frontier_tokens for each in event.checkpoints)
            return ("published", event.request, frontiers)
        case RequestFinished():
            return ("finished", event.request, event.finish_reason, event.completion_tokens)
        case _:
            return None


def _difference(mine: _Place, theirs: _Place) -> Difference:
    fields: tuple[str, ...] = ()
    if mine[1] is not None and type(mine[1]) is type(theirs[1]):
        fields = tuple(
            name for name in _names(mine[1]) if getattr(mine[1], name) != getattr(theirs[1], name)
        )
    return Difference(ordinals=(mine[0], theirs[0]), events=(mine[1], theirs[1]), fields=fields)


def _names(event: Event) -> tuple[str, ...]:
    if isinstance(event, tuple):
        return event._fields
    return tuple(each.name for each in dataclasses.fields(event))
