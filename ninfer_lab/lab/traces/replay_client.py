"""Who sends the requests of a trace to an engine, and when?

Owns the client's side of a replay: the moment each request is due, the order within a conversation,
the queue before the engine's queue, and which prompts the engine cannot take. A request is due when
the trace says; it is held back until the one before it in its conversation has ended, for nobody
asks on before he is answered, and until the engine's queue has a place. Its prompt is made when it
is sent. Calls only `submit` and `step`.
Does not know what the engine does with a request.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.events import Event, RequestAdmitted, RequestFinished
from ninfer_lab.contract.ids import RequestId, SessionKey
from ninfer_lab.contract.options import RequestOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.engine import Engine
from ninfer_lab.lab.traces.prompts import TracePrompts
from ninfer_lab.lab.traces.trace import TraceRequest


class HeldBy(Enum):
    """Why a request was sent later than it was due, beside the forward that ran just then."""

    CONVERSATION = "conversation"
    """The one before it in its conversation had not ended."""
    QUEUE = "queue"
    """The engine's queue was full, also if the conversation had held it back before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What became of a request that was sent.

    Attributes:
        sent_ns: Since the replay began.
        held_by: `None` where it was sent when it was due.
    """

    sent_ns: int
    held_by: HeldBy | None
    finish_reason: FinishReason
    hit_tokens: int
    computed_prefill_tokens: int
    output_tokens: int
    path: ReusePath | None
    queue_wait_ns: int | None
    ttft_ns: int | None
    total_ns: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One request of the trace.

    Attributes:
        due_ns: Since the replay began.
        served: `None` for one that cannot be sent: its prompt is too long for the engine.
    """

    asked: TraceRequest
    due_ns: int
    served: Served | None


class Progress(Protocol):
    """Is told of every request that has ended or cannot be sent."""

    def __call__(self, replayed: Replayed) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A request that may be sent, since a moment of the clock."""

    ordinal: int
    since_ns: int
    was_behind: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """A request on its way."""

    ordinal: int
    sent_ns: int
    held_by: HeldBy | None


class ReplayAnswers:
    """A token source that answers as the trace's conversations go on."""

    def __init__(self) -> None:
        self._answers: dict[RequestId, tuple[int, array[int]]] = {}

    def script(self, request: RequestId, *, prompt_tokens: int, answer: TokenSpan) -> None:
        """Fixes what a submitted request will say."""
        self._answers[request] = (prompt_tokens, array("i", answer.to_bytes()))

    def forget(self, request: RequestId) -> None:
        """The request has ended."""
        del self._answers[request]

    def token(self, request: RequestId, position_tokens: int) -> int:
        """The token at a position behind the prompt."""
        prompt_tokens, answer = self._answers[request]
        return answer[position_tokens - prompt_tokens]


class ReplayClient:
    """Sends requests to one engine until all have ended.

    Args:
        asked: Those that are to be sent, in the order of their arrivals.
        prompts: Makes their tokens.
        engine: Fresh.
        answers: The engine's token source.
        clock: The engine's.
        due_ns: From a moment of the trace to one of the replay.
    """

    def __init__(
        self,
        asked: Sequence[TraceRequest],
        prompts: TracePrompts,
        engine: Engine,
        answers: ReplayAnswers,
        clock: Clock,
        *,
        due_ns: Callable[[int], int],
    ) -> None:
        self._asked = asked
        self._prompts = prompts
        self._engine = engine
        self._answers = answers
        self._clock = clock
        self._start_ns = clock.now_ns()
        self._due_ns = due_ns
        self._next = 0
        self._behind: dict[str, deque[int]] = {}
        self._ready: deque[_Ready] = deque()
        self._sent: dict[RequestId, _Sent] = {}
        self._queued: set[RequestId] = set()
        self._ended: list[Replayed | None] = [None] * len(asked)

    def run(self, progress: Progress) -> tuple[Replayed, ...]:
        """Sends everything and runs the engine until the last request has ended.

        Returns:
            Every request, in the order of the trace.

        Raises:
            OptionsError: The recording forgets events before they can be seen.
        """
        while True:
            self._take_what_is_due()
            self._send_what_has_room(progress)
            if not self._sent:
                if self._next == len(self._asked):
                    return tuple(each for each in self._ended if each is not None)
                self._clock.wait_until(self._start_ns + self._due_of(self._next))
                continue
            report = self._engine.step()
            if report.lost_events_count:
                legal = "as many as one step has, for a client learns from them what has happened"
                raise OptionsError("recording.retained_events", found="too few", legal=legal)
            self._notice(report.events, progress)

    def _due_of(self, ordinal: int) -> int:
        return self._due_ns(self._asked[ordinal].arrival_ns)

    def _take_what_is_due(self) -> None:
        now_ns = self._clock.now_ns() - self._start_ns
        while self._next < len(self._asked) and self._due_of(self._next) <= now_ns:
            conversation = self._asked[self._next].conversation
            if conversation is not None and conversation in self._behind:
                self._behind[conversation].append(self._next)
            else:
                self._make_ready(self._next, was_behind=False)
            if conversation is not None:
                self._behind.setdefault(conversation, deque())
            self._next += 1

    def _make_ready(self, ordinal: int, *, was_behind: bool) -> None:
        since_ns = self._clock.now_ns()
        self._ready.append(_Ready(ordinal=ordinal, since_ns=since_ns, was_behind=was_behind))

    def _send_what_has_room(self, progress: Progress) -> None:
        options = self._engine.options
        while self._ready and len(self._queued) < options.max_pending_requests:
            ready = self._ready.popleft()
            if self._asked[ready.ordinal].input_tokens < options.max_context_tokens:
                self._send(ready)
            else:
                self._end(ready.ordinal, None, progress)

    def _send(self, ready: _Ready) -> None:
        ordinal, asked = ready.ordinal, self._asked[ready.ordinal]
        room_tokens = self._engine.options.max_context_tokens - asked.input_tokens
        output_tokens = min(max(1, asked.output_tokens), room_tokens)
        session = None if asked.conversation is None else SessionKey(asked.conversation)
        request = self._engine.submit(
            TokenPrompt(tokens=self._prompts.prompt(ordinal)),
            RequestOptions(
                max_output_tokens=output_tokens, stop_at_end_token=False, session_key=session
            ),
        )
        answer = self._prompts.answer(ordinal, output_tokens)
        self._answers.script(request, prompt_tokens=asked.input_tokens, answer=answer)
        now_ns = self._clock.now_ns()
        held_by = HeldBy.CONVERSATION if ready.was_behind else None
        held_by = HeldBy.QUEUE if now_ns > ready.since_ns else held_by
        self._sent[request] = _Sent(
            ordinal=ordinal, sent_ns=now_ns - self._start_ns, held_by=held_by
        )
        self._queued.add(request)

    def _notice(self, events: Sequence[Event], progress: Progress) -> None:
        for event in events:
            match event:
                case RequestAdmitted():
                    self._queued.discard(event.request)
                case RequestFinished():
                    self._queued.discard(event.request)
                    self._answers.forget(event.request)
                    sent = self._sent.pop(event.request)
                    self._end(sent.ordinal, _served(sent, event), progress)
                case _:
                    pass

    def _end(self, ordinal: int, served: Served | None, progress: Progress) -> None:
        asked = self._asked[ordinal]
        replayed = Replayed(asked=asked, due_ns=self._due_of(ordinal), served=served)
        self._ended[ordinal] = replayed
        if asked.conversation is not None:
            if behind := self._behind[asked.conversation]:
                self._make_ready(behind.popleft(), was_behind=True)
            else:
                del self._behind[asked.conversation]
        progress(replayed)


def _served(sent: _Sent, log: RequestFinished) -> Served:
    return Served(
        sent_ns=sent.sent_ns,
        held_by=sent.held_by,
        finish_reason=log.finish_reason,
        hit_tokens=log.prefix_cache_hit_tokens,
        computed_prefill_tokens=log.computed_prefill_tokens,
        output_tokens=log.completion_tokens,
        path=log.prefix_reuse_path,
        queue_wait_ns=log.queue_wait_ns,
        ttft_ns=log.ttft_ns,
        total_ns=log.total_ns,
        error=log.error,
    )
