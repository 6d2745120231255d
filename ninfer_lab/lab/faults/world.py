"""On which conversations is a fault tried?

Owns the prompts of one small scenario (two conversations, and two ways to go on with the first),
and makes them of bare tokens for random weights; `trained_world` makes them of words. Does not know
faults.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ninfer_lab.contract.prompt import PromptInput, TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.request import RequestOutcome
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.restore_proof.marked_turns import ASSISTANT, FIRST_WORD, USER, MarkedFrontend

GoOn = Callable[[RequestOutcome, int], PromptInput]
"""From the answer to the opening, and the ordinal of the continuation, to its prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultWorld:
    """A checkpoint and what is said to it.

    Attributes:
        name: For the table's head.
        other: Another conversation, at least two pages long; its owner stays.
        opening: Of the conversation that is restored: with its answer at least two pages and a part
            of a third.
        go_on: Continues it, from the same endpoint, in two ways that differ at once; with the first
            a page is filled and another begun.
        right_answer: To the first continuation, where words mean something.
        other_answer: What the other conversation would answer to it.
    """

    name: str
    checkpoint: Path
    frontend: Frontend
    other: PromptInput
    opening: PromptInput
    go_on: GoOn
    right_answer: str | None = None
    other_answer: str | None = None


def random_world(checkpoint: Path, seed: int = 0) -> FaultWorld:
    """Bare token ids, for random weights.

    Args:
        checkpoint: Any folder with weights of at least 512 tokens.
        seed: Decides the words.
    """
    rng = random.Random(f"fault world {seed}")

    def turn(length_tokens: int) -> TokenSpan:
        said = rng.choices(range(FIRST_WORD, 512), k=length_tokens)
        return TokenSpan((USER, *said, ASSISTANT, FIRST_WORD))

    opening = turn(140)
    continuations = (turn(34), turn(20))  # 188 tokens, so that the answer passes 192; 174 tokens

    def go_on(answered: RequestOutcome, ordinal: int) -> PromptInput:
        answer = TokenSpan(answered.output_tokens)
        return TokenPrompt(tokens=opening + answer + continuations[ordinal])

    return FaultWorld(
        name=f"random weights, seed {seed}",
        checkpoint=checkpoint,
        frontend=MarkedFrontend(),
        other=TokenPrompt(tokens=turn(150)),
        opening=TokenPrompt(tokens=opening),
        go_on=go_on,
    )
