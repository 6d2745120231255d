"""On what is a trace replayed?

Owns `ReplayWorld`: model, machine without tensors, engine options and cache design, and the one
that is taken where nobody says otherwise. Knows no trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.device_timing import SimulatedDevice
from ninfer_lab.contract.options import PAGE_TOKENS, EngineOptions
from ninfer_lab.contract.recording_options import RecordingOptions
from ninfer_lab.contract.token_source import TokenSource
from ninfer_lab.cost.decode_timing import RTX_5090_27B, decode_timing
from ninfer_lab.cost.machine_cost_model import MachineCostModel, timing_from_model
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import resolve_cost_model
from ninfer_lab.engine.assembly import (
    ControllerFactory,
    SimulatedParts,
    assemble_simulated,
    catalog_design,
)
from ninfer_lab.engine.engine import Engine
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.worlds import RTX_5090
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.geometries import QWEN3_5_27B
from ninfer_lab.models.qwen3_5.measurement import (
    kv_page_bytes,
    prefill_signature,
    state_image_bytes,
)

REPLAY_OPTIONS = EngineOptions(
    max_concurrency=8,
    max_context_tokens=131_072,
    kv_capacity_tokens=262_144,
    device_state_slots=24,
    max_private_continuations=32,
    max_pending_requests=256,
)
"""Eight lanes that the longest prompts of the Mooncake traces fit into. In the geometry of 27B that
is 16 GiB of KV and 4.6 GiB of state: what a card of 48 GB has beside weights of 8 bits.
"""

REPLAY_RECORDING = RecordingOptions(retained_events=20_000)
"""The last minutes of a replay: some 10 MB. Its request table is kept whole beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayWorld:
    """A model, and an engine for it in virtual time.

    Attributes:
        name: For tables.
        geometry: Of the model; pages and images are counted in its bytes.
        device: How long things really take there, and how large they are.
        options: The engine's.
        design: The cache design.
        belief: What the design holds of the device's times; `None` is right about them.
        recording: How much of the run is kept.
        frontend: Reads the prompts; by default bare tokens alone.
    """

    name: str
    geometry: ModelGeometry
    device: SimulatedDevice
    options: EngineOptions = REPLAY_OPTIONS
    design: ControllerFactory = catalog_design
    belief: MachineCostModel | None = None
    recording: RecordingOptions = REPLAY_RECORDING
    frontend: Frontend = field(default_factory=Frontend)

    @property
    def prefill_signature(self) -> str:
        """Names the work of a prefill."""
        return prefill_signature(self.geometry, self.geometry.stored_dtype)

    def engine(self, tokens: TokenSource, clock: VirtualClock) -> Engine:
        """A fresh engine that serves what the frontend reads.

        Raises:
            OptionsError: Options that cannot hold one request.
        """
        parts = SimulatedParts(
            device=self.device,
            tokens=tokens,
            vocabulary_tokens=self.geometry.vocab_size,
            frontend=self.frontend,
            design=self.design,
            belief=self.belief,
            clock=clock,
            recording=self.recording,
        )
        return assemble_simulated(self.options, parts)


def dense_27b(options: EngineOptions = REPLAY_OPTIONS) -> ReplayWorld:
    """The released dense model in 16-bit KV, as fast as on one RTX 5090."""
    geometry = QWEN3_5_27B
    page_bytes = kv_page_bytes(geometry, geometry.stored_dtype)
    model = resolve_cost_model(
        hardware_class=RTX_5090,
        signature=prefill_signature(geometry, geometry.stored_dtype),
        shipped=shipped_presets(),
    )
    decode = decode_timing(RTX_5090_27B, kv_bytes_per_token=page_bytes // PAGE_TOKENS)
    device = SimulatedDevice(
        timing=timing_from_model(model, decode),
        kv_page_bytes=page_bytes,
        state_image_bytes=state_image_bytes(geometry, geometry.stored_dtype),
    )
    return ReplayWorld(name="27b", geometry=geometry, device=device, options=options, belief=model)
