"""Which stage of which plan does an event of a run show? (W-3, STG-1)

Owns the joining of what a transition passed through with what was planned: the ledger tells at
every stage that it was reached; the admission, the abort or the shared prefix at the end tells the
plan. Where ledgers were not recorded the end stands for all stages of its plan. Reads events only.
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
from ninfer_lab.contract.shared_report import SharedCaptureTold, SharedOutcome
from ninfer_lab.contract.target import Stage, StageName

Ending = RequestAdmitted | TransitionEnded | CaptureTried | SharedCaptureEnded
"""What tells how a transition has ended, with the target that was chosen for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedStage:
    """What one event shows of a transition.

    Attributes:
        name: The stage reached by then.
        is_new: No earlier event of the run shows it.
        ending: Of the transition; `None` where a run stops before.
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
    """By ordinal: every ledger that was told while a transition was open or shows what it has come
    to, and every event that tells of a commit.
    """
    found: dict[int, PassedStage] = {}
    reached: dict[TransactionId, StageName] = {}
    told: dict[TransactionId, list[int]] = {}
    settled: int | None = None
    for ordinal, event in enumerate(events):
        match event:
            case LedgerChanged(change=change) if change.transition is not None:
                open_one, name = change.transition.transaction, change.transition.stage
                is_new = reached.get(open_one) is not name
                found[ordinal] = PassedStage(name=name, is_new=is_new)
                reached[open_one] = name
                told.setdefault(open_one, []).append(ordinal)
                settled = None
            case LedgerChanged():
                settled = ordinal
            case TransitionEnded() if event.report is None:
                pass  # its admission follows, and tells the plan
            case _:
                if (ending := _ending(event)) is not None:
                    # What is captured where a request starts ends after its admission.
                    ledgers = told.pop(next(iter(told)), []) if told else []
                    found.update(_planned(found, ledgers, ending))
                    if _commits(ending):
                        end = _committed(ending, is_told=bool(ledgers))
                        found[ordinal] = end
                        if settled is not None:
                            found[settled] = replace(end, is_new=False, first=end.last)
                settled = None
    return found


def _ending(event: Event) -> Ending | None:
    """The event, if a transition has ended with it."""
    match event:
        case RequestAdmitted() | TransitionEnded():
            return event
        case CaptureTried(result=result):
            shared = result.shared
        case SharedCaptureEnded(told=shared):
            pass
        case _:
            return None
    has_ended = (
        shared is not None and shared.stages and shared.outcome is not SharedOutcome.UNDER_WAY
    )
    return event if has_ended else None


def _commits(ending: Ending) -> bool:
    match ending:
        case RequestAdmitted():
            return True
        case TransitionEnded():
            return False
        case _:
            return _shared(ending).outcome is SharedOutcome.PUBLISHED


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


def _committed(ending: Ending, *, is_told: bool) -> PassedStage:
    """The end of a plan; all of it, where nothing before has told a stage."""
    stages = _stages(ending)
    last = len(stages) - 1 if stages else None
    first = last if is_told or last is None else 0
    return PassedStage(
        name=StageName.COMMITTED, is_new=True, ending=ending, stages=stages, first=first, last=last
    )


def _stages(ending: Ending) -> tuple[Stage, ...]:
    if isinstance(ending, CaptureTried | SharedCaptureEnded):
        return _shared(ending).stages
    winner = None if ending.report is None else ending.report.winner
    return () if winner is None else winner.stages


def _shared(ending: CaptureTried | SharedCaptureEnded) -> SharedCaptureTold:
    told = ending.told if isinstance(ending, SharedCaptureEnded) else ending.result.shared
    assert told is not None, "an ending of a shared capture tells of one"
    return told
