"""What does an owner give up, in words?

Owns the reading of an owner's outcomes as a way of rungs, from staying as it is to its end: which
kind each rung is and how many units it frees. Asks a planning session, whose numbers say nothing by
themselves; never looks into a placement. Does not know which rung is taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from typing import assert_never

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.ids import CheckpointRef
from ninfer_lab.contract.planning import STAYS, DegradationStep, PlanningSession, TargetHandle

_AXES = tuple(Axis)


class RungKind(Enum):
    """What a step down gives up, gentlest first."""

    KEEP = "stays"
    DROP_REPLICA = "a second replica goes"
    TO_HOST = "to the Host"
    SHORTEN = "shortened"
    END_CHECKPOINT = "a checkpoint ends"
    EVICT = "evicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One step down of one owner.

    Attributes:
        choice: The owner's outcome after the step.
        frees: Units by axis that the owner's own holdings shrink by; negative where they grow. What
            others hold of the same contents is left out.
        frontier_tokens: Where the checkpoint that ends is; what is left is shortened to.
    """

    kind: RungKind
    choice: int
    frees: tuple[int, ...]
    frontier_tokens: int | None = None

    def freed(self, axis: Axis) -> int:
        """Units of one axis."""
        return self.frees[_AXES.index(axis)]

    def __str__(self) -> str:
        match self.kind:
            case RungKind.TO_HOST:
                states, pages = self.freed(Axis.DEVICE_STATE), self.freed(Axis.DEVICE_KV)
                parts = ["state" if states == 1 else f"{states} states"] if states else []
                parts += [f"{pages:,} page{'s' * (pages > 1)}"] if pages else []
                return f"{' and '.join(parts)} to the Host"
            case RungKind.DROP_REPLICA:
                side = "Device" if max(self.freed(a) for a in _DEVICE) > 0 else "Host"
                return f"spare {side} replica goes"
            case RungKind.SHORTEN:
                return f"shortened to {self.frontier_tokens:,} tokens"
            case RungKind.END_CHECKPOINT:
                return f"checkpoint at {self.frontier_tokens:,} ends"
            case RungKind.KEEP | RungKind.EVICT:
                words: str = self.kind.value
                return words
            case _:
                assert_never(self.kind)


_DEVICE = (Axis.DEVICE_STATE, Axis.DEVICE_KV, Axis.DEVICE_BACKEND_KV)
_HOST = (Axis.HOST_STATE, Axis.HOST_KV)


def units(
    session: PlanningSession, around: TargetHandle, owner: int, before: int, after: int
) -> tuple[int, ...]:
    """Units by axis that one owner's change frees, less those it takes, while all others are as a
    target says; in the order of `Axis`.
    """
    facts = dict(session.facts(around.with_choice(owner, after)))
    if after == before:
        return (0,) * len(_AXES)
    step = DegradationStep(owner, before, after, facts[owner])
    return tuple(session.relief(around.with_choice(owner, before), [step])[0])


def way_to(session: PlanningSession, owner: int, choice: int) -> tuple[Rung, ...]:
    """The shortest way from staying to an outcome, the gentlest rungs first."""
    start = session.identity(0)
    came: dict[int, int] = {STAYS: STAYS}
    waiting = deque([STAYS])
    while waiting and choice not in came:
        number = waiting.popleft()
        for step in session.steps_of(start.with_choice(owner, number), owner):
            if step.choice not in came:
                came[step.choice] = number
                waiting.append(step.choice)
    way: list[int] = [choice]
    while way[-1] != STAYS:
        way.append(came[way[-1]])
    way.reverse()
    return tuple(rung(session, owner, a, b) for a, b in pairwise(way))


def way_down(
    session: PlanningSession, owner: int, choice: int, loss_ns: Callable[[int, int], int]
) -> tuple[Rung, ...]:
    """From an outcome to the owner's end: spare replicas first, then to the Host, then checkpoints,
    the least loss first each time; of equals what frees most on the Device.

    Args:
        loss_ns: What an owner loses with an outcome: (owner, choice).
    """
    start, down = session.identity(0), []
    while steps := session.steps_of(start.with_choice(owner, choice), owner):
        lowest = min(
            (rung(session, owner, choice, step.choice) for step in steps),
            key=lambda r: (_TURN[r.kind], loss_ns(owner, r.choice), -_device_units(r), r.choice),
        )
        down.append(lowest)
        choice = lowest.choice
    return tuple(down)


_TURN = {
    RungKind.KEEP: 0,
    RungKind.DROP_REPLICA: 1,
    RungKind.TO_HOST: 2,
    RungKind.SHORTEN: 3,
    RungKind.END_CHECKPOINT: 3,
    RungKind.EVICT: 4,
}


def merged(way: Iterable[Rung]) -> tuple[Rung, ...]:
    """The same way with rungs to the Host that follow each other as one."""
    found: list[Rung] = []
    for each in way:
        if found and found[-1].kind is each.kind is RungKind.TO_HOST:
            sums = zip(found[-1].frees, each.frees, strict=True)
            found[-1] = replace(each, frees=tuple(a + b for a, b in sums))
        else:
            found.append(each)
    return tuple(found)


def rung(session: PlanningSession, owner: int, before: int, after: int) -> Rung:
    """One step, read by what it changes."""
    frees = units(session, session.maximal(0), owner, before, after)
    facts = dict(session.facts(session.identity(0).with_choice(owner, after)))[owner]
    if facts.is_eviction:
        return Rung(kind=RungKind.EVICT, choice=after, frees=frees)
    ended = facts.deleted - _deleted(session, owner, before)
    if ended:
        (checkpoint,) = ended
        frontiers = frontiers_tokens(session, owner)
        left = [t for ref, t in frontiers.items() if ref not in facts.deleted]
        if frontiers[checkpoint] > max(left):
            return Rung(kind=RungKind.SHORTEN, choice=after, frees=frees, frontier_tokens=max(left))
        return Rung(
            kind=RungKind.END_CHECKPOINT,
            choice=after,
            frees=frees,
            frontier_tokens=frontiers[checkpoint],
        )
    takes = any(frees[_AXES.index(axis)] < 0 for axis in _HOST)
    kind = RungKind.TO_HOST if takes else RungKind.DROP_REPLICA
    return Rung(kind=kind, choice=after, frees=frees)


def frontiers_tokens(session: PlanningSession, owner: int) -> dict[CheckpointRef, int]:
    """Where an owner's checkpoints are."""
    return {
        each.checkpoint: 0 if each.rebuild.prefill is None else each.rebuild.prefill.suffix_tokens
        for each in session.own_recoveries(owner, STAYS)
    }


def outcome_words(session: PlanningSession, owner: int, choice: int) -> str:
    """What becomes of an owner, in a few words."""
    if choice == STAYS:
        return RungKind.KEEP.value
    return ", ".join(map(str, merged(way_to(session, owner, choice))))


def candidate_words(session: PlanningSession, candidate: int) -> str:
    """Where a target starts from."""
    found = session.candidates[candidate]
    if found.source is None:
        return "from root"
    used = found.source.disposition is SourceDisposition.CONSUME
    how = "using it up" if used else "leaving it"
    return f"from owner {found.source.owner.id} at {found.reuse_tokens:,}, {how}"


def target_words(session: PlanningSession, target: TargetHandle) -> str:
    """A whole target in one line."""
    return "; ".join((candidate_words(session, target.candidate), *_changes(session, target)))


def _changes(session: PlanningSession, target: TargetHandle) -> Iterator[str]:
    changed = dict(session.facts(target))
    gone = [str(session.owners[o].id) for o, facts in changed.items() if facts.is_eviction]
    if gone:
        yield f"owner{'s' * (len(gone) > 1)} {', '.join(gone)} {RungKind.EVICT.value}"
    for owner, facts in changed.items():
        if not facts.is_eviction:
            words = outcome_words(session, owner, target.choices[owner])
            yield f"owner {session.owners[owner].id}: {words}"


def _deleted(session: PlanningSession, owner: int, choice: int) -> frozenset[CheckpointRef]:
    if choice == STAYS:
        return frozenset()
    return dict(session.facts(session.identity(0).with_choice(owner, choice)))[owner].deleted


def _device_units(found: Rung) -> int:
    return sum(found.freed(axis) for axis in _DEVICE)
