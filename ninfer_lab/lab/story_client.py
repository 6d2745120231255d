"""Who sends a story's requests, and when?

Owns the client's side: the histories that conversations carry along, the moment each request
arrives, and what a world without a model is to answer. Calls only `submit`, `step` and `cancel` of
an engine; an idle engine waits for the next arrival, and there is no other waiting.
Does not know what the engine does with a request, nor what it runs on.
"""

from __future__ import annotations

import hashlib
import heapq
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.errors import OptionsError, PromptError
from ninfer_lab.contract.events import Event, ForwardRan, RequestFinished
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.prompt import ChatPrompt, Message, PromptInput, Role, TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.engine import Engine
from ninfer_lab.engine.request import RequestOutcome
from ninfer_lab.lab.meddling import NO_MEDDLING, Meddling
from ninfer_lab.lab.story import Ask, At, ChatTurn, Piece, Story, StoryError, TokenTurn

SpellAnswer = Callable[[str], Sequence[int]]
"""From a scripted text to the tokens a model would draw for it, its end token included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A request as it was sent.

    Attributes:
        ask: What the story says.
        arrival_ns: When its client sent it. An engine that was computing took it in when that
            forward had ended.
    """

    ask: Ask
    request: RequestId
    arrival_ns: int
    outcome: RequestOutcome


def stream_tokens(name: str, tokens: int, vocabulary_tokens: int) -> TokenSpan:
    """The first tokens of a named stream; a longer piece begins with the shorter one."""
    words = array("I", hashlib.shake_256(name.encode()).digest(4 * tokens))
    return TokenSpan(word % vocabulary_tokens for word in words)


class StoryAnswers:
    """A token source that says what the story scripted.

    The first token a request draws is at the end of its prompt; the script is read from there.
    """

    def __init__(self) -> None:
        self._scripts: dict[RequestId, TokenSpan] = {}
        self._starts_tokens: dict[RequestId, int] = {}

    def script(self, request: RequestId, answer: TokenSpan) -> None:
        """Fixes what a submitted request will say."""
        self._scripts[request] = answer

    def forget(self, request: RequestId) -> None:
        """The request has ended."""
        self._scripts.pop(request, None)
        self._starts_tokens.pop(request, None)

    def token(self, request: RequestId, position_tokens: int) -> int:
        """The scripted token.

        Raises:
            StoryError: The script is at its end.
        """
        offset_tokens = position_tokens - self._starts_tokens.setdefault(request, position_tokens)
        answer = self._scripts[request]
        if offset_tokens >= len(answer):
            legal = "`max_output` within the answer, or an answer that ends itself"
            raise StoryError("answer", found=f"{len(answer)} tokens", legal=legal)
        return answer[offset_tokens]


_History = tuple[Message, ...] | TokenSpan


class StoryClient:
    """Tells one story to one engine.

    Args:
        story: What is sent.
        engine: Whom it is sent to; fresh.
        clock: The engine's.
        name: What errors call the story.
        vocabulary_tokens: Ids of token streams are below it.
        answers: Where scripts go; `None` if somebody else says what is drawn.
        spell: Makes tokens of a scripted text.
    """

    def __init__(
        self,
        story: Story,
        engine: Engine,
        clock: Clock,
        *,
        name: str,
        vocabulary_tokens: int,
        answers: StoryAnswers | None,
        spell: SpellAnswer | None,
    ) -> None:
        self._name = name
        self._engine = engine
        self._clock = clock
        self._vocabulary_tokens = vocabulary_tokens
        self._answers = answers
        self._spell = spell
        self._meddling = NO_MEDDLING
        self._start_ns = clock.now_ns()
        self._plan = _Arrivals(story.asks)
        self._histories: dict[str, _History] = {}
        self._running: dict[RequestId, _Sent] = {}
        self._told: list[Told] = []

    def tell(self, meddling: Meddling = NO_MEDDLING) -> tuple[Told, ...]:
        """Sends everything and runs the engine until the last request has ended.

        Args:
            meddling: What else is done meanwhile.

        Returns:
            Every request, in the order of their ends.

        Raises:
            StoryError: A request that the engine refuses, or that cannot be made, with its line.
            OptionsError: The recording forgets events before they can be seen.
        """
        self._meddling = meddling
        self._plan.begin(self._start_ns)
        while self._running or self._plan.is_waiting:
            self._send_what_has_arrived()
            if not self._running:
                self._clock.wait_until(self._plan.next_ns)
                continue
            self._meddling.before_step(self._engine, self._clock.now_ns())
            report = self._engine.step()
            if report.lost_events_count:
                legal = "as many as one step has, for a client learns from them what has happened"
                raise OptionsError("recording.retained_events", found="too few", legal=legal)
            self._notice(report.events)
        return tuple(self._told)

    def _send_what_has_arrived(self) -> None:
        while self._plan.is_waiting and self._plan.next_ns <= self._clock.now_ns():
            arrival_ns, ordinal, ask = self._plan.take()
            history = self._history(ask)
            prompt = self._prompt(ask, history)
            options = replace(ask.options, max_output_tokens=_output_limit(ask))
            options = self._meddling.options(options)
            answer = None if self._answers is None else self._scripted(ask)
            try:
                request = self._engine.submit(prompt, options)
            except PromptError as error:
                raise self._mistake(
                    ask, error.what, found=error.found, legal=error.legal
                ) from error
            if self._answers is not None and answer is not None:
                self._answers.script(request, answer)
            self._running[request] = _Sent(
                ask=ask, ordinal=ordinal, arrival_ns=arrival_ns, history=history, prompt=prompt
            )

    def _notice(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case ForwardRan():
                    for row in event.rows:
                        self._running[row.request].drawn_tokens += row.drawn_token is not None
                case RequestFinished():
                    self._end(event.request)
                case _:
                    pass
        for request, sent in tuple(self._running.items()):
            limit_tokens = sent.ask.cancelled_after_tokens
            if limit_tokens is not None and sent.drawn_tokens >= limit_tokens:
                self._engine.cancel(request)
        # Who is taken back beside somebody's transition ends when that is closed; and who is taken
        # back in the middle of its own closes it, so that others may end with it.
        for request in tuple(self._running):
            if self._engine.has_ended(request):
                self._end(request)

    def _end(self, request: RequestId) -> None:
        sent, outcome = self._running.pop(request), self._engine.outcome(request)
        if self._answers is not None:
            self._answers.forget(request)
        if sent.ask.conversation is not None:
            self._histories[sent.ask.conversation] = _history_after(sent, outcome)
        self._plan.ended(sent.ordinal, self._clock.now_ns())
        self._told.append(
            Told(ask=sent.ask, request=request, arrival_ns=sent.arrival_ns, outcome=outcome)
        )

    # ── what a request is made of ───────────────────────────────────────────────────────────────

    def _history(self, ask: Ask) -> _History:
        own = ask.conversation if ask.begins_from is None else ask.begins_from
        empty: _History = () if isinstance(ask.turn, ChatTurn) else TokenSpan()
        return empty if own is None else self._histories.get(own, empty)

    def _prompt(self, ask: Ask, history: _History) -> PromptInput:
        match ask.turn:
            case ChatTurn(dropped_messages=dropped, messages=messages):
                assert isinstance(history, tuple)
                self._require_history(ask, len(history), dropped, "messages")
                kept = history[: len(history) - dropped]
                return ChatPrompt(
                    messages=(*kept, *messages),
                    markers=ask.marks.of_chat,
                    anchors_after=ask.marks.anchors,
                    hints=ask.marks.hints,
                )
            case TokenTurn(dropped_tokens=dropped, pieces=pieces, anchors_prompt_end=anchors_end):
                assert isinstance(history, TokenSpan)
                self._require_history(ask, len(history), dropped, "tokens")
                kept_tokens = history[: len(history) - dropped]
                return TokenPrompt(
                    tokens=kept_tokens + self._stream(pieces),
                    anchor_prompt_end=anchors_end,
                    markers=ask.marks.of_tokens,
                    anchors_tokens=ask.marks.anchors,
                    hints=ask.marks.hints,
                )
            case _:
                assert_never(ask.turn)

    def _scripted(self, ask: Ask) -> TokenSpan:
        match ask.turn:
            case ChatTurn(answer=str() as text) if self._spell is not None:
                return TokenSpan(self._spell(text))
            case TokenTurn(answer=pieces) if pieces:
                return self._stream(pieces)
            case _:
                legal = "`answer`, for nobody else makes words in this world"
                raise self._mistake(ask, "answer", found="none", legal=legal)

    def _stream(self, pieces: Sequence[Piece]) -> TokenSpan:
        return TokenSpan.concatenated(
            stream_tokens(each.stream, each.tokens, self._vocabulary_tokens) for each in pieces
        )

    def _require_history(self, ask: Ask, length: int, dropped: int, unit: str) -> None:
        if dropped > length:
            legal = f"at most the history, {length} {unit}"
            raise self._mistake(ask, "drop", found=f"{dropped} {unit}", legal=legal)

    def _mistake(self, ask: Ask, what: str, *, found: object, legal: str) -> StoryError:
        return StoryError(f"{self._name}, line {ask.line}, {what}", found=found, legal=legal)


@dataclass(slots=True, kw_only=True)
class _Sent:
    """A request on its way."""

    ask: Ask
    ordinal: int
    arrival_ns: int
    history: _History
    prompt: PromptInput
    drawn_tokens: int = 0


def _history_after(sent: _Sent, outcome: RequestOutcome) -> _History:
    """With the answer; one that was cancelled or failed leaves the history as it was."""
    if outcome.answer.finished in (FinishReason.CANCELLED, FinishReason.FAILED):
        return sent.history
    match sent.prompt:
        case ChatPrompt(messages=messages):
            answer = outcome.answer
            said = Message(role=Role.ASSISTANT, content=answer.content, reasoning=answer.reasoning)
            return (*messages, said)
        case TokenPrompt(tokens=tokens):
            return tokens + TokenSpan(outcome.output_tokens)
        case _:
            assert_never(sent.prompt)


class _Arrivals:
    """When each request arrives: known once everything it waits for has ended."""

    def __init__(self, asks: Sequence[Ask]) -> None:
        self._asks = asks
        self._awaited: list[set[int]] = []
        self._followers: dict[int, list[int]] = {}
        self._known: list[tuple[int, int]] = []
        self._start_ns = 0
        last_of: dict[str, int] = {}
        for ordinal, ask in enumerate(asks):
            awaited = {
                last_of[name]
                for name in (ask.conversation, ask.begins_from)
                if name is not None and name in last_of
            }
            if not isinstance(ask.arrival, At) and ordinal:
                awaited.add(ordinal - 1)
            self._awaited.append(awaited)
            for each in awaited:
                self._followers.setdefault(each, []).append(ordinal)
            if ask.conversation is not None:
                last_of[ask.conversation] = ordinal

    def begin(self, now_ns: int) -> None:
        """The story starts."""
        self._start_ns = now_ns
        for ordinal, awaited in enumerate(self._awaited):
            if not awaited:
                self._know(ordinal, now_ns)

    def ended(self, ordinal: int, now_ns: int) -> None:
        """A request has ended, so that others may come."""
        for follower in self._followers.pop(ordinal, ()):
            self._awaited[follower].discard(ordinal)
            if not self._awaited[follower]:
                self._know(follower, now_ns)

    @property
    def is_waiting(self) -> bool:
        """Whether the arrival of some request is known and has not been taken."""
        return bool(self._known)

    @property
    def next_ns(self) -> int:
        """The earliest of them."""
        return self._known[0][0]

    def take(self) -> tuple[int, int, Ask]:
        """Moment, ordinal and request of the earliest; of equal moments the story's order."""
        moment_ns, ordinal = heapq.heappop(self._known)
        return moment_ns, ordinal, self._asks[ordinal]

    def _know(self, ordinal: int, now_ns: int) -> None:
        match self._asks[ordinal].arrival:
            case At(moment_ns=moment_ns):
                arrival_ns = max(self._start_ns + moment_ns, now_ns)
            case after:
                arrival_ns = now_ns + after.pause_ns
        heapq.heappush(self._known, (arrival_ns, ordinal))


def _output_limit(ask: Ask) -> int | None:
    """Of a token turn as long as its answer, unless the story says less."""
    limit_tokens = ask.options.max_output_tokens
    if limit_tokens is None and isinstance(ask.turn, TokenTurn) and ask.turn.answer:
        return sum(piece.tokens for piece in ask.turn.answer)
    return limit_tokens
