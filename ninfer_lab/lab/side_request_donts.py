"""What about the obvious remedies that are none?

Owns the five that the second seed advises against, each carried out, so that it can be seen why.
Reads runs alone.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

from ninfer_lab.contract.events import RequestAdmitted
from ninfer_lab.lab import worlds
from ninfer_lab.lab.side_requests import Group, SideRun, side_run, tell, text_table
from ninfer_lab.lab.world import Machine
from ninfer_lab.policies.lane_owned.switches import LaneSwitches
from ninfer_lab.policies.longest_prefix import longest_prefix

LANES_TRIED = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Remedy:
    """One of them, tried.

    Attributes:
        what: What is done.
        columns: What was looked at.
        rows: What was seen, with what it is compared with first.
        why: Why it is no remedy.
    """

    what: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]
    why: str

    def __str__(self) -> str:
        rows = [tuple(map(str, row)) for row in self.rows]
        return "\n".join((self.what, text_table(self.columns, rows), f"→ {self.why}"))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def pages_alone() -> Remedy:
    """Goes on from the longest common prefix in whole pages, on real tensors (NOT-1)."""
    world = worlds.named("side-request-recall")
    rows = []
    for name, design in (("lane-owned", LaneSwitches()), ("longest prefix", longest_prefix)):
        side = tell(world, Group.POSTFIX, design, name=name, machine=Machine.TORCH)
        answer = side.told[-1][1].outcome.answer.content
        rows.append((name, side.last_turn.prompt_tokens, side.last_turn.cached_tokens, answer))
    return Remedy(
        what="reuse the longest common prefix, page by page",
        columns=("design", "prompt tokens of turn 2", "of them reused", "what it answers"),
        rows=tuple(rows),
        why="the pages are there, and no state that has read them: the answer is wrong",
    )


def put_off() -> Remedy:
    """Asks for the title a turn later (NOT-2)."""
    early = side_run(Group.TITLE)
    late = tell(worlds.named("side-request-late"), Group.TITLE)
    rows = tuple(
        (name, *(f"{each.request}: {each.cached_tokens}" for each in side.observed))
        for name, side in (("at once", early), ("a turn later", late))
    )
    width = max(map(len, rows))
    return Remedy(
        what="put the title off",
        columns=("title", *("reused by" for _ in range(width - 1))),
        rows=tuple((*row, *[""] * (width - len(row))) for row in rows),
        why="whenever it enters the lane, the turn after it starts from nothing",
    )


def more_lanes() -> Remedy:
    """Raises concurrency and nothing else (NOT-3)."""
    rows = []
    for lanes_count in LANES_TRIED:
        side = side_run(Group.TITLE, lanes_count=lanes_count)
        rows.append((lanes_count, _lane_of_title(side), side.last_turn.cached_tokens))
    return Remedy(
        what="more lanes",
        columns=("lanes", "the title runs on lane", "turn 2 reuses"),
        rows=tuple(rows),
        why="no reuse anywhere is equal everywhere, and of equals the first lane is taken",
    )


def glued_on() -> Remedy:
    """Puts the whole conversation in front of the title's prompt (NOT-4)."""
    rows = []
    for name, group in (("prompt of its own", Group.TITLE), ("whole conversation", Group.POSTFIX)):
        side = side_run(group, is_flagged=False)
        log = side.told[1][1].outcome.log
        rows.append((name, log.computed_prefill_tokens, side.last_turn.cached_tokens))
    return Remedy(
        what="glue the title onto the conversation, to reuse more",
        columns=("title", "it computes", "turn 2 reuses"),
        rows=tuple(rows),
        why="it computes more, and its own checkpoint takes the place of the conversation's",
    )


def undeclared() -> Remedy:
    """Lets the title declare no checkpoint (NOT-5)."""
    rows = []
    for name, declares in (("declares one", True), ("declares none", False)):
        side = side_run(Group.POSTFIX, LaneSwitches(side_requests_declare=declares))
        action = side.trace.admissions[1].action
        rows.append((name, "" if action is None else action.value, side.last_turn.cached_tokens))
    return Remedy(
        what="let the title declare no checkpoint",
        columns=("title", "checkpoint action", "turn 2 reuses"),
        rows=tuple(rows),
        why="Drop clears just as CaptureNew does: nothing declared is not nothing done",
    )


def _lane_of_title(side: SideRun) -> int:
    title = side.told[1][1].request
    admitted = (event for event in side.run.events if isinstance(event, RequestAdmitted))
    return next(event.lane for event in admitted if event.request == title)
