"""Law: conversations that are demoted to the Host and restored again and again answer as without a
cache, and with charged time every event is the one of the world without tensors.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.device_timing import (
    DecodeTiming,
    DeviceTiming,
    PrefillTiming,
    SimulatedDevice,
    TransferTiming,
    TransferTimings,
)
from ninfer_lab.contract.events import Event, ForwardRan, RequestAdmitted, TransitionEnded
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.numerics import ModelDtype, Numerics
from ninfer_lab.contract.options import ContextCache, EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.recording_options import ALL_TARGETS
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.assembly import (
    SimulatedParts,
    TorchParts,
    assemble_simulated,
    assemble_torch,
)
from ninfer_lab.engine.engine import Engine
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.token_sources import RecordedTokens
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes
from ninfer_lab.models.qwen3_5.weights import random_weights, save_checkpoint
from oracle.served_model import SMALL

pytestmark = pytest.mark.usefixtures("one_thread")

STEPS_LIMIT = 3_000
LAW = TransferTiming(batch_ns=400, operation_ns=100, ns_per_byte_q32=2**26)
DEVICE = SimulatedDevice(
    timing=DeviceTiming(
        transfer=TransferTimings(d2h=LAW, h2d=LAW, d2d=LAW),
        prefill=PrefillTiming(chunk_ns=900, token_ns_q32=2**52, attention_pair_ns_q32=0),
        decode=DecodeTiming(step_ns=500, row_ns=7, kv_bytes_per_token=1, kv_ns_per_byte_q32=9),
    ),
    kv_page_bytes=kv_page_bytes(SMALL, ModelDtype.FLOAT32),
    state_image_bytes=state_image_bytes(SMALL, ModelDtype.FLOAT32),
)
TIGHT = EngineOptions(
    max_concurrency=2,
    max_context_tokens=256,
    kv_capacity_tokens=9 * 64,
    device_state_slots=2,
    prefill_chunk_tokens=64,
    max_private_continuations=8,
)
"""Five conversations in nine pages and four slots: three of them have to be elsewhere."""
UNCACHED = EngineOptions(
    max_concurrency=2,
    max_context_tokens=256,
    prefill_chunk_tokens=64,
    context_cache=ContextCache.DISABLED,
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("random_weights")
    save_checkpoint(folder, SMALL, random_weights(SMALL, seed=11))
    return folder


def on_tensors(checkpoint: Path, options: EngineOptions, *, charged: bool = True) -> Engine:
    parts = TorchParts(
        numerics=Numerics.CANONICAL,
        frontend=Frontend(),
        clock=VirtualClock() if charged else None,
        charged=DEVICE if charged else None,
    )
    return assemble_torch(checkpoint, options, parts)


def converse(engine: Engine, seed: int) -> list[tuple[int, ...]]:
    """Fourteen turns of two at a time among five conversations; every answer, in order."""
    rng, histories, answers = random.Random(seed), dict.fromkeys("abcde", TokenSpan(())), []
    for _ in range(14):
        asked = []
        for session in rng.sample("abcde", 2):
            said = TokenSpan(rng.choices(range(SMALL.vocab_size), k=rng.randint(20, 60)))
            known = histories[session]
            prompt = said if len(known) + len(said) > 200 else known + said
            options = RequestOptions(max_output_tokens=6, session_key=SessionKey(session))
            asked.append((session, prompt, engine.submit(TokenPrompt(tokens=prompt), options)))
        for _ in range(STEPS_LIMIT):
            if engine.is_idle:
                break
            engine.step()
        for session, prompt, request in asked:
            answers.append(engine.outcome(request).output_tokens)
            histories[session] = prompt + TokenSpan(answers[-1])
    return answers


def transitions(engine: Engine) -> Counter[str]:
    """What has happened between the tiers."""
    seen: Counter[str] = Counter()
    for event in engine.events:
        if isinstance(event, RequestAdmitted):
            seen[event.state.value] += 1
        if isinstance(event, TransitionEnded):
            seen.update(batch.direction.value for batch in event.work.transfers)
    return seen


def comparable(engine: Engine) -> list[Event]:
    """Every event, but for the bytes that only tensors gather."""
    return [
        event._replace(gathered_bytes=0) if isinstance(event, ForwardRan) else event
        for event in engine.events
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_conversations_go_through_the_host_and_answer_as_alone(
    checkpoint: Path, seed: int
) -> None:  # spec: STATE-2
    tight, alone = on_tensors(checkpoint, TIGHT), on_tensors(checkpoint, UNCACHED)
    with tight, alone:
        assert converse(tight, seed) == converse(alone, seed)
        seen = transitions(tight)
        assert seen[StateTransition.RESTORE.value] >= 3
        assert seen[TransferDirection.D2H.value] >= 5
        assert not transitions(alone)[TransferDirection.D2H.value]
        parts = SimulatedParts(
            device=DEVICE,
            tokens=RecordedTokens.of(tight.events),
            vocabulary_tokens=SMALL.vocab_size,
            frontend=Frontend(),
            clock=VirtualClock(),
            recording=ALL_TARGETS,
        )
        without = assemble_simulated(TIGHT, parts)
        with without:
            converse(without, seed)
            assert comparable(without) == comparable(tight)


def test_in_wall_time_the_answers_are_the_same(checkpoint: Path) -> None:
    timed, alone = on_tensors(checkpoint, TIGHT, charged=False), on_tensors(checkpoint, UNCACHED)
    with timed, alone:
        assert converse(timed, 1) == converse(alone, 1)
        assert transitions(timed)[StateTransition.RESTORE.value] >= 3
