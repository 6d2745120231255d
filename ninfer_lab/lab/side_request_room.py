"""What do side requests cost where room is short, or where two conversations take turns?

Owns four runs beside the table: two lanes with hardly a page to spare, a title beside a very long
conversation, conversations in turns, and the catalog engine on the published requests, from very
little capacity on. Reads runs alone.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from itertools import product

from ninfer_lab.contract.events import RequestAdmitted
from ninfer_lab.contract.options import EngineOptions, RequestOptions, pages_of_tokens
from ninfer_lab.engine.assembly import ControllerFactory, catalog_design
from ninfer_lab.lab import worlds
from ninfer_lab.lab.side_requests import (
    CONVERSATION,
    Group,
    SideRun,
    tell,
    text_table,
    world_of,
)
from ninfer_lab.lab.story import Ask, Piece, Story, TokenTurn
from ninfer_lab.policies.lane_owned.design import lane_owned
from ninfer_lab.policies.lane_owned.switches import (
    AS_IT_WAS,
    LANE_SELECTION,
    EvictionOrder,
    LaneKey,
    LaneSwitches,
)

PRESSED_CONTEXT_TOKENS = 1_152
"""Room for one of the published requests, whole, and for nothing beside it."""


def pressed(order: EvictionOrder) -> SideRun:
    """Two lanes, the lane key of the fourth way, and hardly more pages than turn 2 needs (RT-4).

    Args:
        order: Of pass 2: by it the title's bundle or the conversation's has to go.
    """
    world = world_of(Group.TITLE)
    options = replace(
        world.story.options,
        max_context_tokens=PRESSED_CONTEXT_TOKENS,
        kv_capacity_tokens=PRESSED_CONTEXT_TOKENS,
    )
    switches = LaneSwitches(lane_key=LaneKey.REUSE_THEN_DESTRUCTION, eviction_order=order)
    world = replace(world, story=replace(world.story, options=options))
    return tell(world, Group.TITLE, switches, name=order.value, lanes_count=2)


LONG_CONTEXT_TOKENS = 262_144
TITLE_TOKENS, ANSWER_TOKENS = 42, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A conversation of some length with a title beside it.

    Attributes:
        conversation_pages: What the conversation holds when the title comes.
        title_lane: Where that ran.
        reused_tokens: Of turn 2, which asks on from the whole first turn.
    """

    conversation_tokens: int
    conversation_pages: int
    capacity_pages: int
    title_lane: int
    reused_tokens: int


def beside_long(conversation_tokens: int) -> Beside:
    """Two lanes, the lane key of the fourth way, a model of 27B and KV for one longest context
    (RT-4): does the title find room beside the conversation?

    Args:
        conversation_tokens: Of the first turn's prompt.
    """

    def ask(name: str | None, prompt: Piece, answer: str) -> Ask:
        said = (Piece(stream=answer, tokens=ANSWER_TOKENS),)
        return Ask(
            conversation=name,
            turn=TokenTurn(pieces=(prompt,), answer=said),
            options=RequestOptions(stop_at_end_token=False),
        )

    first = Piece(stream="conversation", tokens=conversation_tokens)
    options = EngineOptions(
        max_concurrency=2,
        max_context_tokens=LONG_CONTEXT_TOKENS,
        kv_capacity_tokens=LONG_CONTEXT_TOKENS,
        device_state_slots=2,
    )
    story = Story(
        title="Does a title find room beside a long conversation?",
        setting="27b",
        options=options,
        steps=(
            ask(CONVERSATION, first, "answer-1"),
            ask(None, Piece(stream="title", tokens=TITLE_TOKENS), "title-answer"),
            ask(CONVERSATION, Piece(stream="question", tokens=ANSWER_TOKENS), "answer-2"),
        ),
    )
    world = replace(worlds.named("27b-agent"), story=story)
    run = worlds.run(world, design=lane_owned(LANE_SELECTION))
    title = next(told.request for told in run.told if told.ask.conversation is None)
    admitted = [event for event in run.events if isinstance(event, RequestAdmitted)]
    last = max(run.told, key=lambda told: told.request)
    return Beside(
        conversation_tokens=conversation_tokens,
        conversation_pages=pages_of_tokens(conversation_tokens + ANSWER_TOKENS - 1),
        capacity_pages=pages_of_tokens(LONG_CONTEXT_TOKENS),
        title_lane=next(event.lane for event in admitted if event.request == title),
        reused_tokens=last.outcome.log.prefix_cache_hit_tokens,
    )


def in_turns(design: LaneSwitches | ControllerFactory = AS_IT_WAS) -> tuple[int, ...]:
    """Two conversations in turns on one lane: A, B, A again, B again (REG-4).

    Returns:
        Prompt tokens that each of the four was spared.
    """
    world = worlds.named("side-request-abab")
    factory = lane_owned(design) if isinstance(design, LaneSwitches) else design
    told = worlds.run(world, design=factory).told
    ordered = sorted(told, key=lambda each: each.request)
    return tuple(each.outcome.log.prefix_cache_hit_tokens for each in ordered)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogCapacity:
    """What the catalog engine was given, and what turn 2 reused then.

    Attributes:
        shared_slots: For prefixes that no conversation owns, a state each.
        long_anchors: Earlier points that a continuation may keep, a state each.
        extra_slots: Device state slots beside the lane's own.
        host_slots: On the Host; none means no Host at all.
    """

    private_slots: int
    shared_slots: int
    long_anchors: int
    extra_slots: int
    host_slots: int
    reused_tokens: tuple[tuple[Group, int], ...]

    @property
    def helps(self) -> bool:
        """Whether turn 2 found all of its prefix in every group."""
        return all(tokens == _PREFIX_TOKENS[group] for group, tokens in self.reused_tokens)


_PREFIX_TOKENS = {Group.CONTROL: 961, Group.TITLE: 961, Group.POSTFIX: 962}
"""Up to the turn closure of the first turn."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CatalogTable:
    """The catalog engine on the three groups, capacity by capacity."""

    capacities: tuple[CatalogCapacity, ...]

    def __str__(self) -> str:
        groups = tuple(f"{group.value}, turn 2" for group in Group)
        head = ("private", "shared", "anchors", "extra slots", "Host slots", *groups)
        rows = [
            (
                str(each.private_slots),
                str(each.shared_slots),
                str(each.long_anchors),
                str(each.extra_slots),
                str(each.host_slots),
                *(str(tokens) for _, tokens in each.reused_tokens),
            )
            for each in self.capacities
        ]
        return text_table(head, rows)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def catalog_capacities() -> CatalogTable:
    """The same requests under the catalog's design, one lane, from very little on."""
    one = [_catalog((1, 0, 0), extra_slots, 8) for extra_slots in (0, 4)]
    catalogs = [(2, 0, 0), (2, 0, 2), (2, 7, 2)]
    two = product(catalogs, (0, 1, 2, 3, 4), (0, 8))
    return CatalogTable(capacities=(*one, *(_catalog(*each) for each in two)))


def _catalog(catalog: tuple[int, int, int], extra_slots: int, host_slots: int) -> CatalogCapacity:
    private_slots, shared_slots, long_anchors = catalog
    reused = []
    for group in Group:
        world = world_of(group)
        options = replace(
            world.story.options,
            max_private_continuations=private_slots,
            max_shared_prefixes=shared_slots,
            max_long_anchors_per_continuation=long_anchors,
            device_state_slots=extra_slots,
            host_state_slots=host_slots,
            host_kv_capacity_bytes=None if host_slots else 0,
        )
        told = worlds.run(
            replace(world, story=replace(world.story, options=options)), design=catalog_design
        ).told
        last = max(told, key=lambda each: each.request)
        reused.append((group, last.outcome.log.prefix_cache_hit_tokens))
    return CatalogCapacity(
        private_slots=private_slots,
        shared_slots=shared_slots,
        long_anchors=long_anchors,
        extra_slots=extra_slots,
        host_slots=host_slots,
        reused_tokens=tuple(reused),
    )
