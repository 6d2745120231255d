"""What does a piece of work take through the Engine?

Owns the Engine's side of a row: raw token prompts, submitted and stepped as any caller would, timed
around the public calls. Does not know the other side, nor what inside the Engine takes the time
beside what its events say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.events import ForwardRan
from ninfer_lab.contract.ids import RequestId, SessionKey
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import CacheMode, EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.engine.assembly import TorchParts, assemble_torch
from ninfer_lab.engine.engine import Engine
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.bench.interleaved import Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstToken:
    """A prompt consumed and one token drawn."""

    took_ns: int
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimes:
    """Decode steps, one entry each.

    Attributes:
        steps_ns: Wall time of `Engine.step()`.
        machines_ns: What the machine says its forward and draw took.
    """

    steps_ns: tuple[int, ...]
    machines_ns: tuple[int, ...]

    @property
    def bookkeeping(self) -> Spread:
        """Share of a step that is not the machine's."""
        return Spread.of(
            [
                1.0 - machine_ns / step_ns
                for step_ns, machine_ns in zip(self.steps_ns, self.machines_ns, strict=True)
            ]
        )


class EngineSide:
    """An Engine with its default options, but for room.

    Args:
        checkpoint: A folder.
        dtype: Of weights and KV.
        lanes: Requests that decode together.
        context_tokens: Longest prompt plus output.
        clock: Times the calls; the Engine has its own.
    """

    def __init__(
        self, checkpoint: Path, dtype: ModelDtype, *, lanes: int, context_tokens: int, clock: Clock
    ) -> None:
        self._clock = clock
        self._engine: Engine = assemble_torch(
            checkpoint,
            EngineOptions(max_concurrency=lanes, max_context_tokens=context_tokens),
            TorchParts(dtype=dtype, frontend=Frontend()),
        )
        self._decoding: tuple[RequestId, ...] = ()
        self._drawn: dict[RequestId, list[int]] = {}

    def prefill(
        self,
        prompt: TokenSpan,
        *,
        mode: CacheMode = CacheMode.READ_WRITE,
        session: SessionKey | None = None,
    ) -> FirstToken:
        """From submit to the end of a request for one token.

        Raises:
            InvariantBroken: The Engine reused a prefix although no session was named: the row
                would not measure what it says.
        """
        started_ns = self._clock.now_ns()
        request = self._engine.submit(
            TokenPrompt(tokens=prompt), _options(1, mode=mode, session=session)
        )
        outcome = self._engine.run(request)
        took_ns = self._clock.now_ns() - started_ns
        if session is None and outcome.log.prefix_cache_hit_tokens:
            raise InvariantBroken("bench cold prefill", f"reused: {outcome.log}")
        return FirstToken(took_ns=took_ns, token=outcome.output_tokens[0])

    def resume(self, prompt: TokenSpan, *, kept_tokens: int, session: SessionKey) -> int:
        """Time of a prompt whose first `kept_tokens` the session has left behind, in ns.

        Raises:
            InvariantBroken: The Engine reused another number of tokens.
        """
        self.prefill(prompt[:kept_tokens], session=session)
        started_ns = self._clock.now_ns()
        request = self._engine.submit(TokenPrompt(tokens=prompt), _options(1, session=session))
        outcome = self._engine.run(request)
        took_ns = self._clock.now_ns() - started_ns
        if outcome.log.prefix_cache_hit_tokens != kept_tokens:
            raise InvariantBroken("bench resume", f"not {kept_tokens} tokens reused: {outcome.log}")
        return took_ns

    def start_decode(self, prompts: Sequence[TokenSpan], *, output_tokens: int) -> None:
        """Brings one request per prompt to the point where all of them decode together."""
        options = _options(output_tokens)
        self._decoding = tuple(
            self._engine.submit(TokenPrompt(tokens=prompt), options) for prompt in prompts
        )
        self._drawn = {request: [] for request in self._decoding}
        while self._forward().phase_and_rows != (ForwardPhase.DECODE, len(prompts)):
            pass

    def decode(self, steps_count: int) -> StepTimes:
        """Runs so many decode steps of all rows."""
        steps_ns, machines_ns = [], []
        for _ in range(steps_count):
            forward = self._forward()
            if forward.phase_and_rows != (ForwardPhase.DECODE, len(self._decoding)):
                raise InvariantBroken("bench decode", f"another forward ran: {forward}")
            steps_ns.append(forward.step_ns)
            machines_ns.append(forward.machine_ns)
        return StepTimes(steps_ns=tuple(steps_ns), machines_ns=tuple(machines_ns))

    @property
    def drawn_tokens(self) -> tuple[tuple[int, ...], ...]:
        """Tokens drawn so far, per prompt of `start_decode`."""
        return tuple(tuple(self._drawn[request]) for request in self._decoding)

    def stop_decode(self) -> None:
        """Takes the decoding requests back."""
        for request in self._decoding:
            self._engine.cancel(request)
        self._decoding = ()

    def close(self) -> None:
        """Ends the engine, which accounts for everything."""
        self._engine.close()

    def _forward(self) -> _Forward:
        started_ns = self._clock.now_ns()
        report = self._engine.step()
        step_ns = self._clock.now_ns() - started_ns
        (ran,) = (event for event in report.events if isinstance(event, ForwardRan))
        for row in ran.rows:
            if row.drawn_token is not None:
                self._drawn[row.request].append(row.drawn_token)
        return _Forward(
            phase_and_rows=(ran.phase, len(ran.rows)), step_ns=step_ns, machine_ns=ran.machine_ns
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Forward:
    """One `Engine.step()` that ran a forward."""

    phase_and_rows: tuple[ForwardPhase, int]
    step_ns: int
    machine_ns: int


def _options(
    output_tokens: int,
    *,
    mode: CacheMode = CacheMode.READ_WRITE,
    session: SessionKey | None = None,
) -> RequestOptions:
    return RequestOptions(
        max_output_tokens=output_tokens, stop_at_end_token=False, mode=mode, session_key=session
    )
