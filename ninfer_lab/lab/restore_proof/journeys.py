"""On which conversations, lengths, chunks and neighbours is reuse tried?

Owns random journeys: from a seed, an engine of some shape and requests that begin, continue,
rewrite, repeat and branch conversations, alone or beside others, cancelled or not; and what came
of them. A seed is a whole journey, so a failure is repeated by its seed alone. Decides no reuse:
the engine does, as it would for anybody.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import assert_never

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.events import RequestFinished
from ninfer_lab.contract.ids import RequestId, SessionKey
from ninfer_lab.contract.numerics import Numerics
from ninfer_lab.contract.options import CacheMode, EngineOptions, RequestOptions
from ninfer_lab.contract.sampling import Sampling
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.lab.restore_proof.content_watch import ContentChange
from ninfer_lab.lab.restore_proof.marked_turns import ASSISTANT, FIRST_WORD, USER, MarkedFrontend
from ninfer_lab.lab.restore_proof.proof import Decomposition, RestoreProof
from ninfer_lab.lab.restore_proof.watched_engine import WatchedEngine

CONTEXT_TOKENS = 448
"""Long enough for seven pages; short, for every request is computed twice."""

REQUESTS_COUNT = 16
LANES = (1, 1, 2, 3, 4)
CHUNKS_TOKENS = (1, 2, 3, 16, 63, 64, 65, 100, 128, 448)
EDGE_LENGTHS_TOKENS = (1, 2, 3, 4, 63, 64, 65, 66, 67, 127, 128, 129, 130)
"""Prompts on both sides of a page edge; with the two tokens of an opener behind them, their turn
closures lie on both sides of it as well."""

LONGEST_TURN_TOKENS = 90
LONGEST_PROMPT_IN_CHUNKS = 40
"""Tiny chunks are tried on prompts of at most so many of them: a forward costs the same however
few its tokens."""

MOST_OUTPUT_TOKENS = 10
ALONE_SHARE = 0.6
"""How often a request runs to its end before the next one comes."""
CANCEL_SHARE = 0.4
"""How often, among others, one of all requests so far is cancelled (most have ended by then)."""
REMEMBERED_COUNT = 5
"""A journey comes back to one of so many requests that ended last: older ones are often gone."""
SESSIONS = (None, "a", "b")


class Begin(Enum):
    """How a request comes by its prompt."""

    ROOT = "a new conversation"
    CONTINUE = "everything a request consumed, and a new turn"
    REWRITE = "a prompt without its opener, and another suffix"
    REPEAT = "the same prompt once more"
    BRANCH = "the beginning of a history, and other tokens"


BEGIN_WEIGHTS = {
    Begin.ROOT: 1,
    Begin.CONTINUE: 3,
    Begin.REWRITE: 3,
    Begin.REPEAT: 2,
    Begin.BRANCH: 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyPlan:
    """Everything a seed decides before the first request."""

    seed: int
    options: EngineOptions
    numerics: Numerics

    def __str__(self) -> str:
        options = self.options
        return (
            f"journey {self.seed}: {self.numerics.value}, {options.max_concurrency} lanes,"
            f" chunks of {options.prefill_chunk_tokens}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyResult:
    """One journey and its proof.

    Attributes:
        changes: What changed though it was published (OWN-6).
        broken_laws: Which laws on the ledger did not hold after a step.
    """

    plan: JourneyPlan
    proof: RestoreProof
    changes: tuple[ContentChange, ...]
    broken_laws: tuple[str, ...]

    @property
    def differences(self) -> tuple[str, ...]:
        """Everything that is not, bit for bit, as it should be; in words."""
        return (*map(str, self.proof.differences), *map(str, self.changes), *self.broken_laws)

    def __str__(self) -> str:
        return f"{self.plan}\n{self.proof}"


def plan_journey(seed: int, numerics: Numerics = Numerics.CANONICAL) -> JourneyPlan:
    """The shape of an engine, from a seed."""
    rng = random.Random(f"shape {seed}")
    lanes = rng.choice(LANES)
    options = EngineOptions(
        max_concurrency=lanes,
        max_context_tokens=CONTEXT_TOKENS,
        kv_capacity_tokens=(lanes + rng.randint(1, 5)) * CONTEXT_TOKENS,
        prefill_chunk_tokens=rng.choice(CHUNKS_TOKENS),
        device_state_slots=rng.randint(2, 16),
        max_private_continuations=lanes + rng.randint(2, 12),
        max_pending_requests=REQUESTS_COUNT,
    )
    return JourneyPlan(seed=seed, options=options, numerics=numerics)


def run_journey(
    checkpoint: Path, plan: JourneyPlan, decomposition: Decomposition = Decomposition.SAME_CUTS
) -> JourneyResult:
    """Serves a journey's requests and holds them against cold runs.

    Args:
        checkpoint: A folder; only its weights are used.
        plan: From `plan_journey`.
        decomposition: Of the cold runs.
    """
    frontend = MarkedFrontend(proposes_anchors=plan.seed % 2 == 0)
    with WatchedEngine(
        checkpoint, plan.options, numerics=plan.numerics, frontend=frontend
    ) as watched:
        _Traveller(plan, watched).travel()
        return JourneyResult(
            plan=plan,
            proof=watched.prover(decomposition).proof(),
            changes=watched.changes,
            broken_laws=watched.broken_laws,
        )


class _Traveller:
    """Submits, steps and cancels as the seed has it."""

    def __init__(self, plan: JourneyPlan, watched: WatchedEngine) -> None:
        self._rng = random.Random(f"requests {plan.seed}")
        self._watched = watched
        self._longest_tokens = min(
            CONTEXT_TOKENS - MOST_OUTPUT_TOKENS,
            LONGEST_PROMPT_IN_CHUNKS * plan.options.prefill_chunk_tokens,
        )
        self._words = range(FIRST_WORD, watched.tap.model.geometry.vocab_size)

    def travel(self) -> None:
        """All requests of a journey, to the end of the last."""
        rng, watched = self._rng, self._watched
        for _ in range(REQUESTS_COUNT):
            watched.submit(self._prompt(_drawn(rng)), self._request_options())
            if rng.random() < ALONE_SHARE:
                watched.run_until_idle()
                continue
            for _ in range(rng.randint(0, 6)):
                watched.step()
            if rng.random() < CANCEL_SHARE:
                watched.engine.cancel(rng.choice(tuple(watched.prompts)))
        watched.run_until_idle()

    def _request_options(self) -> RequestOptions:
        rng = self._rng
        session = rng.choice(SESSIONS)
        return RequestOptions(
            max_output_tokens=rng.randint(1, MOST_OUTPUT_TOKENS),
            sampling=Sampling(temperature=rng.choice((0.0, 1.0)), seed=rng.randrange(2**32)),
            mode=CacheMode.DISABLED if rng.random() < 0.05 else CacheMode.READ_WRITE,
            session_key=None if session is None else SessionKey(session),
        )

    def _prompt(self, begin: Begin) -> TokenSpan:
        """A prompt; where the wanted one would be too long, a new conversation."""
        known = tuple(self._ended())[-REMEMBERED_COUNT:]
        if begin is Begin.ROOT or not known:
            return self._new_conversation()
        request = self._rng.choice(known)
        asked, consumed = self._watched.prompts[request], self._watched.history(request)
        match begin:
            case Begin.CONTINUE:
                prompt = consumed + self._turn()
            case Begin.REWRITE:
                prompt = asked[: max(1, len(asked) - 1)] + self._text(self._rng.randint(1, 30))
            case Begin.REPEAT:
                prompt = asked
            case Begin.BRANCH:
                prompt = consumed[: self._rng.randint(1, len(consumed))] + self._turn()
            case _:
                assert_never(begin)
        return prompt if len(prompt) <= self._longest_tokens else self._new_conversation()

    def _ended(self) -> Iterator[RequestId]:
        for event in self._watched.engine.events:
            if isinstance(event, RequestFinished):
                yield event.request

    def _new_conversation(self) -> TokenSpan:
        """Raw text, text and an opener, or a whole turn."""
        rng = self._rng
        most_tokens = self._longest_tokens - 3  # the marks around it
        lengths = (*EDGE_LENGTHS_TOKENS, rng.randint(1, 200))
        length_tokens = rng.choice([each for each in lengths if each <= most_tokens])
        match rng.randrange(4):
            case 0:
                return self._text(length_tokens)
            case 1:
                return self._text(length_tokens) + self._opener()
            case _:
                return TokenSpan((USER,)) + self._text(length_tokens) + self._opener()

    def _turn(self) -> TokenSpan:
        said = self._text(self._rng.randint(1, LONGEST_TURN_TOKENS))
        return TokenSpan((USER,)) + said + self._opener()

    def _opener(self) -> TokenSpan:
        return TokenSpan((ASSISTANT, FIRST_WORD))

    def _text(self, length_tokens: int) -> TokenSpan:
        return TokenSpan(self._rng.choices(self._words, k=length_tokens))


def _drawn(rng: random.Random) -> Begin:
    (begin,) = rng.choices(tuple(BEGIN_WEIGHTS), tuple(BEGIN_WEIGHTS.values()))
    return begin


def require_equal(result: JourneyResult) -> None:
    """Every restored request and every checkpoint equals its cold run, bit for bit.

    Raises:
        InvariantBroken: One does not; the message holds the seed and the whole journey.
    """
    if result.differences:
        found = "\n".join(f"  {difference}" for difference in result.differences)
        raise InvariantBroken("IDN-6 canonical bits", f"{result}\nof these differ:\n{found}")
