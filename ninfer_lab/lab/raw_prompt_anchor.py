"""What does a repeated raw prompt cost where its end was anchored? (ANC-2)

Owns the published measurement, a prompt of 1,602 tokens whose second first token came after 26 ms
instead of 615, and the same two requests served by the engine in virtual time at every listed
preset. No constant is fitted to the published times: what the presets predict stands beside them,
with why none of them can give the second. Draws nothing (`raw_prompt_figures`).
Source: spec ANC-2, FIG-1; the times are the first seed's, on an RTX 3090 with a model of 27B.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.device_timing import PrefillTiming, SimulatedDevice
from ninfer_lab.contract.events import RequestFinished
from ninfer_lab.contract.options import PAGE_TOKENS, EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.cost.decode_timing import RTX_5090_27B, decode_timing
from ninfer_lab.cost.machine_cost_model import timing_from_model
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import GENERIC, PrefillPreset, resolve_cost_model
from ninfer_lab.engine.assembly import SimulatedParts, assemble_simulated
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.side_requests import text_table
from ninfer_lab.lab.story_client import stream_tokens
from ninfer_lab.lab.token_sources import SeededTokens
from ninfer_lab.models.qwen3_5.geometries import QWEN3_5_27B
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes

PROMPT_TOKENS = 1_602
PUBLISHED_FIRST_MS = 615.0
PUBLISHED_AGAIN_MS = 26.0
PUBLISHED_MACHINE = "nvidia-geforce-rtx-3090-sm86"

DEFAULT_CHUNK_TOKENS = 1_024
"""What the presets were measured with, where they do not say another."""

TABLE_HEAD = (
    *("machine", "prefill", "chunk", "first ms", "again ms", "computed", "forward >= ms"),
    "gives 26 ms",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The two requests under one preset.

    Attributes:
        prefill: The preset's signature, or the name that stands for one.
        chunk_tokens: Of the engine, as the preset was measured.
        first_ms: To the first token of the cold request.
        again_ms: To the first token of the repeated one.
        computed_tokens: Prompt tokens of the repeated one that needed a forward.
        coefficients: What was predicted with.
    """

    hardware_class: str
    prefill: str
    chunk_tokens: int
    first_ms: float
    again_ms: float
    computed_tokens: int
    coefficients: PrefillTiming

    @property
    def least_forward_ms(self) -> float:
        """No forward is predicted shorter, however few its tokens."""
        return self.coefficients.chunk_ns / 1e6

    @property
    def is_published_machine(self) -> bool:
        """Whether it was measured on the card of the published times."""
        return self.hardware_class == PUBLISHED_MACHINE

    @property
    def verdict(self) -> str:
        """Whether the published second time is within reach, and if not why not."""
        if not self.is_published_machine:
            return "another card"
        if self.least_forward_ms > PUBLISHED_AGAIN_MS:
            return "no: the constant of one forward alone is more"
        return "within reach"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AnchorTable:
    """Published times above what each listed preset predicts."""

    predictions: tuple[Prediction, ...]

    def __str__(self) -> str:
        published = (
            *(PUBLISHED_MACHINE, "published, 27B", "-", f"{PUBLISHED_FIRST_MS:.0f}"),
            *(f"{PUBLISHED_AGAIN_MS:.0f}", "1", "-", "measured"),
        )
        rows = [
            (
                each.hardware_class,
                each.prefill,
                f"{each.chunk_tokens:,}",
                f"{each.first_ms:.0f}",
                f"{each.again_ms:.0f}",
                str(each.computed_tokens),
                f"{each.least_forward_ms:.1f}",
                each.verdict,
            )
            for each in self.predictions
        ]
        return f"{text_table(TABLE_HEAD, [published, *rows])}\n\n{WHY_NOT}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


WHY_NOT = (
    "The engine does what was published: the second request computes one token. What that token\n"
    "takes is another question. The cost model is a line for each forward, a constant and so much\n"
    "for each token, fitted to forwards of an eighth of a chunk and more (128 tokens of 1,024). A\n"
    "forward of few tokens takes as long as reading the weights once, however few they are; from\n"
    "some hundred tokens on computing takes over, and the line through those forwards meets zero\n"
    "tokens above the time of that one reading. So on the published card every preset's constant,\n"
    "the least that any forward is predicted to take, lies above 26 ms; and to take the rest off\n"
    "it would take as much off every longer forward, which were measured. Nothing hangs on it\n"
    "here: by every preset the anchor spares all forwards of the prompt but one."
)


def raw_prompt_anchor() -> AnchorTable:
    """The two requests at every prefill that the project's preset file lists."""
    return AnchorTable(predictions=tuple(_predictions()))


def _predictions() -> Iterator[Prediction]:
    for machine in shipped_presets().machines:
        if machine.hardware_class == GENERIC:
            continue  # the same numbers stand under the machine that they were measured on
        for preset in machine.prefill:
            yield _prediction(machine.hardware_class, preset)


def _prediction(hardware_class: str, preset: PrefillPreset) -> Prediction:
    chunk_tokens = chunk_of(preset)
    first, again = _served_twice(hardware_class, preset, chunk_tokens)
    assert first.ttft_ns is not None
    assert again.ttft_ns is not None
    return Prediction(
        hardware_class=hardware_class,
        prefill=preset.signature if preset.provenance is None else _name(preset),
        chunk_tokens=chunk_tokens,
        first_ms=first.ttft_ns / 1e6,
        again_ms=again.ttft_ns / 1e6,
        computed_tokens=again.computed_prefill_tokens,
        coefficients=preset.coefficients,
    )


def chunk_of(preset: PrefillPreset) -> int:
    """The chunk with which a preset was measured, as its provenance says."""
    conditions = None if preset.provenance is None else preset.provenance.conditions
    said = re.search(r"prefill chunk ([\d,]+)", conditions or "")
    return DEFAULT_CHUNK_TOKENS if said is None else int(said[1].replace(",", ""))


def _name(preset: PrefillPreset) -> str:
    provenance = preset.provenance
    assert provenance is not None
    date = "" if provenance.measured_on is None else f", {provenance.measured_on}"
    return f"{provenance.model or preset.signature}{date}"


def _served_twice(
    hardware_class: str, preset: PrefillPreset, chunk_tokens: int
) -> tuple[RequestFinished, RequestFinished]:
    """The same raw prompt, cold and again, with an anchor before its last token."""
    geometry = QWEN3_5_27B
    dtype = geometry.stored_dtype
    page_bytes = kv_page_bytes(geometry, dtype)
    belief = resolve_cost_model(
        hardware_class=hardware_class, signature=preset.signature, shipped=shipped_presets()
    )
    decode = decode_timing(RTX_5090_27B, kv_bytes_per_token=page_bytes // PAGE_TOKENS)
    options = EngineOptions(
        max_concurrency=1,
        max_context_tokens=4_096,
        prefill_chunk_tokens=chunk_tokens,
        device_state_slots=4,
        max_private_continuations=4,
    )
    parts = SimulatedParts(
        device=SimulatedDevice(
            timing=timing_from_model(belief, decode),
            kv_page_bytes=page_bytes,
            state_image_bytes=state_image_bytes(geometry, dtype),
        ),
        belief=belief,
        tokens=SeededTokens(seed=0, vocabulary_tokens=geometry.vocab_size),
        vocabulary_tokens=geometry.vocab_size,
        frontend=Frontend(),
        clock=VirtualClock(),
    )
    tokens = stream_tokens("raw prompt", PROMPT_TOKENS, geometry.vocab_size)
    prompt = TokenPrompt(tokens=tokens, anchor_prompt_end=True)
    asks = RequestOptions(max_output_tokens=1, stop_at_end_token=False)
    with assemble_simulated(options, parts) as engine:
        first, again = (engine.run(engine.submit(prompt, asks)).log for _ in range(2))
    return first, again
