"""What does a piece of work take without tensors?

Owns the small requests that the simulated engine is timed with, at the geometry of 27B: clients
that talk in turns, each going on from its last answer, with room for all of them. Also owns the
replay of a whole trace in a process of its own, whose peak of memory is then its own. Does not know
what the Engine does inside.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.options import EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine import narration, prefix_memory, recorder
from ninfer_lab.lab.bench.checkpoints import SEED
from ninfer_lab.lab.bench.cpu_samples import sampled
from ninfer_lab.lab.traces.replay import replay
from ninfer_lab.lab.traces.replay_world import dense_27b

LANES = 8
CONVERSATIONS = 32
TURNS = 8
NEW_TOKENS = 48
ANSWER_TOKENS = 2
REQUESTS = CONVERSATIONS * TURNS
RUNS_PER_REPEAT = 4
"""A repeat then has some hundred samples of the processor, which a kernel takes every 4 ms."""

SMALL_REQUESTS = (
    f"{CONVERSATIONS} conversations of {TURNS} turns, {NEW_TOKENS} new tokens and {ANSWER_TOKENS}"
    f" answered, {LANES} lanes"
)
"""What they are, in words."""

_PROCESS_FACTS = Path("/proc/self/status")

_OPTIONS = EngineOptions(
    max_concurrency=LANES,
    max_context_tokens=1_024,
    kv_capacity_tokens=2 * CONVERSATIONS * 1_024,
    device_state_slots=2 * CONVERSATIONS,
    max_private_continuations=2 * CONVERSATIONS,
    max_pending_requests=CONVERSATIONS,
)


class _Echo:
    """A token source that always says the same."""

    def token(self, request: int, position_tokens: int) -> int:
        return 0


class SmallRequests:
    """Conversations that are all written before anything is timed."""

    def __init__(self) -> None:
        draw = Random(SEED)
        world = dense_27b(_OPTIONS)
        self._turns: list[list[tuple[TokenPrompt, RequestOptions]]] = []
        histories = [TokenSpan()] * CONVERSATIONS
        for _ in range(TURNS):
            asked = []
            for number, history in enumerate(histories):
                new = (draw.randrange(1, world.geometry.vocab_size) for _ in range(NEW_TOKENS))
                tokens = history + TokenSpan(new)
                options = RequestOptions(
                    max_output_tokens=ANSWER_TOKENS, session_key=SessionKey(f"client {number}")
                )
                asked.append((TokenPrompt(tokens=tokens), options))
                histories[number] = tokens + TokenSpan([0] * ANSWER_TOKENS)
            self._turns.append(asked)
        self._world = world

    def run(self) -> None:
        """Sends every turn of all conversations to a fresh engine and waits for the answers.

        Raises:
            InvariantBroken: Something was evicted, or did not go on from its last answer: the row
                would not measure what it says.
        """
        with self._world.engine(_Echo(), VirtualClock()) as engine:
            for turn in self._turns:
                sent = [engine.submit(prompt, options) for prompt, options in turn]
                engine.run_until_idle()
            logs = [engine.outcome(request).log for request in sent]
        kept_tokens = (TURNS - 1) * (NEW_TOKENS + ANSWER_TOKENS) - 1
        if any(log.prefix_cache_hit_tokens != kept_tokens for log in logs):
            raise InvariantBroken("bench simulated", f"not {kept_tokens} tokens reused: {logs[0]}")


def requests_per_second(repeat_count: int) -> list[float]:
    """Requests per second of processor time, once for each repeat, behind one to warm up."""
    work = SmallRequests()
    work.run()
    rates = []
    for _ in range(repeat_count):
        started_ns = time.process_time_ns()
        for _ in range(RUNS_PER_REPEAT):
            work.run()
        took_ns = time.process_time_ns() - started_ns
        rates.append(RUNS_PER_REPEAT * REQUESTS / took_ns * 1e9)
    return rates


def recorder_shares(repeat_count: int) -> list[float]:
    """Which part of the processor time goes into telling what happens, once for each repeat: the
    words of events, their sequence, and the memory of what was computed before.
    """
    work = SmallRequests()
    work.run()

    def repeat() -> None:
        for _ in range(RUNS_PER_REPEAT):
            work.run()

    return [
        sampled(repeat, (narration, prefix_memory, recorder)).share for _ in range(repeat_count)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCost:
    """What a replay took, the reading of the trace included.

    Attributes:
        cpu_s: Processor time.
        peak_bytes: Of the process's memory, the interpreter's own included; `None` where the
            system does not say.
        replayed_count: Requests.
        hit_share: Part of the prompt tokens that was reused.
    """

    cpu_s: float
    peak_bytes: int | None
    replayed_count: int
    hit_share: float


def replay_cost(trace: str, limit_requests: int | None) -> ReplayCost:
    """Replays a trace in this process, which should have done nothing else."""
    started_ns = time.process_time_ns()
    done = replay(trace, limit_requests=limit_requests, shows_progress=False)
    return ReplayCost(
        cpu_s=(time.process_time_ns() - started_ns) / 1e9,
        peak_bytes=peak_memory_bytes(),
        replayed_count=len(done.replayed),
        hit_share=done.hit_tokens / max(1, done.prompt_tokens),
    )


def peak_memory_bytes() -> int | None:
    """The most memory this process has had; `None` where the system does not say.

    `getrusage` would do on other systems, but on Linux it counts what the parent had at the start.
    """
    facts = _PROCESS_FACTS.read_text() if _PROCESS_FACTS.is_file() else ""
    for line in facts.splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.removesuffix("kB")) * 1_024
    return None


def in_fresh_process(measure: Callable[..., object], *arguments: object) -> Any:
    """What a function of this package gives in a process of its own, as one who simulates has it:
    without torch, and with no other row's memory.

    Args:
        measure: A public function of a module.
        arguments: Whatever is written as it is read: numbers, texts, `None`.

    Returns:
        The result as JSON gives it back, a dataclass as a dict.
    """
    call = f"{measure.__name__}(*{arguments!r})"
    script = (
        f"import json, dataclasses; from {measure.__module__} import {measure.__name__};"
        f" print(json.dumps({call}, default=dataclasses.asdict))"
    )
    done = subprocess.run(  # noqa: S603  (this interpreter)
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)
