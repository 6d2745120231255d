"""What became of each checkpoint, and when?

Owns the lives of checkpoints as the events tell them: captured in a lineage, published with an
owner, gone on with a consumed lineage, replaced, evicted for want of something. Reads events only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.candidate import ReusePath, SourceDisposition
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    OwnerPublished,
    RequestAdmitted,
    RequestFinished,
    SharedCaptureEnded,
    TransitionEnded,
)
from ninfer_lab.contract.ids import CheckpointId, OwnerId, RequestId
from ninfer_lab.contract.search_report import SearchReport
from ninfer_lab.contract.shared_report import SharedCaptureTold


class Fate(Enum):
    """Where a checkpoint stands."""

    RESIDENT = "resident"
    """With an inactive owner: it can be offered."""
    IN_USE = "in use"
    """In the lineage of an active request."""
    MOVED_ON = "moved on"
    """The lineage it stood on took its state over and went on."""
    REPLACED = "replaced"
    """A later rewrite checkpoint of its lineage took its place."""
    STATE_EVICTED = "state evicted"
    """It went, alone or with its owner, because state slots were short."""
    KV_EVICTED = "KV evicted"
    """It went, alone or with its owner, because KV pages or Host bytes were short."""
    SLOT_EVICTED = "catalog slot evicted"
    """Its owner went because its catalog slot was wanted."""
    RESET = "lane reset"
    """A request of another prefix took its lane and began from nothing (DES-1)."""
    DROPPED = "dropped"
    """Its request ended without leaving it behind."""


@dataclass(slots=True, kw_only=True)
class CheckpointLife:
    """Mutable while events are read.

    Attributes:
        request: Whose run captured or published it first; `None` for one of a saved session.
        owner: With which inactive owner it stands, or stood last.
        gone_ns: When it was lost for reuse; `None` while it is resident or in use.
    """

    summary: CheckpointSummary
    request: RequestId | None
    born_ns: int
    owner: OwnerId | None
    fate: Fate
    gone_ns: int | None


class Fates:
    """Every checkpoint that the events so far have told of."""

    def __init__(self) -> None:
        self._lives: dict[CheckpointId, CheckpointLife] = {}
        self._resident: dict[OwnerId, tuple[CheckpointId, ...]] = {}
        self._lineages: dict[RequestId, tuple[CheckpointId, ...]] = {}

    def of(self, checkpoint: CheckpointId) -> Fate | None:
        """Where it stands now; `None` if the events never told of it."""
        life = self._lives.get(checkpoint)
        return None if life is None else life.fate

    def lives(self) -> Iterator[CheckpointLife]:
        """All of them, in the order of their birth."""
        return iter(self._lives.values())

    def read(self, event: Event) -> None:
        """Takes one event in."""
        match event:
            case RequestAdmitted():
                self._admitted(event)
            case TransitionEnded():
                self._aborted(event)
            case CaptureTried():
                self._captured(event)
                if event.result.shared is not None:
                    self._shared(event, event.result.shared)
            case SharedCaptureEnded():
                self._shared(event, event.told)
            case OwnerPublished():
                self._published(event)
            case RequestFinished():
                for id in self._lineages.pop(event.request, ()):
                    self._end(id, Fate.DROPPED, event.at_ns)
            case _:
                pass

    def _admitted(self, event: RequestAdmitted) -> None:
        winner, fate = event.report.winner, _eviction(event.report)
        self._evict(event.evicted, fate, event.at_ns)
        self._delete(() if winner is None else winner.deleted, fate, event.at_ns)
        lineage: list[CheckpointId] = []
        passed = Fate.RESET if event.path is ReusePath.FULL_RESET else Fate.MOVED_ON
        if winner is not None and winner.disposition is SourceDisposition.CONSUME:
            for id in self._resident.pop(winner.owner, ()) if winner.owner is not None else ():
                if self._lives[id].summary.frontier_tokens < event.reuse_tokens:
                    self._lives[id].fate = Fate.IN_USE
                    lineage.append(id)
                else:
                    self._end(id, passed, event.at_ns)
        self._lineages[event.request] = tuple(lineage)

    def _aborted(self, event: TransitionEnded) -> None:
        """What had gone before an abort stays gone (TXN-6); a commit is told by its admission."""
        if event.report is None:
            return
        winner, fate = event.report.winner, _eviction(event.report)
        self._evict(event.evicted, fate, event.at_ns)
        source = None if winner is None else winner.owner
        for id in event.deleted:
            in_source = source is not None and self._owner_of(id) == source
            self._delete((id,), Fate.MOVED_ON if in_source else fate, event.at_ns)

    def _evict(self, owners: Iterable[OwnerId], fate: Fate, at_ns: int) -> None:
        for owner in owners:
            for id in self._resident.pop(owner, ()):
                self._end(id, fate, at_ns)

    def _delete(self, checkpoints: Iterable[CheckpointId], fate: Fate, at_ns: int) -> None:
        """Checkpoints that end while their owner stays; older ones may never have been told of."""
        for id in checkpoints:
            owner = self._owner_of(id)
            if owner is not None:
                kept = self._resident.get(owner, ())
                self._resident[owner] = tuple(each for each in kept if each != id)
                self._end(id, fate, at_ns)

    def _owner_of(self, checkpoint: CheckpointId) -> OwnerId | None:
        life = self._lives.get(checkpoint)
        return None if life is None else life.owner

    def _captured(self, event: CaptureTried) -> None:
        checkpoint, replaced = event.result.checkpoint, event.result.replaced
        if checkpoint is None:
            return
        lineage = self._lineages.get(event.request, ())
        if replaced is not None and replaced.id in self._lives:
            self._end(replaced.id, Fate.REPLACED, event.at_ns)
            lineage = tuple(id for id in lineage if id != replaced.id)
        self._lineages[event.request] = (*lineage, checkpoint.ref.id)
        self._lives[checkpoint.ref.id] = CheckpointLife(
            summary=checkpoint,
            request=event.request,
            born_ns=event.at_ns,
            owner=None,
            fate=Fate.IN_USE,
            gone_ns=None,
        )

    def _shared(self, event: CaptureTried | SharedCaptureEnded, told: SharedCaptureTold) -> None:
        """A shared prefix stands, or does not; who gave way for it is gone either way."""
        if not told.is_final:
            return
        scenario = told.scenario
        for owner in told.evicted:
            is_entry = scenario is not None and scenario.entry == owner
            self._evict(
                (owner,), Fate.SLOT_EVICTED if is_entry else Fate.STATE_EVICTED, event.at_ns
            )
        self._delete(told.deleted, Fate.STATE_EVICTED, event.at_ns)
        if told.published is None:
            return
        id, owner = told.published.ref.id, told.published.ref.owner
        self._resident[owner] = (id,)
        self._lives[id] = CheckpointLife(
            summary=told.published,
            request=event.request,
            born_ns=event.at_ns,
            owner=owner,
            fate=Fate.RESIDENT,
            gone_ns=None,
        )

    def _published(self, event: OwnerPublished) -> None:
        ids = tuple(summary.ref.id for summary in event.checkpoints)
        for summary in event.checkpoints:
            life = self._lives.get(summary.ref.id)
            if life is None:
                life = self._lives[summary.ref.id] = CheckpointLife(
                    summary=summary,
                    request=event.request,
                    born_ns=event.at_ns,
                    owner=event.owner,
                    fate=Fate.RESIDENT,
                    gone_ns=None,
                )
            life.owner, life.fate, life.gone_ns = event.owner, Fate.RESIDENT, None
        lineage = () if event.request is None else self._lineages.pop(event.request, ())
        for id in lineage:
            if id not in ids:
                self._end(id, Fate.DROPPED, event.at_ns)
        self._resident[event.owner] = ids

    def _end(self, checkpoint: CheckpointId, fate: Fate, at_ns: int) -> None:
        life = self._lives[checkpoint]
        life.fate, life.gone_ns = fate, at_ns


def fates_of(events: Iterable[Event]) -> Fates:
    """Where every checkpoint stands at the end."""
    fates = Fates()
    for event in events:
        fates.read(event)
    return fates


def _eviction(report: SearchReport) -> Fate:
    """What was short: the first inequality that the deepest identity target broke, or its slot."""
    identities = [verdict for verdict in report.verdicts if verdict.is_identity]
    if not identities:
        return Fate.SLOT_EVICTED
    deepest = max(identities, key=lambda verdict: verdict.reuse_tokens)
    if not deepest.violations:
        return Fate.SLOT_EVICTED
    match deepest.violations[0].axis:
        case Axis.DEVICE_STATE | Axis.HOST_STATE:
            return Fate.STATE_EVICTED
        case Axis.DEVICE_KV | Axis.DEVICE_BACKEND_KV | Axis.HOST_KV:
            return Fate.KV_EVICTED
