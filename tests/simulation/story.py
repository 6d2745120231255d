"""What clients may do to an engine, move by move, and what must be true at the end.

A story knows what every request asked and compares each answer with what the machine says to that
prompt alone. Laws and contents are checked by the world after every call of the cache design.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.events import RequestAdmitted, RequestFinished
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import CacheMode, EngineOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.prompt import PreparedPrompt, RewriteKind
from ninfer_lab.lab.laws import check_laws
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, engine_world, prepared

CONTEXT_TOKENS = 192
PAGES_OF_CONTEXT = 3
FOREIGN = 900
"""Tokens from here on are in no stem: an answer written anew, another question."""

OPENER_TOKENS = 2
"""What a template writes to let the answer begin."""


class Sequel(Enum):
    """How a next request of a conversation relates to the one before."""

    APPEND = "append"
    """The whole answer comes back, and more."""
    BRANCH = "branch"
    """Only the beginning of the answer comes back."""
    REWRITE = "rewrite"
    """Everything after the turn closure is new."""
    AGAIN = "again"
    """The same prompt once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One request of the story."""

    request: RequestId
    prompt: PreparedPrompt
    session: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a client asks beside the prompt."""

    output: int
    session: str | None
    mode: CacheMode = CacheMode.READ_WRITE


def stem(number: int, tokens: int) -> list[int]:
    """The beginning of one of a few long texts: equal for equal numbers, unequal at once else."""
    return [number, *((number * 37 + i) % 500 + 100 for i in range(tokens - 1))]


def turn(tokens: list[int], *, cuts: tuple[int, ...], closure: int | None) -> PreparedPrompt:
    """A prompt as a chat template cuts it: before every answer so far, and before the opener.

    Args:
        cuts: Of the turns before.
        closure: Frontier of the turn closure if there is one; at the opener it stands for both.
    """
    end = len(tokens)
    opener = end - OPENER_TOKENS if end > OPENER_TOKENS else None
    closure = closure if closure is not None and closure < end else None
    before = tuple(cut for cut in cuts if cut < end)
    return prepared(
        tokens, closure=closure, replay=None if opener == closure else opener, cuts=before
    )


class Story:
    """An engine and everything that was asked of it."""

    def __init__(self, options: EngineOptions) -> None:
        self.world: EngineWorld = engine_world(options)
        self.told: list[Told] = []
        self.refused_count = 0

    # ── moves ───────────────────────────────────────────────────────────────────────────────────

    def ask(self, number: int, tokens: int, closure: int | None, wish: Wish) -> None:
        """A conversation begins, perhaps with words somebody has used before."""
        at = None if closure is None else 1 + closure % tokens
        self._submit(turn(stem(number, tokens), cuts=(), closure=at), wish)

    def go_on(self, back: int, sequel: Sequel, extra: int, wish: Wish) -> None:
        """A conversation goes on from one of its requests; one too long for the context ends.

        Args:
            back: Which request, counted from the latest.
            extra: New tokens at the end.
            wish: Its session, if it has one, is another one than the conversation's.
        """
        if not self.told:
            return
        last = self._told(back)
        wish = replace(wish, session=wish.session or last.session)
        tokens, cuts = list(last.prompt.tokens), last.prompt.rewrite_execution_frontiers
        closure = last.prompt.rewrite_frontier_tokens(RewriteKind.TURN_CLOSURE)
        fresh = [FOREIGN + i for i in range(extra)]
        answer = self._answer(last, wish)
        match sequel:
            case Sequel.APPEND:
                tokens, closure = [*tokens, *answer, *fresh], len(tokens) + len(answer)
            case Sequel.BRANCH:
                half = answer[: len(answer) // 2]
                tokens, closure = [*tokens, *half, *fresh], len(tokens) + len(half)
            case Sequel.REWRITE:
                tokens = [*tokens[:closure], *fresh]
            case Sequel.AGAIN:
                pass
        if len(tokens) < CONTEXT_TOKENS:
            self._submit(turn(tokens, cuts=cuts, closure=closure), wish)

    def cancel(self, back: int) -> None:
        """A client loses patience, perhaps after the end."""
        if self.told:
            self.world.engine.cancel(self._told(back).request)

    def fail_next_forward(self) -> None:
        """The device is about to give up once."""
        self.world.machine.failing_forwards.add(len(self.world.machine.steps))

    def steps(self, count: int) -> None:
        """The worker runs a while."""
        for _ in range(count):
            before = self.world.snapshot
            self.world.engine.step()
            check_laws(self.world.snapshot, self.world.engine.options, before)

    def _told(self, back: int) -> Told:
        return self.told[-1 - back % len(self.told)]

    def _answer(self, told: Told, wish: Wish) -> list[int]:
        """What was answered, or what will be as far as anybody can know."""
        try:
            return list(self.world.engine.outcome(told.request).output_tokens)
        except PromptError:
            return list(answer_to(told.prompt.tokens, wish.output))

    def _submit(self, prompt: PreparedPrompt, wish: Wish) -> None:
        try:
            request = self.world.submit(
                prompt, output=wish.output, session=wish.session, mode=wish.mode
            )
        except PromptError:
            self.refused_count += 1  # the queue is full: nothing else is wrong with a prompt here
            return
        self.told.append(Told(request=request, prompt=prompt, session=wish.session))

    # ── the end ─────────────────────────────────────────────────────────────────────────────────

    def end(self) -> None:
        """Everybody is served, every answer is right, and nothing active is left."""
        self.world.settle()
        finished = [event.request for event in self.world.events(RequestFinished)]
        assert sorted(finished) == [told.request for told in self.told]
        admitted = [event.request for event in self.world.events(RequestAdmitted)]
        assert admitted == sorted(admitted), "somebody was overtaken"
        for told in self.told:
            self._require_right(told)
        held = self.world.engine.close()
        assert held.ledger.sequences == ()
        assert not any(use.reserved_count for use in held.ledger.occupancy.axes)
        check_laws(held, self.world.engine.options)

    def _require_right(self, told: Told) -> None:
        outcome = self.world.engine.outcome(told.request)
        given = outcome.output_tokens
        assert given == answer_to(told.prompt.tokens, len(given))
        if outcome.answer.finished is FinishReason.LENGTH:
            assert outcome.log.computed_prefill_tokens + outcome.log.prefix_cache_hit_tokens == len(
                told.prompt.tokens
            )
