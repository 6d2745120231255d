"""What stood when an event had happened? (W-4)

Owns the value of one place in a run, as words and as HTML: who waited, who ran and how far, the
transition under way, what was in use, and the ledger where its changes were recorded. Reads events
only; does not know how a place is found (`timeline`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.capacity import AxisUse, Occupancy
from ninfer_lab.contract.events import (
    Event,
    ForwardRan,
    RequestAdmitted,
    RequestFinished,
    RequestSubmitted,
    TransitionEnded,
    TransitionStarted,
)
from ninfer_lab.contract.ids import LaneId, RequestId
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.target import Stage
from ninfer_lab.lab.explain import headline
from ninfer_lab.lab.named_lines import NamedLines


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A request that is Active.

    Attributes:
        frontier_tokens: What its state has consumed.
    """

    request: RequestId
    lane: LaneId
    path: ReusePath
    reuse_tokens: int
    frontier_tokens: int

    def __str__(self) -> str:
        return (
            f"request {self.request} in lane {self.lane} at {self.frontier_tokens:,}"
            f" ({self.path.value}, {self.reuse_tokens:,} reused)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Following:
    """Who waits and who runs, in order; a new value after each event that tells of it.

    Attributes:
        occupancy: As it was told last; `None` before the first forward.
        finished_count: Requests that have ended.
    """

    waiting: tuple[RequestId, ...] = ()
    running: tuple[Running, ...] = ()
    transition: TransitionStarted | None = None
    occupancy: Occupancy | None = None
    finished_count: int = 0

    def after(self, event: Event) -> Following:
        """As it stands when the event has happened."""
        match event:
            case RequestSubmitted():
                return replace(self, waiting=(*self.waiting, event.request))
            case TransitionStarted():
                return replace(self, transition=event)
            case TransitionEnded():
                return replace(self, transition=None)
            case RequestAdmitted():
                return self._admitted(event)
            case ForwardRan():
                return self._ran(event)
            case RequestFinished():
                return replace(
                    self,
                    waiting=_without(self.waiting, event.request),
                    running=tuple(r for r in self.running if r.request != event.request),
                    occupancy=event.occupancy,
                    finished_count=self.finished_count + 1,
                )
            case _:
                return self

    def _admitted(self, event: RequestAdmitted) -> Following:
        new = Running(
            request=event.request,
            lane=event.lane,
            path=event.path,
            reuse_tokens=event.reuse_tokens,
            frontier_tokens=event.reuse_tokens,
        )
        waiting = _without(self.waiting, event.request)
        return replace(self, waiting=waiting, running=(*self.running, new))

    def _ran(self, event: ForwardRan) -> Following:
        ends_tokens = {row.request: row.end_tokens for row in event.rows}
        running = tuple(
            replace(each, frontier_tokens=ends_tokens[each.request])
            if each.request in ends_tokens
            else each
            for each in self.running
        )
        return replace(self, running=running, occupancy=event.occupancy)


def _without(requests: tuple[RequestId, ...], gone: RequestId) -> tuple[RequestId, ...]:
    return tuple(each for each in requests if each != gone)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Moment(NamedLines):
    """One place of a run.

    Attributes:
        event: Ordinal in the recording.
        stage_ordinal: Of the plan that the event carried out; `None` if it is no such event.
        told: The event itself.
        ledger: `None` where its changes were not recorded.
        read_count: How many recorded events were read to tell it.
    """

    event: int
    stage_ordinal: int | None
    stages: tuple[Stage, ...]
    told: Event
    following: Following
    ledger: LedgerSnapshot | None = field(repr=False)
    read_count: int

    @property
    def stage(self) -> Stage | None:
        """The stage one stands at."""
        return None if self.stage_ordinal is None else self.stages[self.stage_ordinal]

    @property
    def occupancy(self) -> Occupancy | None:
        """At the stage one stands at, else after the event: by the ledger if it was recorded, else
        as it was told last.
        """
        if self.stage is not None:
            return self.stage.occupancy
        return self.following.occupancy if self.ledger is None else self.ledger.occupancy

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Names and words, in reading order."""
        following = self.following
        open_one = following.transition
        lines = [
            ("event", f"{self.event:,} at {self.told.at_ns / 1e6:,.3f} ms: {headline(self.told)}"),
            ("waiting", ", ".join(f"request {each}" for each in following.waiting) or "nobody"),
            ("running", "; ".join(map(str, following.running)) or "nobody"),
            ("ended", f"{following.finished_count:,}"),
        ]
        if open_one is not None:
            lines.append(("copies under way", f"for request {open_one.request}"))
        if self.stage is not None and self.stage_ordinal is not None:
            number = f"{self.stage_ordinal + 1} of {len(self.stages)}"
            lines.append(("stage", f"{number}, {self.stage.name.value}"))
        if self.occupancy is not None:
            uses = (_use(use) for use in self.occupancy.axes if use.capacity_count)
            lines.append(("in use", "; ".join(uses)))
        return tuple(lines)


def _use(use: AxisUse) -> str:
    held = f" + {use.reserved_count:,} promised" if use.reserved_count else ""
    return f"{use.axis.value} {use.allocated_count:,}{held} of {use.capacity_count:,}"
