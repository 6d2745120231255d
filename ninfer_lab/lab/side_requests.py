"""What does the next turn reuse after a side request?

Owns the three groups of the published experiment, what was published of them, and a run of one of
them under any cache design, read from its events. The counts come from the tokenizer and the
engine: stories hold messages only. Source: the second seed's measurements, one lane.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from ninfer_lab.contract.events import RequestFinished
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.lab import worlds
from ninfer_lab.lab.story import Ask, Story
from ninfer_lab.lab.story_client import Told
from ninfer_lab.lab.world import Machine, Run, World
from ninfer_lab.policies.lane_owned.design import lane_owned
from ninfer_lab.policies.lane_owned.switches import AS_IT_WAS, LaneSwitches
from ninfer_lab.policies.lane_owned.trace import LaneTrace

CONVERSATION = "home"
"""Whose turns are looked at."""


class Group(Enum):
    """What comes between the two turns."""

    CONTROL = "A"
    """Nothing."""
    TITLE = "B"
    """A title by a prompt of its own, the typical shape: the pages go."""
    POSTFIX = "C"
    """A title as one more message of the conversation: the pages stay."""


class Lengths(Enum):
    """Which set of stories is told."""

    PUBLISHED = "side-request-"
    """With the published token counts."""
    SHORT = "side-request-short-"
    """So short that the small trained model answers every question right."""


_STORY_OF = {Group.CONTROL: "none", Group.TITLE: "title", Group.POSTFIX: "postfix"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One request, as the request log has it.

    Attributes:
        request: `turn 2` or `title`.
        path: In the words of the design that served it.
    """

    group: Group
    request: str
    prompt_tokens: int
    cached_tokens: int
    path: str


def _published(
    group: Group, request: str, prompt_tokens: int, cached_tokens: int, path: str
) -> Observed:
    return Observed(
        group=group,
        request=request,
        prompt_tokens=prompt_tokens,
        cached_tokens=cached_tokens,
        path=path,
    )


PUBLISHED = (
    _published(Group.CONTROL, "turn 2", 1030, 961, "restore_turn_checkpoint"),
    _published(Group.TITLE, "title", 42, 0, "full_reset"),
    _published(Group.TITLE, "turn 2", 1025, 0, "full_reset"),
    _published(Group.POSTFIX, "title", 1033, 962, "restore_turn_checkpoint"),
    _published(Group.POSTFIX, "turn 2", 1031, 0, "full_reset"),
)
"""Measured by the author of the second seed: a hybrid model of 27B on two cards, one lane."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRun:
    """One group under one design.

    Attributes:
        design: What it is called in tables and pictures.
        trace: What a lane-owned engine told; empty for other designs.
    """

    group: Group
    design: str
    lanes_count: int
    run: Run = field(repr=False)
    trace: LaneTrace = field(repr=False)

    @property
    def told(self) -> tuple[tuple[str, Told], ...]:
        """Every request in order, by what it is called."""
        asked = sorted(self.run.told, key=lambda told: told.request)
        names, turns_count = [], 0
        for told in asked:
            if told.ask.conversation == CONVERSATION:
                turns_count += 1
                names.append(f"turn {turns_count}")
            else:
                names.append("title")
        return tuple(zip(names, asked, strict=True))

    @property
    def observed(self) -> tuple[Observed, ...]:
        """Every request after the first."""
        return tuple(self._observed(name, told.outcome.log) for name, told in self.told[1:])

    def _observed(self, name: str, log: RequestFinished) -> Observed:
        return Observed(
            group=self.group,
            request=name,
            prompt_tokens=log.prompt_tokens,
            cached_tokens=log.prefix_cache_hit_tokens,
            path="-" if log.prefix_reuse_path is None else log.prefix_reuse_path.value,
        )

    @property
    def last_turn(self) -> Observed:
        """The one that the side request may have cost its prefix."""
        return self.observed[-1]


def side_run(
    group: Group,
    design: LaneSwitches | ControllerFactory = AS_IT_WAS,
    *,
    name: str = "lane-owned",
    lanes_count: int = 1,
    lengths: Lengths = Lengths.PUBLISHED,
    is_flagged: bool = True,
    machine: Machine = Machine.SIMULATED,
) -> SideRun:
    """Tells a group's story to an engine.

    Args:
        design: Switches of the lane-owned engine, or any other design.
        name: What the design is called.
        lanes_count: Of the engine; state slots are two more than two for each lane.
        is_flagged: Whether the title says that it is a side request.
    """
    return tell(
        world_of(group, lengths),
        group,
        design,
        name=name,
        lanes_count=lanes_count,
        is_flagged=is_flagged,
        machine=machine,
    )


def world_of(group: Group, lengths: Lengths = Lengths.PUBLISHED) -> World:
    """Where a group's story plays."""
    return worlds.named(f"{lengths.value}{_STORY_OF[group]}")


def tell(
    world: World,
    group: Group,
    design: LaneSwitches | ControllerFactory = AS_IT_WAS,
    *,
    name: str = "lane-owned",
    lanes_count: int = 1,
    is_flagged: bool = True,
    machine: Machine = Machine.SIMULATED,
) -> SideRun:
    """The same with any world; arguments as in `side_run`."""
    trace = LaneTrace()
    factory = lane_owned(design, trace) if isinstance(design, LaneSwitches) else design
    story = with_lanes(flagged(world.story, is_flagged=is_flagged), lanes_count)
    told = worlds.run(replace(world, story=story), machine, design=factory)
    return SideRun(group=group, design=name, lanes_count=lanes_count, run=told, trace=trace)


def with_lanes(story: Story, lanes_count: int) -> Story:
    """The same for so many lanes, each with two state slots, and two slots more."""
    options = replace(
        story.options, max_concurrency=lanes_count, device_state_slots=lanes_count + 2
    )
    return replace(story, options=options)


def flagged(story: Story, *, is_flagged: bool) -> Story:
    """The same with every side request saying that it is one, or with none saying so."""

    def said(ask: Ask) -> Ask:
        is_side = is_flagged and ask.conversation != CONVERSATION
        purpose = RequestPurpose.SIDE_REQUEST if is_side else RequestPurpose.CONVERSATION
        return replace(ask, options=replace(ask.options, purpose=purpose))

    return replace(story, steps=tuple(said(ask) for ask in story.asks))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ObservedTable:
    """The published table and a reproduced one, side by side.

    Attributes:
        runs: In the order of the groups.
    """

    runs: tuple[SideRun, ...]

    @property
    def reproduced(self) -> tuple[Observed, ...]:
        """Row by row as the published one."""
        return tuple(observed for run in self.runs for observed in run.observed)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Group, request, and published beside reproduced for each figure."""
        pairs = zip(PUBLISHED, self.reproduced, strict=True)
        return tuple(
            (
                was.group.value,
                was.request,
                f"{was.prompt_tokens} | {now.prompt_tokens}",
                f"{was.cached_tokens} | {now.cached_tokens}",
                f"{was.path} | {now.path}",
            )
            for was, now in pairs
        )

    def __str__(self) -> str:
        return text_table(TABLE_HEAD, self.rows)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


TABLE_HEAD = ("group", "request", "prompt tokens", "cached tokens", "path")


def published_table(
    design: LaneSwitches | ControllerFactory = AS_IT_WAS, *, lanes_count: int = 1
) -> ObservedTable:
    """Runs the three groups at the published lengths.

    Args:
        design: By default the engine of which the table was published.
        lanes_count: One in the published table; with two lanes its author saw the same.
    """
    runs = tuple(side_run(group, design, lanes_count=lanes_count) for group in Group)
    return ObservedTable(runs=runs)


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, each as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    )
    return "\n".join(lines)
