"""What does the engine's past and present look like on paper?

Owns the matplotlib figures of a run: occupancy over forwards, and the placement of every slot and
page at one moment. Reads events and snapshots only; a figure says its units, names its colours, and
needs no kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.events import Event, ForwardRan
from ninfer_lab.contract.ids import OwnerId, PageId, RequestId, StateSlotId
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.lab import palette

PAGE_COLUMNS = 32
"""Pages of one line of a placement map."""

PICTURE_DPI = 110


class Picture(Figure):
    """A figure that a notebook shows by itself, without pyplot's global state."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=PICTURE_DPI)
        return buffer.getvalue()


def occupancy(events: Iterable[Event], *, title: str | None = None) -> Picture:
    """State slots and KV pages in use after every forward, with the request each forward served.

    Args:
        events: Of one engine, in order.
    """
    ran = [event for event in events if isinstance(event, ForwardRan)]
    figure = Picture(figsize=(9.5, 4.6), layout="constrained")
    states, pages, work = figure.subplots(3, 1, sharex=True, height_ratios=(3, 5, 1.1))
    x = range(len(ran))
    state = [event.occupancy.device_state for event in ran]
    kv = [event.occupancy.device_kv for event in ran]
    _steps(states, x, [use.allocated_count for use in state], [0] * len(ran))
    _steps(pages, x, [use.allocated_count for use in kv], [use.reserved_count for use in kv])
    for axes, uses, noun in ((states, state, "state slots"), (pages, kv, "KV pages")):
        if uses:
            capacity = uses[-1].capacity_count
            axes.axhline(capacity, color=palette.CAPACITY_COLOUR, linewidth=1.2)
            axes.set_ylim(0, capacity * 1.12)
        axes.set_ylabel(noun)
        axes.spines[["top", "right"]].set_visible(False)
        axes.yaxis.get_major_locator().set_params(integer=True)
    _work_strip(work, ran)
    figure.legend(
        handles=[
            Patch(color=palette.ALLOCATED_COLOUR, label="allocated"),
            Patch(color=palette.RESERVED_COLOUR, label="reserved for running requests"),
            Patch(color=palette.CAPACITY_COLOUR, label="capacity"),
            Patch(color=palette.PREFILL_COLOUR, label="prefill"),
            Patch(color=palette.DECODE_COLOUR, label="decode"),
        ],
        loc="outside upper center",
        ncols=5,
        frameon=False,
        title=title,
    )
    return figure


def _steps(axes: Axes, x: Sequence[int], allocated: list[int], reserved: list[int]) -> None:
    total = [a + r for a, r in zip(allocated, reserved, strict=True)]
    axes.fill_between(x, allocated, step="mid", color=palette.ALLOCATED_COLOUR, linewidth=0)
    axes.fill_between(x, total, allocated, step="mid", color=palette.RESERVED_COLOUR, linewidth=0)


def _work_strip(axes: Axes, ran: Sequence[ForwardRan]) -> None:
    """One coloured tick per forward, and each request's number where it starts."""
    seen: set[RequestId] = set()
    for ordinal, event in enumerate(ran):
        prefill = event.phase is ForwardPhase.PREFILL
        colour = palette.PREFILL_COLOUR if prefill else palette.DECODE_COLOUR
        axes.add_patch(Rectangle((ordinal - 0.5, 0), 1, 1, color=colour, linewidth=0))
        for row in event.rows:
            if row.request not in seen:
                seen.add(row.request)
                axes.annotate(
                    f"request {row.request}",
                    (ordinal - 0.5, 1.0),
                    xytext=(1, 2),
                    textcoords="offset points",
                    fontsize=8,
                    color=palette.TEXT_COLOUR,
                )
                for other in axes.figure.axes:
                    other.axvline(
                        ordinal - 0.5, color=palette.EDGE_COLOUR, linewidth=0.6, alpha=0.6
                    )
    axes.set_xlim(-0.5, max(len(ran), 1) - 0.5)
    axes.set_ylim(0, 1.9)
    axes.set_yticks([])
    axes.set_xlabel("forward of the machine, in order")
    axes.spines[["top", "right", "left"]].set_visible(False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Holder:
    """Somebody who refers to slots and pages, as the picture names it."""

    name: str
    colour: str


def placement(snapshot: ControllerSnapshot, *, title: str | None = None) -> Picture:
    """Every state slot and every KV page, coloured by who refers to it.

    A unit that several refer to is drawn in stripes of their colours; a dashed outline is a slot or
    page a running request writes; what is promised to running requests but not yet mapped is
    counted below.
    """
    slots, pages, holders = _references(snapshot)
    capacity_slots = snapshot.ledger.occupancy.device_state.capacity_count
    kv = snapshot.ledger.occupancy.device_kv
    lines = -(-kv.capacity_count // PAGE_COLUMNS)
    figure = Picture(figsize=(9.5, 2.4 + 0.28 * lines), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=(1.6, max(1.0, 0.42 * lines)))
    labels = _slot_labels(snapshot)
    for slot in range(capacity_slots):
        _cell(top, slot * 4, 0, 3.8, [h.colour for h in slots.get(StateSlotId(slot), [])])
        text = labels.get(StateSlotId(slot), f"slot {slot}\nfree")
        top.text(slot * 4 + 1.9, 0.5, text, ha="center", va="center", fontsize=7.5)
    top.set_xlim(-0.2, max(capacity_slots * 4, PAGE_COLUMNS))
    for page in range(kv.capacity_count):
        column, line = page % PAGE_COLUMNS, page // PAGE_COLUMNS
        _cell(bottom, column, -line, 0.9, [h.colour for h in pages.get(PageId(page), [])])
    bottom.set_xlim(-0.2, PAGE_COLUMNS)
    bottom.set_ylim(-lines + 0.8, 1.1)
    top.set_ylim(-0.1, 1.1)
    top.set_title("StateImage slots", loc="left", fontsize=9)
    reserved = f", {kv.reserved_count} more promised" if kv.reserved_count else ""
    bottom.set_title(
        f"KV pages of 64 tokens: {kv.allocated_count} of {kv.capacity_count} in use{reserved}",
        loc="left",
        fontsize=9,
    )
    for axes in (top, bottom):
        axes.set_axis_off()
    handles = [Patch(color=holder.colour, label=holder.name) for holder in holders]
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


def _references(
    snapshot: ControllerSnapshot,
) -> tuple[dict[StateSlotId, list[_Holder]], dict[PageId, list[_Holder]], list[_Holder]]:
    """Who refers to each slot and page, and everybody in order of appearance."""
    slots: dict[StateSlotId, list[_Holder]] = {}
    pages: dict[PageId, list[_Holder]] = {}
    holders: list[_Holder] = []
    sessions = {entry.owner: entry.session_key for entry in snapshot.catalog}

    def refer(holder: _Holder, slot: StateSlotId | None, covered: Iterable[PageId]) -> None:
        if slot is not None and holder not in slots.setdefault(slot, []):
            slots[slot].append(holder)
        for page in covered:
            if holder not in pages.setdefault(page, []):
                pages[page].append(holder)

    for owner in snapshot.ledger.owners:
        holder = _Holder(
            name=_owner_name(owner.owner, sessions.get(owner.owner)),
            colour=palette.owner_colour(owner.owner - 1),
        )
        holders.append(holder)
        for checkpoint in owner.checkpoints:
            refer(holder, checkpoint.state_slot, checkpoint.pages)
    for sequence in snapshot.ledger.sequences:
        holder = _Holder(name=f"running in lane {sequence.lane}", colour=palette.RUNNING_COLOUR)
        holders.append(holder)
        refer(holder, sequence.state_write_slot, sequence.pages)
        refer(holder, sequence.state_read_slot, ())
        for checkpoint in sequence.checkpoints:
            refer(holder, checkpoint.state_slot, checkpoint.pages)
    return slots, pages, holders


def _owner_name(owner: OwnerId, session: str | None) -> str:
    return f"owner {owner}" + ("" if session is None else f" (session {session})")


def _slot_labels(snapshot: ControllerSnapshot) -> dict[StateSlotId, str]:
    labels: dict[StateSlotId, str] = {}
    placed = [c for owner in snapshot.ledger.owners for c in owner.checkpoints]
    placed += [c for sequence in snapshot.ledger.sequences for c in sequence.checkpoints]
    for sequence in snapshot.ledger.sequences:
        labels[sequence.state_write_slot] = (
            f"slot {sequence.state_write_slot}\nbeing written\nat {sequence.frontier_tokens}"
        )
    for checkpoint in placed:
        kind = checkpoint.summary.kind.value.replace("_", " ")
        frontier = checkpoint.summary.frontier_tokens
        labels[checkpoint.state_slot] = f"slot {checkpoint.state_slot}\n{kind}\nat {frontier}"
    return labels


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
