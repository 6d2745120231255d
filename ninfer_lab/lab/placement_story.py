"""Where did everything lie at each moment of a run, and who referred to it? (W-3)

Owns the value that the placement map's view reads: for each moment which places have changed and to
what. Made from a recording, or from ledgers with words to each. An admission is told stage by
stage; how much is used at each is the winning target's own account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ninfer_lab.contract.capacity import Axis, Capacity, Occupancy
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.events import RequestAdmitted
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.target import Stage, StageName
from ninfer_lab.lab.explain import sentence
from ninfer_lab.lab.placement_places import (
    FREE,
    HELD,
    Mark,
    Panel,
    Placed,
    PlaceReader,
    Places,
    panels_of,
)
from ninfer_lab.lab.recording.recording import Recording

_WORDS_LIMIT = 200
"""Characters of a moment's sentence; the rest stands in the recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The ledger after one of its changes.

    Attributes:
        event: Ordinal in the recording of what it was told before; else of the moment itself.
        changes: (cell, mark), for each place that is not as it was one moment before.
        phase: Of the open transition; empty while there is none.
        stages: Of the admission that it belongs to: every ordered stage with its occupancy.
        stage: Which of them this moment is, if it is one.
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
    moments: tuple[Moment, ...]

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
        if mark.is_held:
            return "held, and nothing is there yet"
        who = " and ".join(self.holders[each][0] for each in mark.holders) or "nobody"
        what = f"{mark.words}, " if mark.words else ""
        pin = ", pinned by a reader" if mark.is_pinned else ""
        return f"{what}{who}{pin}"


def story_of(recording: Recording) -> PlacementStory:
    """Every change of the ledger that a recording tells of, each with the event that follows it.

    Raises:
        OptionsError: The run was recorded without its placements.
    """
    if not recording.has_placements:
        raise OptionsError(
            "recording",
            found="no placements",
            legal="a run recorded with RecordingOptions(placements=PlacementDetail.CHANGES)",
        )
    events = recording.events
    told = []
    for ordinal, ledger in recording.ledgers():
        speaker = events[min(ordinal + 1, len(events) - 1)]
        words = sentence(speaker).partition(". Now ")[0][:_WORDS_LIMIT]
        admitted = speaker if isinstance(speaker, RequestAdmitted) else None
        told.append(_Told(ordinal + 1, speaker.at_ns, words, ledger, admitted))
    return _story(recording.facts.world, recording.facts.options.capacity, told)


def story_of_ledgers(
    moments: Sequence[tuple[str, LedgerSnapshot]], capacity: Capacity, name: str
) -> PlacementStory:
    """Ledgers that somebody has kept, each with what had been done.

    Raises:
        OptionsError: There is none.
    """
    if not moments:
        raise OptionsError("moments", found="none", legal="one ledger at least")
    told = [_Told(i, 0, words, ledger, None) for i, (words, ledger) in enumerate(moments)]
    return _story(name, capacity, told)


@dataclass(frozen=True, slots=True)
class _Told:
    event: int
    at_ns: int
    words: str
    ledger: LedgerSnapshot
    admitted: RequestAdmitted | None


def _story(name: str, capacity: Capacity, told: Iterable[_Told]) -> PlacementStory:
    panels = panels_of(capacity)
    reader = PlaceReader(panels, capacity.host_kv)
    moments: list[Moment] = []
    marks, before, was_open = dict[int, int](), Places(), False

    def add(places: Places, moment: Moment) -> None:
        nonlocal marks
        now = {cell: reader.ordinal(placed.mark) for cell, placed in places.items()}
        changes = [(cell, mark) for cell, mark in now.items() if marks.get(cell) != mark]
        changes += [(cell, 0) for cell in marks.keys() - now.keys()]
        moments.append(replace(moment, changes=tuple(sorted(changes))))
        marks = now

    for each in told:
        now, transition = reader.places(each.ledger), each.ledger.transition
        moment = Moment(
            event=each.event,
            at_ns=each.at_ns,
            words=each.words,
            occupancy=each.ledger.occupancy,
            changes=(),
            phase="" if transition is None else transition.phase.value,
            stages=_stages(each.admitted),
        )
        if each.admitted is not None and moment.stages and not was_open:
            names = [holder for holder, _ in reader.holders]
            for i, stage, places in staged(each.admitted, before, now, names, reader.is_host):
                said = f"stage “{stage.name.value}” before {each.words}"
                add(places, replace(moment, words=said, occupancy=stage.occupancy, stage=i))
        last = len(moment.stages) - 1 if moment.stages else None
        add(now, replace(moment, stage=last))
        before, was_open = now, transition is not None
    return PlacementStory(
        name=name,
        panels=panels,
        holders=tuple(reader.holders),
        marks=tuple(reader.marks),
        moments=tuple(moments),
    )


def _stages(admitted: RequestAdmitted | None) -> tuple[Stage, ...]:
    winner = None if admitted is None else admitted.report.winner
    return () if winner is None else winner.stages


def staged(
    admitted: RequestAdmitted,
    before: Places,
    after: Places,
    holders: Sequence[str],
    is_host: Callable[[int], bool],
) -> Iterator[tuple[int, Stage, Places]]:
    """The stages between the ledgers before and after an admission that copied nothing between the
    tiers: what each has let go and holds follows from the two. (With copies, the ledger itself was
    recorded at its stages.)

    Yields:
        Its ordinal, the stage with its occupancy, and every place then.
    """
    winner = admitted.report.winner
    assert winner is not None
    ordinals = {name: i for i, name in enumerate(holders)}
    gone = {ordinals.get(f"owner {owner}") for owner in winner.evicted}
    less = {ordinals.get(f"owner {owner}") for owner in winner.degraded}
    released: Places = {}
    for cell, placed in before.items():
        still = tuple(h for h in placed.mark.holders if h not in gone)
        kept = after.get(cell)
        is_same = kept is not None and kept.content == placed.content
        if still and (is_same or not less.issuperset(still)):
            released[cell] = Placed(replace(placed.mark, holders=still), placed.content)
    destined: Places = {}
    for cell in released.keys() | after.keys():
        was, comes = released.get(cell), after.get(cell)
        if was is not None and comes is not None and was.content == comes.content:
            destined[cell] = was
        elif comes is not None:
            destined[cell] = Placed(HELD, None)
        elif was is not None and is_host(cell):
            destined[cell] = was
    by_name = {StageName.RELEASED: released, StageName.DESTINATIONS_RESERVED: destined}
    for i, stage in enumerate(winner.stages):
        if stage.name in by_name:
            yield i, stage, by_name[stage.name]


def runs_of(cells: Sequence[Mark]) -> Iterator[tuple[int, int, Mark]]:
    """Neighbours with the same in them: [start, end)."""
    start = 0
    for place in range(1, len(cells) + 1):
        if place == len(cells) or cells[place] != cells[start]:
            yield start, place, cells[start]
            start = place


def _range(start: int, end: int) -> str:
    return str(start) if end == start + 1 else f"{start}–{end - 1}"
