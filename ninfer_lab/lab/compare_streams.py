"""What does each design reuse of the same prompt again, of a branch, of a longer one?

Owns the published stream of six requests, one at a time, and the table of what designs reuse of it.
Draws nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.lab import designs
from ninfer_lab.lab.peer_predictions import PeerRequest, cached_tokens
from ninfer_lab.lab.story_client import stream_tokens

FIRST_TOKENS, BRANCH_TOKENS, MORE_TOKENS, ANSWER_TOKENS = 4_096, 2_000, 200, 8
VOCABULARY_TOKENS = 1_000

STREAM_OPTIONS = EngineOptions(
    max_context_tokens=6_144,
    kv_capacity_tokens=65_536,
    prefill_chunk_tokens=2_048,
    device_state_slots=48,
    max_private_continuations=16,
    host_state_slots=0,
    host_kv_capacity_bytes=0,
)
"""Room for everything that is asked: what is not reused was not kept."""

ASKED = ("cold", "again", "branch 1", "branch 2", "branch 3", "200 more")


def branch_stream() -> tuple[PeerRequest, ...]:
    """A prompt of 4,096 tokens, the same again, three branches of it at 2,000, and one longer."""

    def drawn(name: str, tokens: int) -> list[int]:
        return list(stream_tokens(name, tokens, VOCABULARY_TOKENS))

    first, rest_tokens = drawn("first", FIRST_TOKENS), FIRST_TOKENS - BRANCH_TOKENS
    branches = [first[:BRANCH_TOKENS] + drawn(f"branch {each}", rest_tokens) for each in (1, 2, 3)]
    prompts = (first, first, *branches, first + drawn("more", MORE_TOKENS))
    answer = drawn("answer", ANSWER_TOKENS)
    return tuple(PeerRequest(prompt=prompt, answer=answer) for prompt in prompts)


def branch_table(
    chosen: Mapping[str, ControllerFactory | str] | Sequence[str],
    *,
    chunk_tokens: int = 2_048,
) -> pl.DataFrame:
    """One row per design: prompt tokens that each request of the stream was spared.

    Args:
        chosen: Names of `lab.designs`, or designs by any name.
        chunk_tokens: Most prompt tokens of one forward.
    """
    found = chosen if isinstance(chosen, Mapping) else {name: name for name in chosen}
    options = replace(STREAM_OPTIONS, prefill_chunk_tokens=chunk_tokens)
    rows = []
    for name, given in found.items():
        design = designs.named(given) if isinstance(given, str) else given
        spared = cached_tokens(design, options, branch_stream())
        rows.append({"design": name, **dict(zip(ASKED, spared, strict=True))})
    return pl.DataFrame(rows)
