"""Where did everything lie at each moment of a run, and who referred to it? (W-3)

Owns the value that the placement map's view reads: for each moment which places have changed and to
what. Made from a recording, or from ledgers with words to each. Where a transition goes stage by
stage, each is the ledger as it was looked at there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ninfer_lab.contract.capacity import Axis, HostArenaGeometry, Occupancy
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.events import Event
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.target import Stage, StageName
from ninfer_lab.lab.explain import sentence
from ninfer_lab.lab.passed_stages import PassedStage, passed_stages
from ninfer_lab.lab.placement_places import (
    FREE,
    Mark,
    Panel,
    PlaceReader,
    panels_of,
)
from ninfer_lab.lab.recording.recording import Recording

_WORDS_LIMIT = 200
"""Characters of a moment's sentence; the rest stands in the recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementMoment:
    """The ledger after one of its changes.

    Attributes:
        event: Ordinal in the recording of what it was told before; of a stage, its own.
        changes: (cell, mark), for each place that is not as it was one moment before.
        phase: Of the open transition; empty while there is none.
        stages: Of the admission that it belongs to: every ordered stage with the occupancy that
            its plan has proved.
        stage: Which of them it shows.
    """

    event: int
    at_ns: int
    words: str
    occupancy: Occupancy
    changes: tuple[tuple[int, int], ...]
    phase: str = ""
    stages: tuple[Stage, ...] = ()
    stage: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementStory:
    """All moments of one run.

    Attributes:
        holders: (name, colour), by ordinal.
        marks: By ordinal; the first is a free place.
    """

    name: str
    panels: tuple[Panel, ...]
    holders: tuple[tuple[str, str], ...]
    marks: tuple[Mark, ...]
    moments: tuple[PlacementMoment, ...]

    @property
    def cells_count(self) -> int:
        """Places of all panels."""
        return self.panels[-1].first + self.panels[-1].places_count

    def cells_at(self, step: int) -> tuple[Mark, ...]:
        """Every place at a moment, replayed from the first.

        Raises:
            IndexError: No such moment.
        """
        if not 0 <= step < len(self.moments):
            raise IndexError(f"moment {step} of {len(self.moments)}")
        cells = [FREE] * self.cells_count
        for moment in self.moments[: step + 1]:
            for cell, mark in moment.changes:
                cells[cell] = self.marks[mark]
        return tuple(cells)

    def describe(self, step: int) -> str:
        """A moment in words: what has happened, and what each place holds, runs joined."""
        moment, cells = self.moments[step], self.cells_at(step)
        lines = [f"{step + 1} of {len(self.moments)}: {moment.words}"]
        if moment.phase:
            lines.append(f"a transition is open: {moment.phase}")
        for panel in self.panels:
            use = moment.occupancy.on(panel.axis)
            unit = " bytes" if panel.axis is Axis.HOST_KV else ""
            lines.append(f"{panel.title}: {use.used_count:,} of {use.capacity_count:,}{unit} used")
            lines += [
                f"  {_range(start, end)}: {self.words_of(mark)}"
                for start, end, mark in runs_of(cells[panel.first :][: panel.places_count])
                if mark != FREE
            ]
        return "\n".join(lines)

    def words_of(self, mark: Mark) -> str:
        """What lies in a place, and who refers to it."""
        if mark == FREE:
            return "free"
        if mark.is_held:
            return "held, and nothing is there yet"
        who = " and ".join(self.holders[each][0] for each in mark.holders) or "nobody"
        what = f"{mark.words}, " if mark.words else ""
        pin = ", pinned by a reader" if mark.is_pinned else ""
        return f"{what}{who}{pin}"


def story_of(recording: Recording) -> PlacementStory:
    """Every change of the ledger that a recording tells of, each with the event that follows it; a
    transition stage by stage.

    Raises:
        OptionsError: The run was recorded without its placements.
    """
    if not recording.has_placements:
        raise OptionsError(
            "recording",
            found="no placements",
            legal="a run recorded with RecordingOptions(placements=PlacementDetail.CHANGES)",
        )
    arena = recording.facts.options.capacity.host_kv
    return _story(recording.facts.world, arena, list(_told(recording)), {})


def story_of_ledgers(
    moments: Sequence[tuple[str, LedgerSnapshot]],
    arena: HostArenaGeometry,
    name: str,
    sessions: Mapping[OwnerId, str] | None = None,
) -> PlacementStory:
    """Ledgers that somebody has kept, each with what had been done.

    Args:
        arena: How the Host arena is divided; one without granules is not shown.
        sessions: Names of owners, beside their numbers.

    Raises:
        OptionsError: There is none.
    """
    if not moments:
        raise OptionsError("moments", found="none", legal="one ledger at least")
    told = [_Told(i, 0, words, ledger) for i, (words, ledger) in enumerate(moments)]
    return _story(name, arena, told, sessions or {})


@dataclass(frozen=True, slots=True)
class _Told:
    """One ledger, with what is known of it."""

    event: int
    at_ns: int
    words: str
    ledger: LedgerSnapshot
    stages: tuple[Stage, ...] = ()
    stage: int | None = None


def _told(recording: Recording) -> Iterator[_Told]:
    events, passed = recording.events, passed_stages(recording.events)
    for ordinal, ledger in recording.ledgers():
        event = min(ordinal + 1, len(events) - 1)
        speaker, stage = events[event], passed.get(ordinal)
        words = _words(speaker)
        if stage is not None and stage.name is StageName.COMMITTED and stage.ending is not None:
            words = _words(stage.ending)
        elif stage is not None and stage.is_new:
            event, words = ordinal, f"stage “{stage.name.value}”" + _before(stage)
        yield _Told(
            event=event,
            at_ns=events[ordinal].at_ns,
            words=words,
            ledger=ledger,
            stages=() if stage is None else stage.stages,
            stage=None if stage is None else stage.last,
        )


def _before(stage: PassedStage) -> str:
    return " of a transition" if stage.ending is None else f" before {_words(stage.ending)}"


def _words(event: Event) -> str:
    said = sentence(event, tells_use=False)
    return said if len(said) <= _WORDS_LIMIT else f"{said[: _WORDS_LIMIT - 1]}…"


def _story(
    name: str, arena: HostArenaGeometry, told: Sequence[_Told], sessions: Mapping[OwnerId, str]
) -> PlacementStory:
    panels = panels_of(told[0].ledger.occupancy, arena)
    reader = PlaceReader(panels, arena, sessions)
    moments: list[PlacementMoment] = []
    marks: dict[int, int] = {}
    for each in told:
        transition = each.ledger.transition
        now = {cell: reader.ordinal(mark) for cell, mark in reader.places(each.ledger)}
        changes = [(cell, mark) for cell, mark in now.items() if marks.get(cell) != mark]
        changes += [(cell, 0) for cell in marks.keys() - now.keys()]
        moments.append(
            PlacementMoment(
                event=each.event,
                at_ns=each.at_ns,
                words=each.words,
                occupancy=each.ledger.occupancy,
                changes=tuple(sorted(changes)),
                phase="" if transition is None else transition.phase.value,
                stages=each.stages,
                stage=each.stage,
            )
        )
        marks = now
    return PlacementStory(
        name=name,
        panels=panels,
        holders=tuple(reader.holders),
        marks=tuple(reader.marks),
        moments=tuple(moments),
    )


def runs_of(cells: Sequence[Mark]) -> Iterator[tuple[int, int, Mark]]:
    """Neighbours with the same in them: [start, end)."""
    start = 0
    for place in range(1, len(cells) + 1):
        if place == len(cells) or cells[place] != cells[start]:
            yield start, place, cells[start]
            start = place


def _range(start: int, end: int) -> str:
    return str(start) if end == start + 1 else f"{start}–{end - 1}"
