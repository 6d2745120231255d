"""What would a small server be asked?

Owns one workload of one's own, drawn from a seed and handed over as a trace: conversations that
share a few instructions, go on in turns, and are interrupted by titles and by branches. Knows
neither designs nor engines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from ninfer_lab.lab.traces.trace import BlockIds, Trace, TraceRequest

BLOCK_TOKENS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Chats:
    """How the conversations are.

    Attributes:
        conversations_count: Of them.
        turns_count: Of each.
        instructions_count: Different beginnings that they share.
        instructions_blocks: Length of such a beginning, in blocks of 16 tokens.
        first_blocks: Longest first message; each is drawn between half and all of it.
        turn_blocks: Longest later message, likewise.
        answer_blocks: Longest answer, likewise.
        title_share: Of conversations that get a title after their first turn.
        branch_share: Of turns that are asked once more with other words.
        seconds_between: Mean time between arrivals.
    """

    conversations_count: int = 12
    turns_count: int = 5
    instructions_count: int = 3
    instructions_blocks: int = 64
    first_blocks: int = 96
    turn_blocks: int = 24
    answer_blocks: int = 12
    title_share: float = 0.5
    branch_share: float = 0.2
    seconds_between: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    conversation: str | None
    blocks: tuple[int, ...]
    answer: tuple[int, ...]


def chats(seed: int, how: Chats | None = None) -> Trace:
    """One draw of the workload; the same seed gives the same requests."""
    how = Chats() if how is None else how
    random = Random(f"chats {seed}")
    ids = iter(range(1, 10**9))
    talks = [list(_talk(how, random, ids, ordinal)) for ordinal in range(how.conversations_count)]
    waiting = [
        (random.random() + turn, talk, ask)
        for talk, asks in enumerate(talks)
        for turn, ask in enumerate(asks)
    ]
    order = [ask for _, _, ask in sorted(waiting, key=lambda each: each[:2])]
    requests, now_ns = [], 0
    for line, ask in enumerate(order, start=1):
        requests.append(
            TraceRequest(
                line=line,
                arrival_ns=now_ns,
                input_tokens=len(ask.blocks) * BLOCK_TOKENS,
                output_tokens=len(ask.answer) * BLOCK_TOKENS,
                blocks=BlockIds.of(ask.blocks),
                conversation=ask.conversation,
                followed_by=None,
            )
        )
        now_ns += round(random.expovariate(1 / how.seconds_between) * 1e9)
    return Trace(
        name=f"chats {seed}", block_tokens=BLOCK_TOKENS, requests=_followed(requests, order)
    )


def _talk(how: Chats, random: Random, ids: Iterator[int], ordinal: int) -> Iterator[_Ask]:
    """The requests of one conversation."""

    def new(longest: int) -> tuple[int, ...]:
        return tuple(next(ids) for _ in range(random.randint((longest + 1) // 2, longest)))

    instruction = random.randrange(how.instructions_count)
    first_id = 10**9 + instruction * how.instructions_blocks
    history = tuple(range(first_id, first_id + how.instructions_blocks))
    has_title = random.random() < how.title_share
    for turn in range(how.turns_count):
        before = history
        asked = before + new(how.turn_blocks if turn else how.first_blocks)
        answer = new(how.answer_blocks)
        yield _Ask(conversation=f"chat {ordinal}", blocks=asked, answer=answer)
        history = asked + answer
        if turn == 0 and has_title:
            yield _Ask(conversation=None, blocks=new(4), answer=new(2))
        if turn and random.random() < how.branch_share:
            asked = before + new(how.turn_blocks)
            answer = new(how.answer_blocks)
            yield _Ask(conversation=f"chat {ordinal}", blocks=asked, answer=answer)
            history = asked + answer


def _followed(requests: list[TraceRequest], order: list[_Ask]) -> tuple[TraceRequest, ...]:
    """With the request that goes on from each, where one does."""
    linked = []
    for ordinal, (request, ask) in enumerate(zip(requests, order, strict=True)):
        told = ask.blocks + ask.answer
        follower = next(
            (
                at
                for at in range(ordinal + 1, len(order))
                if order[at].conversation == ask.conversation is not None
                and order[at].blocks[: len(told)] == told
            ),
            None,
        )
        linked.append(replace(request, followed_by=follower))
    return tuple(linked)
