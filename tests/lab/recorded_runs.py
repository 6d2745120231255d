"""Random streams of requests through a simulated engine, small enough to be short of everything.

A client either opens a conversation, goes on with one (now and then after an edit, so that the
prompt turns off), asks one of a few prompts that all begin alike, or does without the cache.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.device_timing import (
    DecodeTiming,
    DeviceTiming,
    PrefillTiming,
    SimulatedDevice,
    TransferTiming,
    TransferTimings,
)
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.options import CacheMode, EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.recording_options import DECISIONS_ONLY, RecordingOptions
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.assembly import (
    ControllerFactory,
    SimulatedParts,
    assemble_simulated,
    catalog_design,
)
from ninfer_lab.engine.engine import Engine
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.recording.recording import Recording, WorldName
from ninfer_lab.lab.token_sources import SeededTokens

VOCABULARY_TOKENS = 1_000
CONTEXT_TOKENS = 512
PAGE_BYTES = 4_096
IMAGE_BYTES = 10_240

OPTIONS = EngineOptions(
    max_concurrency=2,
    max_context_tokens=CONTEXT_TOKENS,
    kv_capacity_tokens=20 * 64,
    prefill_chunk_tokens=128,
    device_state_slots=2,
    max_private_continuations=4,
    host_state_slots=3,
    host_kv_capacity_bytes=10 * PAGE_BYTES,
)

_COPY = TransferTiming(batch_ns=1_000, operation_ns=100, ns_per_byte_q32=2**30)
DEVICE = SimulatedDevice(
    timing=DeviceTiming(
        transfer=TransferTimings(d2h=_COPY, h2d=_COPY, d2d=_COPY),
        prefill=PrefillTiming(chunk_ns=50_000, token_ns_q32=2**50, attention_pair_ns_q32=2**20),
        decode=DecodeTiming(
            step_ns=20_000, row_ns=1_000, kv_bytes_per_token=64, kv_ns_per_byte_q32=2**28
        ),
    ),
    kv_page_bytes=PAGE_BYTES,
    state_image_bytes=IMAGE_BYTES,
)


def simulated_engine(
    *,
    seed: int = 1,
    options: EngineOptions = OPTIONS,
    recording: RecordingOptions = DECISIONS_ONLY,
    failing_forwards: frozenset[int] = frozenset(),
    failing_transfers: frozenset[int] = frozenset(),
    device: SimulatedDevice = DEVICE,
    design: ControllerFactory = catalog_design,
) -> Engine:
    """An engine without tensors whose answers are seeded."""
    return assemble_simulated(
        options,
        SimulatedParts(
            device=device,
            design=design,
            tokens=SeededTokens(seed=seed, vocabulary_tokens=VOCABULARY_TOKENS),
            vocabulary_tokens=VOCABULARY_TOKENS,
            frontend=Frontend(),
            failing_forwards=failing_forwards,
            failing_transfers=failing_transfers,
            clock=VirtualClock(),
            recording=recording,
        ),
    )


def recording_of(engine: Engine, *, seed: int | None = None) -> Recording:
    world = WorldName(
        name="random clients", seed=seed, geometry="none", page_bytes=DEVICE.page_bytes
    )
    return Recording.of(engine, world)


def random_run(
    seed: int,
    *,
    requests: int = 60,
    recording: RecordingOptions = DECISIONS_ONLY,
    options: EngineOptions = OPTIONS,
    design: ControllerFactory = catalog_design,
    after_each: Callable[[Engine], None] = lambda _: None,
) -> Recording:
    """A recorded run: everything in it follows from its seed."""
    engine = simulated_engine(
        seed=seed,
        options=options,
        design=design,
        recording=recording,
        failing_forwards=frozenset({40}),
        failing_transfers=frozenset({2, 5}),
    )
    with engine:
        drive(engine, seed, requests, after_each)
    return recording_of(engine, seed=seed)


def drive(
    engine: Engine, seed: int, requests: int, after_each: Callable[[Engine], None] = lambda _: None
) -> None:
    """Submits so many random requests, a few at a time, one of them cancelled now and then."""
    for prompt, options, cancelled in _stream(random.Random(seed), requests):
        request = engine.submit(prompt, options)
        for _ in range(options.max_output_tokens or 1):
            engine.step()
            after_each(engine)
        if cancelled:
            engine.cancel(request)
    engine.run_until_idle()


def _stream(
    draw: random.Random, requests: int
) -> Iterator[tuple[TokenPrompt, RequestOptions, bool]]:
    alike = _tokens(draw, 100)
    conversations: dict[str, list[int]] = {}
    for number in range(requests):
        kind = draw.random()
        session: str | None = None
        if kind < 0.6:
            session = f"s{draw.randrange(3)}"
            history = conversations.get(session, [])
            if len(history) > CONTEXT_TOKENS // 2:
                history = []
            if history and draw.random() < 0.2:
                history = history[: draw.randrange(1, len(history))]
            tokens = history + _tokens(draw, draw.randrange(5, 90))
            conversations[session] = tokens
        elif kind < 0.9:
            tokens = alike + _tokens(draw, draw.randrange(1, 150))
        else:
            tokens = alike
        options = RequestOptions(
            max_output_tokens=draw.randrange(1, 8),
            session_key=None if session is None else SessionKey(session),
            mode=CacheMode.DISABLED if draw.random() < 0.1 else CacheMode.READ_WRITE,
        )
        yield TokenPrompt(tokens=TokenSpan(tokens)), options, number % 13 == 12


def _tokens(draw: random.Random, count: int) -> list[int]:
    return [draw.randrange(VOCABULARY_TOKENS) for _ in range(count)]
