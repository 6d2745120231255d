"""Which targets has a small world, and how are they asked of Program and of the brute force?

Owns a target in words that hold at every capacity, the enumeration of all targets of a world, and
the translation to a `TargetSketch` and to a `Move`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ninfer_lab.contract.candidate import AdmissionCandidate, AdmissionRequest, SourceDisposition
from ninfer_lab.contract.ids import LaneId, OwnerId, OwnerRef, RequestId
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.plan import ActivationIntent
from ninfer_lab.contract.target import TargetSketch
from ninfer_lab.program.program import Program
from ninfer_lab.program.storage.ledger import Ledger
from simulation.engine_world import prepared
from small_worlds.outcomes import Outcome, sealed_form
from small_worlds.plain_sets import Move

FRESH_TOKENS = range(900, 905)
"""What every request adds to what it reuses."""
OUTPUT_TOKENS = 60
"""Longest output: every request is promised growth beyond its prompt."""
FREE_LANE = LaneId(0)


class Held(Protocol):
    """A Program with a world in it, and the picture that targets are spelt in."""

    @property
    def program(self) -> Program: ...

    @property
    def picture(self) -> LedgerSnapshot: ...

    @property
    def ledger(self) -> Ledger:
        """Program's own."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One complete target.

    Attributes:
        source: (ordinal of the owner, ordinal of its checkpoint); `None` is the root.
    """

    source: tuple[int, int] | None
    is_consumed: bool
    outcomes: Mapping[OwnerId, Outcome]

    def __str__(self) -> str:
        parts = ["root" if self.source is None else f"checkpoint {self.source}"]
        if self.is_consumed:
            parts.append("consumed")
        for owner, (deleted, keeps) in self.outcomes.items():
            kept = " ".join(sorted(map(str, keeps))) or "nothing"
            parts.append(f"owner {owner} less {sorted(r.id for r in deleted)} keeps {kept}")
        return "; ".join(parts)


def from_root(
    picture: LedgerSnapshot, outcomes: Mapping[OwnerId, Sequence[Outcome]]
) -> Iterator[Target]:
    """The root, with every choice of outcomes of all owners."""
    for chosen in choices([owner.owner for owner in picture.owners], outcomes):
        yield Target(source=None, is_consumed=False, outcomes=chosen)


def from_owner(
    picture: LedgerSnapshot, ordinal: int, outcomes: Mapping[OwnerId, Sequence[Outcome]]
) -> Iterator[Target]:
    """Every checkpoint of one owner, retained and consumed, with every choice of outcomes of all
    others.
    """
    source = picture.owners[ordinal]
    others = [owner.owner for owner in picture.owners if owner is not source]
    for chosen in choices(others, outcomes):
        for checkpoint in range(len(source.checkpoints)):
            for is_consumed in (False, True):
                yield Target(source=(ordinal, checkpoint), is_consumed=is_consumed, outcomes=chosen)


def choices(
    owners: Sequence[OwnerId], outcomes: Mapping[OwnerId, Sequence[Outcome]]
) -> Iterator[dict[OwnerId, Outcome]]:
    """Every owner stays or takes one of its outcomes; ascending by owner."""
    if not owners:
        yield {}
        return
    *before, last = owners
    for chosen in choices(before, outcomes):
        yield chosen
        for outcome in outcomes.get(last, ()):
            yield {**chosen, last: outcome}


def request_for(filled: Held, source: tuple[int, int] | None) -> AdmissionRequest:
    """A request that repeats what its source has consumed and adds some tokens."""
    reused: tuple[int, ...] = ()
    if source is not None:
        owner = filled.picture.owners[source[0]]
        continuation = filled.ledger.continuations.get(owner.owner)
        assert continuation is not None
        frontier_tokens = owner.checkpoints[source[1]].summary.frontier_tokens
        reused = tuple(continuation.history[:frontier_tokens])
    return AdmissionRequest(
        request=RequestId(1_000),
        prompt=prepared([*reused, *FRESH_TOKENS]),
        max_output_tokens=OUTPUT_TOKENS,
        mode=CacheMode.READ_WRITE,
        session_key=None,
        publication_order=1_000,
        free_lanes=(FREE_LANE,),
    )


class Asked:
    """A target, asked in one filled world."""

    def __init__(self, filled: Held, target: Target, request: AdmissionRequest) -> None:
        self._filled, self._target, self._request = filled, target, request
        self._owner = None
        if target.source is not None:
            self._owner = filled.picture.owners[target.source[0]]

    @property
    def move(self) -> Move:
        """As the brute force takes it."""
        owner, source = self._owner, self._target.source
        request = self._request
        return Move(
            source=None if owner is None or source is None else owner.checkpoints[source[1]],
            owner=None if owner is None else owner.owner,
            is_consumed=self._target.is_consumed,
            outcomes={owner: keeps for owner, (_, keeps) in self._target.outcomes.items()},
            entitled_tokens=len(request.prompt.tokens) + request.max_output_tokens,
        )

    @property
    def sketch(self) -> TargetSketch:
        """As Program takes it."""
        ledger = self._filled.ledger
        changed = tuple(
            sealed_form(ledger, self._ref(owner), outcome)
            for owner, outcome in self._target.outcomes.items()
        )
        return TargetSketch(candidate=self._candidate, outcomes=changed)

    @property
    def intent(self) -> ActivationIntent:
        """A consumed owner goes on; every other request becomes an owner of its own."""
        destination = OwnerRef(id=OwnerId(99), generation=1)
        if self._owner is not None and self._target.is_consumed:
            before = self._ref(self._owner.owner)
            destination = OwnerRef(id=before.id, generation=before.generation + 2)
        return ActivationIntent(lane=FREE_LANE, destination=destination)

    @property
    def _candidate(self) -> AdmissionCandidate:
        program, source = self._filled.program, self._target.source
        if self._owner is None or source is None:
            return program.root_candidate(self._request)
        disposition = SourceDisposition.RETAIN
        if self._target.is_consumed:
            disposition = SourceDisposition.CONSUME
        checkpoint = self._owner.checkpoints[source[1]].summary.ref
        candidate = program.verify(self._request, checkpoint, disposition)
        assert isinstance(candidate, AdmissionCandidate), candidate
        return candidate

    def _ref(self, owner: OwnerId) -> OwnerRef:
        continuation = self._filled.ledger.continuations.get(owner)
        assert continuation is not None
        return continuation.ref
