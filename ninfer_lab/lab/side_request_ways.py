"""Which of the four ways out helps when?

Owns the sweep over every combination of them and the published decision table as something that is
run. Reads runs and what they tell; decides nothing. Source: the second seed, its decision table.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import combinations, product

from ninfer_lab.contract.events import OwnerPublished, RequestAdmitted
from ninfer_lab.contract.ids import LaneId
from ninfer_lab.lab.side_requests import (
    Group,
    Lengths,
    SideRun,
    side_run,
    text_table,
)
from ninfer_lab.policies.lane_owned.switches import EvictionOrder, LaneKey, LaneSwitches
from ninfer_lab.policies.lane_owned.trace import Destruction, Lost

REGISTRY_ENTRIES_COUNT = 4


class WayOut(Enum):
    """The four, by their published numbers."""

    POSTFIX = "1 postfix"
    """The client's: the title is asked as one more message of the conversation."""
    PRESERVE_EXISTING = "2 PreserveExisting"
    DETACHED_REGISTRY = "3 detached registry"
    LANE_SELECTION = "4 lane selection"


Ways = frozenset[WayOut]


def switches_of(ways: Iterable[WayOut]) -> LaneSwitches:
    """The engine's part of some ways out."""
    taken = frozenset(ways)
    selects = WayOut.LANE_SELECTION in taken
    return LaneSwitches(
        preserves_existing=WayOut.PRESERVE_EXISTING in taken,
        detached_entries_count=REGISTRY_ENTRIES_COUNT if WayOut.DETACHED_REGISTRY in taken else 0,
        lane_key=LaneKey.REUSE_THEN_DESTRUCTION if selects else LaneKey.REUSE,
        eviction_order=EvictionOrder.RETENTION if selects else EvictionOrder.LANE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WayRun:
    """One combination, run.

    Attributes:
        shape: Of the title: `TITLE` by a prompt of its own, `POSTFIX` at the conversation's end.
        is_flagged: Whether the title said that it is one.
    """

    ways: Ways
    shape: Group
    is_flagged: bool
    side: SideRun

    @property
    def lanes_count(self) -> int:
        """Of the engine."""
        return self.side.lanes_count

    @property
    def pages_alive(self) -> bool:
        """Whether the title left the conversation's pages where they were (DES-1)."""
        return not any(each.lost is Lost.PAGES for each in self._destroyed_by_title)

    @property
    def pivot_alive(self) -> bool:
        """Whether it left what the next turn resumes from, fingerprint and all (DES-2, DES-3)."""
        return not self._destroyed_by_title

    @property
    def title_lane(self) -> LaneId:
        """Where the title ran."""
        title = self.side.told[1][1].request
        admitted = (e for e in self.side.run.events if isinstance(e, RequestAdmitted))
        return next(event.lane for event in admitted if event.request == title)

    @property
    def reused_tokens(self) -> int:
        """Of turn 2."""
        return self.side.last_turn.cached_tokens

    @property
    def helps(self) -> bool:
        """Whether turn 2 found its prefix."""
        return self.reused_tokens > 0

    @property
    def _destroyed_by_title(self) -> tuple[Destruction, ...]:
        """What of the conversation the title took."""
        first, title = (told.request for _, told in self.side.told[:2])
        left = (e for e in self.side.run.events if isinstance(e, OwnerPublished))
        owner = next(event.owner for event in left if event.request == first)
        return tuple(
            each
            for each in self.side.trace.destructions
            if (each.request, each.owner) == (title, owner)
        )


def way_run(
    ways: Iterable[WayOut],
    *,
    lanes_count: int = 1,
    shape: Group | None = None,
    is_flagged: bool = True,
    lengths: Lengths = Lengths.PUBLISHED,
) -> WayRun:
    """Runs one combination.

    Args:
        shape: Of the title as a third party fixes it; by default as the first way decides.
        is_flagged: Whether the title can say that it is one.
    """
    taken = frozenset(ways)
    if shape is None:
        shape = Group.POSTFIX if WayOut.POSTFIX in taken else Group.TITLE
    side = side_run(
        shape,
        switches_of(taken),
        name=name_of(taken),
        lanes_count=lanes_count,
        lengths=lengths,
        is_flagged=is_flagged,
    )
    return WayRun(ways=taken, shape=shape, is_flagged=is_flagged, side=side)


def name_of(ways: Ways) -> str:
    """As tables call a combination."""
    return " + ".join(sorted(way.value for way in ways)) or "as it was"


def every_combination() -> tuple[Ways, ...]:
    """All sixteen, the smaller first."""
    return tuple(frozenset(few) for size in range(5) for few in combinations(WayOut, size))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WaySweep:
    """Every combination, lane count and flag."""

    runs: tuple[WayRun, ...]

    def __str__(self) -> str:
        head = ("lanes", "ways out", "flag", "pages alive", "pivot alive", "turn 2 reuses")
        rows = [
            (
                str(run.lanes_count),
                name_of(run.ways),
                _yes(run.is_flagged),
                _yes(run.pages_alive),
                _yes(run.pivot_alive),
                str(run.reused_tokens),
            )
            for run in self.runs
        ]
        return text_table(head, rows)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def sweep(lengths: Lengths = Lengths.PUBLISHED) -> WaySweep:
    """Both lane counts, all combinations, with the flag and without."""
    from tqdm import tqdm

    wanted = list(product((1, 2), (True, False), every_combination()))
    return WaySweep(
        runs=tuple(
            way_run(ways, lanes_count=lanes_count, lengths=lengths, is_flagged=is_flagged)
            for lanes_count, is_flagged, ways in tqdm(wanted, unit="run", leave=False)
        )
    )


# ── the decision table ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line of the published table, for one lane count.

    Attributes:
        prompt_by: Who builds the title's prompt: the first question.
        shape: What it then looks like.
        is_flagged: Whether it may say that it is a side request.
        ways: What the table advises.
    """

    prompt_by: str
    shape: Group
    is_flagged: bool
    lanes_count: int
    ways: Ways


def _cases() -> tuple[Case, ...]:
    ours, theirs = "client or server", "a third party"
    both = frozenset((WayOut.POSTFIX, WayOut.PRESERVE_EXISTING))
    preserve = frozenset((WayOut.PRESERVE_EXISTING,))
    last = {
        1: frozenset((WayOut.DETACHED_REGISTRY,)),
        2: frozenset((WayOut.LANE_SELECTION,)),
    }
    rows = [
        (ours, Group.POSTFIX, True, both, both),
        (theirs, Group.TITLE, False, last[1], last[2]),
        (theirs, Group.POSTFIX, True, preserve, preserve),
        (theirs, Group.POSTFIX, False, last[1], last[2]),
    ]
    return tuple(
        Case(prompt_by=by, shape=shape, is_flagged=flag, lanes_count=lanes_count, ways=ways)
        for by, shape, flag, at_one, at_two in rows
        for lanes_count, ways in ((1, at_one), (2, at_two))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A case, and what came of following it.

    Attributes:
        without: The same title with nothing done about it.
        run: With what is advised.
    """

    case: Case
    without: WayRun
    run: WayRun

    @property
    def said(self) -> str:
        """Whether the advice holds, and if not why not."""
        if self.run.helps:
            return "holds"
        if self.run.pages_alive and not self.run.pivot_alive:
            where = f"it wins lane {self.run.title_lane} by reuse and replaces the pivot"
            return f"does not: no full reset, so nothing is detached; {where}"
        return "does not"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DecisionTable:
    """The published advice, carried out."""

    decisions: tuple[Decision, ...]

    def __str__(self) -> str:
        head = ("prompt by", "pages", "flag", "lanes", "advised", "turn 2 reuses", "advice")
        rows = [
            (
                each.case.prompt_by,
                "alive" if each.without.pages_alive else "returned",
                _yes(each.case.is_flagged),
                str(each.case.lanes_count),
                name_of(each.case.ways),
                f"{each.without.reused_tokens} → {each.run.reused_tokens}",
                each.said,
            )
            for each in self.decisions
        ]
        return text_table(head, rows)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def decision_table(lengths: Lengths = Lengths.PUBLISHED) -> DecisionTable:
    """Runs every case of the published table, with its advice and without."""
    decisions = []
    for case in _cases():

        def run(ways: Ways, case: Case = case) -> WayRun:
            return way_run(
                ways,
                lanes_count=case.lanes_count,
                shape=case.shape,
                is_flagged=case.is_flagged,
                lengths=lengths,
            )

        decisions.append(Decision(case=case, without=run(frozenset()), run=run(case.ways)))
    return DecisionTable(decisions=tuple(decisions))


def _yes(value: bool) -> str:
    return "yes" if value else "no"
