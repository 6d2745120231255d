"""Where does everything lie at one moment, and who refers to it?

Owns the map of every place: Device and Host slots, the pages of every pool, and the Host arena to
scale, holes included. A place is coloured by who refers to the content in it. Reads a snapshot
only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.capacity import NO_HOST_ARENA, Axis, AxisUse, HostArenaGeometry, KvPool
from ninfer_lab.contract.ids import KvPageId, OwnerId, StateImageId
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot
from ninfer_lab.lab import palette
from ninfer_lab.lab.picture import Picture

_Content = TypeVar("_Content", StateImageId, KvPageId)

PAGE_COLUMNS = 32
"""Pages of one line of a placement map."""

_SLOT_COLUMNS = 4
"""A slot is as wide as so many pages: it carries text."""

_KV_NOUNS = {KvPool.MAIN: "KV pages", KvPool.BACKEND: "backend KV pages"}


def placement(
    snapshot: ControllerSnapshot,
    *,
    arena: HostArenaGeometry = NO_HOST_ARENA,
    title: str | None = None,
) -> Picture:
    """Every place there is, coloured by who refers to what lies in it.

    A content that several refer to is drawn in stripes of their colours, on the Device and on the
    Host alike; what is promised to running requests but not yet mapped is counted above the pages.

    Args:
        snapshot: Of one engine.
        arena: How its Host arena is divided (`engine.options.capacity.host_kv`); without it the
            arena is not drawn.
        title: Above the legend.
    """
    map_of = _Map(snapshot)
    occupancy = snapshot.ledger.occupancy
    panels: list[tuple[float, _Draw]] = [(1.6, _Slots(map_of, occupancy.device_state))]
    if occupancy.host_state.capacity_count:
        panels.append((1.6, _Slots(map_of, occupancy.host_state)))
    for pool in KvPool:
        use = occupancy.on(Axis.of_device_pool(pool))
        if use.capacity_count:
            panels.append((max(1.0, 0.42 * _lines(use)), _Pages(map_of, pool, use)))
    if arena.granules_count:
        panels.append((1.0, _Arena(map_of, arena, occupancy.host_kv)))
    height = sum(ratio for ratio, _ in panels)
    figure = Picture(figsize=(9.5, 0.9 + 0.72 * height), layout="constrained")
    drawn = figure.subplots(len(panels), 1, height_ratios=[ratio for ratio, _ in panels])
    for axes, (_, panel) in zip(drawn, panels, strict=True):
        panel.draw(axes)
        axes.set_axis_off()
    handles = [Patch(color=holder.colour, label=holder.name) for holder in map_of.holders]
    handles.append(
        Patch(facecolor=palette.FREE_COLOUR, edgecolor=palette.EDGE_COLOUR, label="free")
    )
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=min(5, len(handles)),
        frameon=False,
        title=title,
    )
    return figure


@dataclass(frozen=True, slots=True, kw_only=True)
class _Holder:
    """Somebody who refers to contents or holds places, as the picture names it."""

    name: str
    colour: str


@dataclass(slots=True)
class _Map:
    """Who refers to each content, and everybody in order of appearance."""

    snapshot: ControllerSnapshot
    images: dict[StateImageId, list[_Holder]] = field(default_factory=dict)
    pages: dict[KvPool, dict[KvPageId, list[_Holder]]] = field(
        default_factory=lambda: {pool: {} for pool in KvPool}
    )
    holders: list[_Holder] = field(default_factory=list)

    def __post_init__(self) -> None:
        sessions = {entry.owner: entry.session_key for entry in self.snapshot.catalog}
        for owner in self.ledger.owners:
            holder = self._holder(
                _owner_name(owner.owner, sessions.get(owner.owner)),
                palette.owner_colour(owner.owner - 1),
            )
            self._refer_to_checkpoints(holder, owner.checkpoints)
        for sequence in self.ledger.sequences:
            holder = self._holder(f"running in lane {sequence.lane}", palette.RUNNING_COLOUR)
            for image in (sequence.write_image, sequence.read_image):
                if image is not None:
                    _refer(self.images, image, holder)
            for space in sequence.spaces:
                for page in space.pages:
                    _refer(self.pages[space.pool], page, holder)
            self._refer_to_checkpoints(holder, sequence.checkpoints)
        if self.ledger.transition is not None:
            self._holder("held for a copy", palette.RESERVED_COLOUR)

    @property
    def ledger(self) -> LedgerSnapshot:
        return self.snapshot.ledger

    def _holder(self, name: str, colour: str) -> _Holder:
        holder = _Holder(name=name, colour=colour)
        self.holders.append(holder)
        return holder

    def _refer_to_checkpoints(
        self, holder: _Holder, checkpoints: tuple[CheckpointPlacement, ...]
    ) -> None:
        for checkpoint in checkpoints:
            _refer(self.images, checkpoint.image, holder)
            for pool in KvPool:
                for page in checkpoint.pages_of(pool):
                    _refer(self.pages[pool], page, holder)

    def image_colours(self, image: StateImageId) -> list[str]:
        return [holder.colour for holder in self.images.get(image, [])]

    def page_colours(self, pool: KvPool, page: KvPageId) -> list[str]:
        return [holder.colour for holder in self.pages[pool].get(page, [])]

    def image_texts(self) -> dict[StateImageId, str]:
        """What stands in the slots of each image, beneath the slot's name."""
        texts: dict[StateImageId, str] = {}
        placed = [c for owner in self.ledger.owners for c in owner.checkpoints]
        for sequence in self.ledger.sequences:
            texts[sequence.write_image] = f"being written\nat {sequence.frontier_tokens}"
            placed += sequence.checkpoints
        for checkpoint in placed:
            kind = checkpoint.summary.kind.value.replace("_", " ")
            texts[checkpoint.image] = f"{kind}\nat {checkpoint.summary.frontier_tokens}"
        return texts


@dataclass(frozen=True, slots=True)
class _Slots:
    """One row of whole images."""

    map_of: _Map
    use: AxisUse

    def draw(self, axes: Axes) -> None:
        on_device = self.use.axis is Axis.DEVICE_STATE
        name = "slot" if on_device else "Host slot"
        texts = self.map_of.image_texts()
        found: dict[int, tuple[list[str], str]] = {}
        for each in self.map_of.ledger.images:
            place = each.device_slot if on_device else each.host_slot
            if place is not None:
                colours = self.map_of.image_colours(each.image)
                found[place] = (colours, texts.get(each.image, ""))
        transition = self.map_of.ledger.transition
        if transition is not None:
            held = transition.device_slots if on_device else transition.host_slots
            found |= {place: ([palette.RESERVED_COLOUR], "held") for place in held}
        for slot in range(self.use.capacity_count):
            colours, text = found.get(slot, ([], "free"))
            x = slot * _SLOT_COLUMNS
            _cell(axes, x, 0, _SLOT_COLUMNS - 0.2, colours)
            axes.text(x + 1.9, 0.45, f"{name} {slot}\n{text}", ha="center", va="center", fontsize=7)
        axes.set_xlim(-0.2, max(self.use.capacity_count * _SLOT_COLUMNS, PAGE_COLUMNS))
        axes.set_ylim(-0.1, 1.1)
        heading = "StateImage slots" if on_device else "StateImage slots on the Host"
        axes.set_title(heading, loc="left", fontsize=9)


@dataclass(frozen=True, slots=True)
class _Pages:
    """The Device pages of one pool, line by line."""

    map_of: _Map
    pool: KvPool
    use: AxisUse

    def draw(self, axes: Axes) -> None:
        found = {
            int(each.device_page): self.map_of.page_colours(self.pool, each.page)
            for each in self.map_of.ledger.pages_of(self.pool)
            if each.device_page is not None
        }
        transition = self.map_of.ledger.transition
        if transition is not None:
            held = transition.held_pages(self.pool)
            found |= {int(page): [palette.RESERVED_COLOUR] for page in held}
        for page in range(self.use.capacity_count):
            _cell(axes, page % PAGE_COLUMNS, -(page // PAGE_COLUMNS), 0.9, found.get(page, []))
        axes.set_xlim(-0.2, PAGE_COLUMNS)
        axes.set_ylim(-_lines(self.use) + 0.8, 1.1)
        reserved = f", {self.use.reserved_count} more promised" if self.use.reserved_count else ""
        axes.set_title(
            f"{_KV_NOUNS[self.pool]} of 64 tokens: {self.use.allocated_count} of"
            f" {self.use.capacity_count} in use{reserved}",
            loc="left",
            fontsize=9,
        )


@dataclass(frozen=True, slots=True)
class _Arena:
    """The Host arena from its first granule to its last: what decides is the longest hole."""

    map_of: _Map
    arena: HostArenaGeometry
    use: AxisUse

    def draw(self, axes: Axes) -> None:
        axes.add_patch(
            Rectangle(
                (0, 0),
                self.arena.granules_count,
                0.9,
                facecolor=palette.FREE_COLOUR,
                edgecolor=palette.EDGE_COLOUR,
                linewidth=0.6,
            )
        )
        extents = _joined(self._extents())
        for start, end, colours in extents:
            _cell(axes, start, 0, end - start, colours)
        edges = [0, *(edge for start, end, _ in extents for edge in (start, end))]
        edges.append(self.arena.granules_count)
        holes = [b - a for a, b in zip(edges[::2], edges[1::2], strict=True)]
        axes.set_xlim(-0.005 * self.arena.granules_count, self.arena.granules_count * 1.005)
        axes.set_ylim(-0.1, 1.1)
        axes.set_title(
            f"Host KV arena: {self.use.allocated_count:,} of {self.use.capacity_count:,} bytes in"
            f" use, {self.use.reserved_count:,} held, the largest hole"
            f" {max(holes) * self.arena.granule_bytes:,}",
            loc="left",
            fontsize=9,
        )

    def _extents(self) -> list[tuple[int, int, list[str]]]:
        return sorted(
            (
                each.host_granule,
                each.host_granule + self.arena.page_granules(pool),
                self.map_of.page_colours(pool, each.page),
            )
            for pool in KvPool
            for each in self.map_of.ledger.pages_of(pool)
            if each.host_granule is not None
        )


_Draw = _Slots | _Pages | _Arena


def _joined(extents: Iterable[tuple[int, int, list[str]]]) -> list[tuple[int, int, list[str]]]:
    """Neighbours of the same colours as one: a long context has thousands of pages."""
    joined: list[tuple[int, int, list[str]]] = []
    for start, end, colours in extents:
        if joined and joined[-1][1] == start and joined[-1][2] == colours:
            joined[-1] = (joined[-1][0], end, colours)
        else:
            joined.append((start, end, colours))
    return joined


def _refer(holders: dict[_Content, list[_Holder]], content: _Content, holder: _Holder) -> None:
    if holder not in holders.setdefault(content, []):
        holders[content].append(holder)


def _owner_name(owner: OwnerId, session: str | None) -> str:
    return f"owner {owner}" + ("" if session is None else f" (session {session})")


def _lines(use: AxisUse) -> int:
    return -(-use.capacity_count // PAGE_COLUMNS)


def _cell(axes: Axes, x: float, y: float, width: float, colours: Sequence[str]) -> None:
    """One unit, in as many stripes as it has holders."""
    height = 0.9
    shares = colours or [palette.FREE_COLOUR]
    for i, colour in enumerate(shares):
        stripe = height / len(shares)
        axes.add_patch(
            Rectangle((x, y + i * stripe), width, stripe, color=colour, linewidth=0, alpha=0.75)
        )
    axes.add_patch(
        Rectangle((x, y), width, height, fill=False, edgecolor=palette.EDGE_COLOUR, linewidth=0.6)
    )
