"""Where did everything lie at each moment of a run, and who referred to it? (W-3)

Owns the value that the placement map's view reads: every place there is, and for each moment which
places have changed and to what. Made from a recording, or from ledgers with words to each. What is
said of a transition's stages is the winning target's own account of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ninfer_lab.contract.capacity import Axis, Capacity, HostArenaGeometry, KvPool, Occupancy
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.events import RequestAdmitted
from ninfer_lab.contract.ids import KvPageId, StateImageId
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot, OpenTransition
from ninfer_lab.contract.target import Stage
from ninfer_lab.lab import palette
from ninfer_lab.lab.explain import sentence
from ninfer_lab.lab.recording.recording import Recording

_POOLS = {KvPool.MAIN: "KV pages", KvPool.BACKEND: "backend KV pages"}
_WORDS_LIMIT = 200
"""Characters of a moment's sentence; the rest stands in the recording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The places of one kind; place p of it is cell `first + p` of the map.

    Attributes:
        noun: One place.
        axis: What its use is counted on.
    """

    title: str
    noun: str
    axis: Axis
    first: int
    places_count: int


@dataclass(frozen=True, slots=True)
class Mark:
    """What lies in a place.

    Attributes:
        holders: Who refers to it, by ordinal; of a place that a transition holds, nobody yet.
        words: What it is; empty for a page.
        is_pinned: An active request is about to read it, and is not its owner.
    """

    holders: tuple[int, ...]
    words: str = ""
    is_held: bool = False
    is_pinned: bool = False


FREE = Mark(())
"""Nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The ledger after one of its changes.

    Attributes:
        event: Ordinal in the recording of what it was told before; else of the moment itself.
        changes: (cell, mark), for each place that is not as it was one moment before.
        phase: Of the open transition; empty while there is none.
        stages: Of the admission that it tells of: every ordered stage with its occupancy.
    """

    event: int
    at_ns: int
    words: str
    occupancy: Occupancy
    changes: tuple[tuple[int, int], ...]
    phase: str = ""
    stages: tuple[Stage, ...] = ()


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
            return "held for a copy that is under way"
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
        winner = speaker.report.winner if isinstance(speaker, RequestAdmitted) else None
        stages = () if winner is None else winner.stages
        told.append(_Told(ordinal + 1, speaker.at_ns, words, ledger, stages))
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
    told = [_Told(i, 0, words, ledger, ()) for i, (words, ledger) in enumerate(moments)]
    return _story(name, capacity, told)


@dataclass(frozen=True, slots=True)
class _Told:
    event: int
    at_ns: int
    words: str
    ledger: LedgerSnapshot
    stages: tuple[Stage, ...]


def _story(name: str, capacity: Capacity, told: Iterable[_Told]) -> PlacementStory:
    panels = _panels(capacity)
    reader = _Reader(panels, capacity.host_kv)
    moments, before = [], dict[int, int]()
    for each in told:
        now = {cell: reader.ordinal(mark) for cell, mark in reader.cells(each.ledger)}
        changes = [(cell, mark) for cell, mark in now.items() if before.get(cell) != mark]
        changes += [(cell, 0) for cell in before.keys() - now.keys()]
        transition = each.ledger.transition
        moments.append(
            Moment(
                event=each.event,
                at_ns=each.at_ns,
                words=each.words,
                occupancy=each.ledger.occupancy,
                changes=tuple(sorted(changes)),
                phase="" if transition is None else transition.phase.value,
                stages=each.stages,
            )
        )
        before = now
    return PlacementStory(
        name=name,
        panels=panels,
        holders=tuple(reader.holders),
        marks=tuple(reader.marks),
        moments=tuple(moments),
    )


def _panels(capacity: Capacity) -> tuple[Panel, ...]:
    """Those that this engine has, Device first."""
    wanted = [
        ("Device StateImage slots", "slot", Axis.DEVICE_STATE, capacity.device_state_slots),
        *(
            (f"Device {_POOLS[pool]}, 64 tokens each", "page", axis, capacity.of(axis))
            for pool in KvPool
            for axis in (Axis.of_device_pool(pool),)
        ),
        ("Host StateImage slots", "Host slot", Axis.HOST_STATE, capacity.host_state_slots),
        ("Host KV arena, to scale", "granule", Axis.HOST_KV, capacity.host_kv.granules_count),
    ]
    panels, first = [], 0
    for title, noun, axis, count in wanted:
        if count:
            panels.append(Panel(title=title, noun=noun, axis=axis, first=first, places_count=count))
            first += count
    return tuple(panels)


# ── one ledger, place by place ──────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Reader:
    """Gives every holder and every mark a number that stays."""

    panels: tuple[Panel, ...]
    arena: HostArenaGeometry
    holders: list[tuple[str, str]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=lambda: [FREE])
    _holders: dict[str, int] = field(default_factory=dict)
    _marks: dict[Mark, int] = field(default_factory=lambda: {FREE: 0})

    def ordinal(self, mark: Mark) -> int:
        found = self._marks.get(mark)
        if found is None:
            found = self._marks[mark] = len(self.marks)
            self.marks.append(mark)
        return found

    def cells(self, ledger: LedgerSnapshot) -> Iterator[tuple[int, Mark]]:
        """Every place that is not free."""
        firsts = {panel.axis: panel for panel in self.panels}
        images, pages = self._references(ledger)
        pinned = {s.read_image for s in ledger.sequences if s.borrowed_read}
        words = _image_words(ledger)
        for image in ledger.images:
            mark = Mark(
                tuple(images.get(image.image, ())),
                words.get(image.image, ""),
                is_pinned=image.image in pinned,
            )
            if image.device_slot is not None:
                yield firsts[Axis.DEVICE_STATE].first + image.device_slot, mark
            if image.host_slot is not None:
                yield firsts[Axis.HOST_STATE].first + image.host_slot, mark
        for pool in KvPool:
            for page in ledger.pages_of(pool):
                mark = Mark(tuple(pages.get((pool, page.page), ())))
                if page.device_page is not None:
                    yield firsts[Axis.of_device_pool(pool)].first + page.device_page, mark
                if page.host_granule is not None:
                    first = firsts[Axis.HOST_KV].first + page.host_granule
                    for granule in range(self.arena.page_granules(pool)):
                        yield first + granule, mark
        if ledger.transition is not None:
            for axis, place in _held(ledger.transition):
                yield firsts[axis].first + place, Mark((), is_held=True)

    def _references(
        self, ledger: LedgerSnapshot
    ) -> tuple[dict[StateImageId, list[int]], dict[tuple[KvPool, KvPageId], list[int]]]:
        """Who refers to each image and to each page, in order of appearance."""
        images: dict[StateImageId, list[int]] = {}
        pages: dict[tuple[KvPool, KvPageId], list[int]] = {}

        def refer(holder: int, checkpoints: tuple[CheckpointPlacement, ...]) -> None:
            for placed in checkpoints:
                _add(images.setdefault(placed.image, []), holder)
                for pool in KvPool:
                    for page in placed.pages_of(pool):
                        _add(pages.setdefault((pool, page), []), holder)

        for owner in ledger.owners:
            colour = palette.owner_colour(owner.owner - 1)
            refer(self._holder(f"owner {owner.owner}", colour), owner.checkpoints)
        for sequence in ledger.sequences:
            holder = self._holder(f"running in lane {sequence.lane}", palette.RUNNING_COLOUR)
            for image in (sequence.write_image, sequence.read_image):
                if image is not None:
                    _add(images.setdefault(image, []), holder)
            for space in sequence.spaces:
                for page in space.pages:
                    _add(pages.setdefault((space.pool, page), []), holder)
            refer(holder, sequence.checkpoints)
        return images, pages

    def _holder(self, name: str, colour: str) -> int:
        if name not in self._holders:
            self._holders[name] = len(self.holders)
            self.holders.append((name, colour))
        return self._holders[name]


def _add(holders: list[int], holder: int) -> None:
    if holder not in holders:
        holders.append(holder)


def _held(transition: OpenTransition) -> Iterator[tuple[Axis, int]]:
    """Places that a transition has taken for replicas that are not there yet."""
    yield from ((Axis.DEVICE_STATE, slot) for slot in transition.device_slots)
    yield from ((Axis.HOST_STATE, slot) for slot in transition.host_slots)
    for pool in KvPool:
        yield from ((Axis.of_device_pool(pool), page) for page in transition.held_pages(pool))


def _image_words(ledger: LedgerSnapshot) -> dict[StateImageId, str]:
    """What each image is a state of."""
    words = {}
    placed = [c for owner in ledger.owners for c in owner.checkpoints]
    for sequence in ledger.sequences:
        words[sequence.write_image] = "being written"
        placed += sequence.checkpoints
    for checkpoint in placed:
        kind = checkpoint.summary.kind.value.replace("_", " ")
        words[checkpoint.image] = f"{kind} at {checkpoint.summary.frontier_tokens:,}"
    return words


def runs_of(cells: Sequence[Mark]) -> Iterator[tuple[int, int, Mark]]:
    """Neighbours with the same in them: [start, end)."""
    start = 0
    for place in range(1, len(cells) + 1):
        if place == len(cells) or cells[place] != cells[start]:
            yield start, place, cells[start]
            start = place


def _range(start: int, end: int) -> str:
    return str(start) if end == start + 1 else f"{start}–{end - 1}"
