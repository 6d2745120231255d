"""What goes on beside a transition, beside a blocked head, and inside a growth lease?

Owns three small runs of a whole engine in virtual time, at the sizes and speeds of a model of 27B
on one RTX 5090, read from their events. Each differs from its neighbour in one option.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.events import (
    Event,
    ForwardRan,
    RequestAdmitted,
    RequestFinished,
    TransitionEnded,
    TransitionStarted,
)
from ninfer_lab.contract.ids import RequestId, SessionKey
from ninfer_lab.contract.options import EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.engine.assembly import SimulatedParts, assemble_simulated
from ninfer_lab.engine.engine import Engine
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab import worlds
from ninfer_lab.lab.token_sources import SeededTokens

WORLD = "27b-agent"
"""Its machine is the one of these runs; its story is not told."""

LEASED_OUTPUT_TOKENS, SAID_TOKENS = 24_576, 6_000
"""What the request of `growth_runs` may say at most, and what it says before it is taken back."""

_VOCABULARY_TOKENS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRun:
    """One run.

    Attributes:
        title: What is different about it.
        names: What to call each request in a picture, in order of arrival.
    """

    title: str
    events: tuple[Event, ...]
    names: Mapping[RequestId, str]


def beside_a_transfer() -> EngineRun:
    """A long answer is being written; a conversation of 30,000 tokens comes back from the Host."""
    options = EngineOptions(
        max_concurrency=2,
        device_state_slots=1,
        max_context_tokens=32_768,
        kv_capacity_tokens=40_960,
        host_kv_capacity_bytes=4 * 2**30,
    )
    with _engine(options) as engine:
        home = _ask(engine, _prompt(30_000, first=1), 1, session="home")
        engine.run(home)
        engine.run(_ask(engine, _prompt(31_000, first=2), 1, session="other"))
        writer = _ask(engine, _prompt(1_000, first=3), 24)
        for _ in range(5):
            engine.step()
        said = engine.outcome(home).output_tokens
        back = TokenSpan((*_prompt(30_000, first=1), *said, *range(100)))
        again = _ask(engine, back, 8, session="home")
        engine.run_until_idle()
        return EngineRun(
            title="",
            events=engine.events,
            names={writer: "a long answer", again: "back from the Host"},
        )


def backfill_runs() -> tuple[EngineRun, EngineRun]:
    """The head needs what a running request has; a small one behind it does not. Without and with
    the option.
    """
    return _backfill_run(allowed=False), _backfill_run(allowed=True)


def _backfill_run(*, allowed: bool) -> EngineRun:
    options = EngineOptions(
        max_concurrency=3,
        max_context_tokens=8_192,
        kv_capacity_tokens=10_240,
        prefill_chunk_tokens=2_048,
        backfill=allowed,
    )
    with _engine(options) as engine:
        donor = _ask(engine, _prompt(4_000, first=1), 60)
        engine.step()
        head = _ask(engine, _prompt(8_000, first=2), 30)
        small = _ask(engine, _prompt(800, first=3), 25)
        engine.run_until_idle()
        names = {donor: "runs already", head: "the head", small: "small, later"}
        title = "backfill on" if allowed else "backfill off"
        return EngineRun(title=title, events=engine.events, names=names)


def growth_runs() -> tuple[EngineRun, EngineRun]:
    """A request that may say 24,576 tokens and says 6,000: its pages promised whole, and leased."""
    return _growth_run(leased=False), _growth_run(leased=True)


def _growth_run(*, leased: bool) -> EngineRun:
    options = EngineOptions(
        max_context_tokens=32_768, kv_capacity_tokens=32_768, kv_lease_growth=leased
    )
    with _engine(options) as engine:
        request = _ask(engine, _prompt(2_000, first=1), LEASED_OUTPUT_TOKENS)
        for _ in range(SAID_TOKENS):
            engine.step()
        engine.cancel(request)
        title = "leased in windows of 4,096 tokens" if leased else "promised whole"
        return EngineRun(title=title, events=engine.events, names={request: "one request"})


def _engine(options: EngineOptions) -> Engine:
    tokens = SeededTokens(seed=1, first_token=1, vocabulary_tokens=_VOCABULARY_TOKENS)
    parts = SimulatedParts(
        device=worlds.named(WORLD).device,
        tokens=tokens,
        vocabulary_tokens=_VOCABULARY_TOKENS,
        frontend=Frontend(),
        clock=VirtualClock(),
    )
    return assemble_simulated(options, parts)


def _ask(
    engine: Engine, tokens: TokenSpan, output_tokens: int, *, session: str | None = None
) -> RequestId:
    options = RequestOptions(
        max_output_tokens=output_tokens,
        session_key=None if session is None else SessionKey(session),
        stop_at_end_token=False,
    )
    return engine.submit(TokenPrompt(tokens=tokens), options)


def _prompt(tokens: int, *, first: int) -> TokenSpan:
    """A prompt that shares nothing with one of another first token."""
    return TokenSpan((first, *(1_000 + i % 5_000 for i in range(tokens - 1))))


def steps_beside_copies(run: EngineRun) -> int:
    """Decode steps that ended while copies between the tiers were in flight."""
    spans = [(e.started_ns, e.at_ns) for e in run.events if isinstance(e, TransitionEnded)]
    return sum(
        start_ns < event.at_ns <= end_ns
        for event in run.events
        if isinstance(event, ForwardRan) and event.phase is ForwardPhase.DECODE
        for start_ns, end_ns in spans
    )


def head_waits_for_nobody_else(run: EngineRun) -> bool:
    """Whether the head of a backfill run leaves the queue in the cycle after its donor's end,
    though a later request was let past.
    """
    donor, head, small = run.names
    admitted = [e.request for e in run.events if isinstance(e, RequestAdmitted)]
    (donor_end_ns,) = (
        e.at_ns for e in run.events if isinstance(e, RequestFinished) and e.request == donor
    )
    left_queue_ns = min(
        e.at_ns
        for e in run.events
        if isinstance(e, TransitionStarted | RequestAdmitted) and e.request == head
    )
    return admitted == [donor, small, head] and left_queue_ns == donor_end_ns
