"""Which searches do the events tell of?

Owns the one walk over reports: of admissions, of requests that stayed blocked, and of transitions
that ended without their request. Does not judge them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ninfer_lab.contract.events import Event, RequestAdmitted, RequestBlocked, TransitionEnded
from ninfer_lab.contract.search_report import SearchReport

SearchTold = RequestAdmitted | RequestBlocked | TransitionEnded
"""What can carry a report."""


def searches(events: Iterable[Event]) -> Iterator[tuple[SearchTold, SearchReport]]:
    """Every search once, in order; a transition that committed is told by its admission."""
    for event in events:
        if isinstance(event, SearchTold) and event.report is not None:
            yield event, event.report
