"""Random streams of requests that a small engine with two tiers is short of everything for.

Conversations of words and of bare tokens go on, are edited, asked again, branched, cancelled, and
now and then do without the cache; requests come in bursts, so that lanes fill and heads wait.
"""

from __future__ import annotations

import random

from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.options import CacheMode, EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import Message, Role
from ninfer_lab.contract.sampling import Sampling
from ninfer_lab.lab import worlds
from ninfer_lab.lab.story import After, Ask, At, ChatTurn, Piece, Story, TokenTurn

MILLISECOND_NS = 10**6
ASKS_COUNT = 9
TINY_PAGE_BYTES = worlds.named("tiny-side-request").device.kv_page_bytes
SENTENCES = (
    "The lamp is red.",
    "Locker K17 holds 83.",
    "What colour is the lamp?",
    "Anna is in Rome.",
    "Thank you.",
)


def random_story(seed: int) -> Story:
    """A story that a seed decides; every answer is short, for a model gives it."""
    rng = random.Random(f"story {seed}")
    lanes_count = rng.choice((1, 2, 3, 4, 4))
    options = EngineOptions(
        max_concurrency=lanes_count,
        max_context_tokens=512,
        kv_capacity_tokens=64 * rng.choice((8, 8, 8, 11)),
        prefill_chunk_tokens=rng.choice((48, 100, 128)),
        device_state_slots=rng.randint(0, 3),
        host_state_slots=rng.choice((0, 1, 8, 8)),
        host_kv_capacity_bytes=rng.choice((0, 3, 30, 30)) * TINY_PAGE_BYTES,
        max_private_continuations=lanes_count + rng.randint(0, 3),
        backfill=rng.random() < 0.5,
    )
    begun: set[str] = set()
    asks = [_ask(rng, begun) for _ in range(ASKS_COUNT)]
    return Story(title=f"seed {seed}?", setting="tiny", options=options, steps=tuple(asks))


def _ask(rng: random.Random, begun: set[str]) -> Ask:
    name = rng.choice(("chat-a", "chat-b", "ids-a", "ids-b"))
    is_chat = name.startswith("chat")
    is_first = name not in begun  # its answer is never taken back, so that there is a history
    is_cut = not is_first and rng.random() < 0.4
    turn: ChatTurn | TokenTurn
    if is_chat:
        text = " ".join(rng.choices(SENTENCES, k=rng.randint(1, 3)))
        message = Message(role=Role.USER, content=text)
        turn = ChatTurn(dropped_messages=rng.randint(1, 2) if is_cut else 0, messages=(message,))
    else:
        stem = Piece(stream="stem", tokens=rng.choice((64, 130)))
        tail = Piece(stream=f"tail-{rng.randint(0, 99)}", tokens=rng.randint(1, 40))
        pieces = (stem, tail) if is_first else (tail,)
        turn = TokenTurn(dropped_tokens=rng.randint(1, 12) if is_cut else 0, pieces=pieces)
    begun.add(name)
    cancelled_after_tokens = None if is_first or rng.random() < 0.6 else rng.randint(1, 6)
    # Who is taken back may ask for much: pages are promised, and a model need not say it all.
    longest_tokens = 12 if cancelled_after_tokens is None else 300
    sampling = Sampling(temperature=rng.choice((0.0, 0.8)), seed=rng.randint(0, 9))
    return Ask(
        conversation=name,
        turn=turn,
        arrival=_arrival(rng),
        options=RequestOptions(
            max_output_tokens=rng.randint(1, longest_tokens),
            sampling=sampling,
            mode=CacheMode.DISABLED if rng.random() < 0.15 else CacheMode.READ_WRITE,
            session_key=None if rng.random() < 0.3 else SessionKey(name),
            stop_at_end_token=is_chat,
        ),
        cancelled_after_tokens=cancelled_after_tokens,
    )


def _arrival(rng: random.Random) -> At | After:
    if rng.random() < 0.3:
        return After(pause_ns=rng.randint(0, 50) * MILLISECOND_NS)
    return At(moment_ns=rng.randint(0, 59) * MILLISECOND_NS)
