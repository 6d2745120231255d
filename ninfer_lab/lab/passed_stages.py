"""Which stage of which plan does an event of a run show? (W-3, STG-1)

Owns the joining of what a transition passed through with what was planned: the ledger tells at
every stage that it was reached, the admission or the abort at the end tells the plan. Where ledgers
were not recorded the end stands for all stages of its plan. Reads events only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ninfer_lab.contract.events import (
    CaptureTried,
    Event,
    LedgerChanged,
    RequestAdmitted,
    SharedCaptureEnded,
    TransitionEnded,
)
from ninfer_lab.contract.ids import TransactionId
from ninfer_lab.contract.target import Stage, StageName

Ending = RequestAdmitted | TransitionEnded
"""What tells how an admission has ended, with the target it had chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedStage:
    """What one event shows of a transition.

    Attributes:
        name: The stage reached by then.
        is_new: No earlier event of the run shows it.
        ending: Of the admission; `None` of a capture's transition, and where a run stops before.
        stages: All of the plan, with what is used at each; none where they are not told.
        first: Ordinal of the first stage that this event shows.
        last: And of the last; `None` where the plan is not told.
    """

    name: StageName
    is_new: bool
    ending: Ending | None = None
    stages: tuple[Stage, ...] = ()
    first: int | None = None
    last: int | None = None


def passed_stages(events: Sequence[Event]) -> dict[int, PassedStage]:
    """By ordinal: every ledger that was told while a transition was open, and every admission."""
    found: dict[int, PassedStage] = {}
    told: dict[TransactionId, list[int]] = {}
    for ordinal, event in enumerate(events):
        match event:
            case LedgerChanged(change=change) if change.transition is not None:
                name = change.transition.stage
                before = told.setdefault(change.transition.transaction, [])
                is_new = not before or found[before[-1]].name is not name
                found[ordinal] = PassedStage(name=name, is_new=is_new)
                before.append(ordinal)
            case RequestAdmitted() | TransitionEnded() if event.report is not None:
                # What is captured where a request starts is told before it: the first is its own.
                own = next(iter(told.values()), [])
                found.update(_planned(found, own, event))
                if isinstance(event, RequestAdmitted):
                    found[ordinal] = _admitted(event, is_told=bool(own))
                told.clear()
            case CaptureTried() | SharedCaptureEnded():
                told.clear()
            case _:
                continue
    return found


def _planned(
    found: dict[int, PassedStage], ordinals: Sequence[int], ending: Ending
) -> Iterator[tuple[int, PassedStage]]:
    """The stages that one transition has passed, each with its place in the plan."""
    stages = _stages(ending)
    places = {stage.name: i for i, stage in enumerate(stages)}
    for ordinal in ordinals:
        place = places.get(found[ordinal].name)
        passed = replace(found[ordinal], ending=ending, stages=stages, first=place, last=place)
        yield ordinal, passed


def _admitted(event: RequestAdmitted, *, is_told: bool) -> PassedStage:
    """The end of a plan; all of it, where nothing before has told a stage."""
    stages = _stages(event)
    last = len(stages) - 1 if stages else None
    first = last if is_told or last is None else 0
    return PassedStage(
        name=StageName.COMMITTED, is_new=True, ending=event, stages=stages, first=first, last=last
    )


def _stages(ending: Ending) -> tuple[Stage, ...]:
    winner = None if ending.report is None else ending.report.winner
    return () if winner is None else winner.stages
