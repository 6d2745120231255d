"""By which forwards did a sequence come to be, from its very first token?

Owns the reading of events for it: a request's own cuts, behind the cuts of the request whose
checkpoint it started from, and so on down to a root. Reads events only; knows no tensors.
Source: spec IDN-6 (equal bits need an equal decomposition of execution).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.errors import InvariantBroken, NinferLabError
from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    ForwardRan,
    OwnerPublished,
    RequestAdmitted,
    SharedCaptureEnded,
)
from ninfer_lab.contract.ids import OwnerId, RequestId
from ninfer_lab.contract.shared_report import SharedCaptureTold
from ninfer_lab.contract.target import StateTransition


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """One admitted request, and where its state comes from.

    Attributes:
        source: Whose checkpoint it started from; `None` for root.
        cut_ends_tokens: Ends of all forwards since token 0, those of its sources included,
            ascending; the last is its frontier.
    """

    request: RequestId
    path: ReusePath
    state: StateTransition
    source: RequestId | None
    reuse_tokens: int
    cut_ends_tokens: tuple[int, ...]

    @property
    def frontier_tokens(self) -> int:
        """Tokens consumed so far."""
        return self.cut_ends_tokens[-1] if self.cut_ends_tokens else 0

    def cut_ends_until(self, frontier_tokens: int) -> tuple[int, ...]:
        """The cuts that make up a checkpoint of this lineage.

        Raises:
            InvariantBroken: No forward ended there, so no state can be whole there.
        """
        ends = tuple(end for end in self.cut_ends_tokens if end <= frontier_tokens)
        if frontier_tokens and ends[-1:] != (frontier_tokens,):
            raise InvariantBroken(
                "IDN-1 complete state",
                f"request {self.request} has a checkpoint at {frontier_tokens} tokens,"
                f" but its forwards ended at {self.cut_ends_tokens}",
            )
        return ends


class LineageBook:
    """Every admitted request's lineage, and who published which owner last."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._by_request: dict[RequestId, Lineage] = {}
        self._publisher: dict[OwnerId, RequestId] = {}
        for event in events:
            match event:
                case RequestAdmitted():
                    self._by_request[event.request] = self._admitted(event)
                case ForwardRan():
                    for row in event.rows:
                        self._extend(row.request, row.start_tokens, row.end_tokens)
                case OwnerPublished() if event.request is not None:
                    self._publisher[event.owner] = event.request
                case CaptureTried() if event.result.shared is not None:
                    self._shared(event.request, event.result.shared)
                case SharedCaptureEnded():
                    self._shared(event.request, event.told)
                case _:
                    pass

    def of(self, request: RequestId) -> Lineage:
        """The lineage of an admitted request."""
        return self._by_request[request]

    def all(self) -> tuple[Lineage, ...]:
        """Every admitted request, in order of admission."""
        return tuple(self._by_request.values())

    def publisher_of(self, owner: OwnerId) -> Lineage:
        """The lineage that an inactive owner was published from last.

        Raises:
            NinferLabError: It came in as a saved session, so nobody here saw it computed.
        """
        if owner not in self._publisher:
            raise NinferLabError(
                f"owner {owner}",
                found="a restored session, computed elsewhere",
                legal="an owner whose forwards this engine has run",
            )
        return self._by_request[self._publisher[owner]]

    def _shared(self, request: RequestId, told: SharedCaptureTold) -> None:
        """A shared prefix was computed by the request whose state it is, or by its source."""
        if told.published is not None:
            self._publisher[told.published.ref.owner] = request

    def _admitted(self, event: RequestAdmitted) -> Lineage:
        chosen = None if event.report.chosen is None else event.report.verdicts[event.report.chosen]
        source = None
        ends: tuple[int, ...] = ()
        if chosen is not None and chosen.owner is not None:
            origin = self.publisher_of(chosen.owner)
            source, ends = origin.request, origin.cut_ends_until(event.reuse_tokens)
        return Lineage(
            request=event.request,
            path=event.path,
            state=event.state,
            source=source,
            reuse_tokens=event.reuse_tokens,
            cut_ends_tokens=ends,
        )

    def _extend(self, request: RequestId, start_tokens: int, end_tokens: int) -> None:
        known = self._by_request[request]
        if known.frontier_tokens != start_tokens:
            raise InvariantBroken(
                "IDN-3 forward cuts",
                f"request {request} ran [{start_tokens}, {end_tokens}) from a state that has"
                f" consumed {known.frontier_tokens} tokens",
            )
        self._by_request[request] = Lineage(
            request=request,
            path=known.path,
            state=known.state,
            source=known.source,
            reuse_tokens=known.reuse_tokens,
            cut_ends_tokens=(*known.cut_ends_tokens, end_tokens),
        )
