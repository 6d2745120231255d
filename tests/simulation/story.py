"""What clients may do to an engine, move by move, and what must be true at the end.

A story knows what every request asked and compares each answer with what the machine says to that
prompt alone. Laws and contents are checked by the world's watcher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.events import RequestAdmitted, RequestFinished
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import CacheMode, EngineOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.prompt import PreparedPrompt, RewriteKind
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.contract.shared_prefix import Evidence, SharedCandidate
from ninfer_lab.engine.assembly import ControllerFactory, catalog_design
from ninfer_lab.lab.laws import Law, check_laws
from simulation.content_machine import answer_to
from simulation.engine_world import STEPS_LIMIT, EngineWorld, engine_world, prepared
from simulation.watched_controller import Watch

FOREIGN = 900
"""Tokens from here on are in no stem: an answer written anew, another question."""

OPENER_TOKENS = 2
"""What a template writes to let the answer begin."""


HEAD_TOKENS = 30
"""Where the structure of every prompt ends that is long enough."""


class Sequel(Enum):
    """How a next request of a conversation relates to the one before."""

    APPEND = "append"
    """The whole answer comes back, and more."""
    BRANCH = "branch"
    """Only the beginning of the answer comes back."""
    REWRITE = "rewrite"
    """Everything after the turn closure is new."""
    EARLIER = "earlier"
    """The last third of what was asked is new, so that only an older point can be shared."""
    AGAIN = "again"
    """The same prompt once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One request of the story.

    Attributes:
        output: Tokens it may get at most.
    """

    request: RequestId
    prompt: PreparedPrompt
    session: str | None
    output: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a client asks beside the prompt.

    Attributes:
        anchors: Frontiers proposed as private anchors, ascending; those beyond the prompt are not.
    """

    output: int
    session: str | None
    mode: CacheMode = CacheMode.READ_WRITE
    anchors: tuple[int, ...] = ()
    purpose: RequestPurpose = RequestPurpose.CONVERSATION


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


def sharing(prompt: PreparedPrompt) -> PreparedPrompt:
    """The prompt as its frontend would offer it: its structure ends where all of one stem do, the
    whole is looked at, and now and then its caller declares a boundary, in the middle or where its
    turn is closed.
    """
    end = len(prompt.tokens)
    evidence = {end: Evidence.ENGINE_OBSERVED}
    if end > HEAD_TOKENS:
        evidence[HEAD_TOKENS] = Evidence.ENGINE_STRUCTURAL
    closure = prompt.rewrite_frontier_tokens(RewriteKind.TURN_CLOSURE)
    declared = closure if closure is not None and end % 2 else end // 2
    if end % 3 and declared:
        evidence[declared] = evidence.get(declared, Evidence(0)) | Evidence.EXPLICIT_BOUNDARY
    return replace(
        prompt,
        shared_candidates=tuple(
            SharedCandidate(frontier_tokens=at, evidence=evidence[at]) for at in sorted(evidence)
        ),
    )


class Fault(Enum):
    """What the device can give up at."""

    FORWARD = "forward"
    TAIL_COPY = "page copy"
    TRANSFER = "transfer"


class Story:
    """An engine and everything that was asked of it.

    Args:
        options: The engine's.
        lease_window_tokens: See `engine_world`.
        endpoint_gain_tokens: See `engine_world`.
        watch: How often laws and contents are looked at; at the least after every step.
        design: Of the cache.
        without: Laws that the design does not hold to.
        shares: Whether prompts are offered to be shared.

    Attributes:
        steps_count: Worker cycles so far.
    """

    def __init__(
        self,
        options: EngineOptions,
        *,
        lease_window_tokens: int | None = None,
        endpoint_gain_tokens: int | None = None,
        watch: Watch = Watch.EVERY_CALL,
        design: ControllerFactory = catalog_design,
        without: frozenset[type[Law]] = frozenset(),
        shares: bool = False,
    ) -> None:
        self._shares = shares
        self.world: EngineWorld = engine_world(
            options,
            lease_window_tokens=lease_window_tokens,
            endpoint_gain_tokens=endpoint_gain_tokens,
            watch=watch,
            design=design,
            without=without,
        )
        self._without = without
        self.told: list[Told] = []
        self.refused_count = 0
        self.steps_count = 0
        self._backfill = options.backfill
        self._context_tokens = options.max_context_tokens

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
            case Sequel.EARLIER:
                at = len(tokens) * 2 // 3
                tokens, closure = [*tokens[:at], *fresh], None
                cuts = tuple(cut for cut in cuts if cut <= at)
            case Sequel.AGAIN:
                pass
        if len(tokens) < self._context_tokens:
            self._submit(turn(tokens, cuts=cuts, closure=closure), wish)

    def cancel(self, back: int) -> None:
        """A client loses patience, perhaps after the end."""
        if self.told:
            self.world.engine.cancel(self._told(back).request)
            self.world.controller.look()

    def cancel_opening(self) -> None:
        """A client loses patience while copies are under way for it."""
        opening = self.world.controller.opening
        if opening is not None:
            self.world.engine.cancel(opening)
            self.world.controller.look()

    def fail_next(self, fault: Fault, *, times: int = 1, after: int = 0) -> None:
        """The device is about to give up, so many times in a row, after so many good ones."""
        machine = self.world.machine
        match fault:
            case Fault.FORWARD:
                machine.failing_forwards.update(_next(machine.steps, after, times))
            case Fault.TAIL_COPY:
                machine.failing_copies.update(_next(machine.copies, after, times))
            case Fault.TRANSFER:
                machine.failing_transfers.update(_next(machine.transfers, after, times))

    def fail_transfer_in_flight(self) -> None:
        """The link breaks while copies between the tiers are under way."""
        machine = self.world.machine
        if self.world.controller.opening is not None:
            machine.failing_transfers.add(len(machine.transfers) - 1)

    def steps(self, count: int) -> None:
        """The worker runs a while, watched."""
        for _ in range(count):
            self.world.engine.step()
            self.world.controller.look()
        self.steps_count += count

    def settle(self) -> None:
        """The worker runs until nothing waits and nothing runs."""
        for _ in range(STEPS_LIMIT):
            if self.world.engine.is_idle:
                return
            self.steps(1)
        raise AssertionError(f"not idle after {STEPS_LIMIT} steps: {self.world.engine!r}")

    def has_ended(self, ordinal: int) -> bool:
        """Whether a request, by the order in which they were asked, has its outcome."""
        try:
            self.world.engine.outcome(self.told[ordinal].request)
        except PromptError:
            return False
        return True

    def _told(self, back: int) -> Told:
        return self.told[-1 - back % len(self.told)]

    def _answer(self, told: Told, wish: Wish) -> list[int]:
        """What was answered, or what will be as far as anybody can know."""
        try:
            return list(self.world.engine.outcome(told.request).output_tokens)
        except PromptError:
            return list(answer_to(told.prompt.tokens, wish.output))

    def _submit(self, prompt: PreparedPrompt, wish: Wish) -> None:
        inside = tuple(at for at in wish.anchors if at < len(prompt.tokens))
        prompt = replace(
            prompt, private_anchors=prepared(prompt.tokens, anchors=inside).private_anchors
        )
        prompt = sharing(prompt) if self._shares else prompt
        try:
            request = self.world.submit(
                prompt,
                output=wish.output,
                session=wish.session,
                mode=wish.mode,
                purpose=wish.purpose,
            )
        except PromptError:
            self.refused_count += 1  # the queue is full: nothing else is wrong with a prompt here
            return
        room_tokens = self._context_tokens - len(prompt.tokens)
        output = min(wish.output, room_tokens)
        self.told.append(Told(request=request, prompt=prompt, session=wish.session, output=output))

    # ── the end ─────────────────────────────────────────────────────────────────────────────────

    def end(self) -> None:
        """Everybody is served, every answer is right, and nothing active is left."""
        self.settle()
        self.close()

    def close(self) -> None:
        """Whatever is going on, it ends here: all that ended is right, and nothing is left."""
        held = self.world.engine.close()
        finished = [event.request for event in self.world.events(RequestFinished)]
        assert sorted(finished) == [told.request for told in self.told]
        admitted = [event.request for event in self.world.events(RequestAdmitted)]
        assert len(set(admitted)) == len(admitted), "somebody was admitted twice"
        assert self._backfill or admitted == sorted(admitted), "somebody was overtaken"
        for told in self.told:
            self._require_right(told)
        assert held.ledger.sequences == ()
        assert not any(use.reserved_count for use in held.ledger.occupancy.axes)
        check_laws(held, self.world.engine.options, without=self._without)

    def _require_right(self, told: Told) -> None:
        """What was answered is what the machine says to this prompt alone."""
        outcome = self.world.engine.outcome(told.request)
        given = outcome.output_tokens
        assert given == answer_to(told.prompt.tokens, len(given))
        assert len(given) <= told.output
        match outcome.answer.finished:
            case FinishReason.LENGTH:
                log = outcome.log
                assert log.computed_prefill_tokens + log.prefix_cache_hit_tokens == len(
                    told.prompt.tokens
                )
                leases = self.world.engine.options.lease_window_tokens is not None
                assert leases or len(given) == told.output, "an answer ended early"
            case FinishReason.FAILED:
                assert outcome.log.error is not None
            case _:
                assert outcome.answer.finished is FinishReason.CANCELLED


def _next(done: Sequence[object], after: int, count: int) -> range:
    """Ordinals of what comes after what is done, and after so many more."""
    start = len(done) + after
    return range(start, start + count)
