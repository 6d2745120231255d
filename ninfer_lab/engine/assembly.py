"""Which concrete parts make an engine? The one place that names them.

Owns the wiring. Torch is imported inside the function that needs it, so the rest of the engine runs
without.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ninfer_lab.context_cache.resource_manager import ResourceManager
from ninfer_lab.contract.cache_controller import CacheController
from ninfer_lab.contract.clock import Clock, MonotonicClock, VirtualClock
from ninfer_lab.contract.device_timing import SimulatedDevice
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.numerics import ModelDtype, Numerics
from ninfer_lab.contract.options import EngineOptions, KvPageBytes, ResolvedOptions
from ninfer_lab.contract.recording_options import ALL_TARGETS, DECISIONS_ONLY, RecordingOptions
from ninfer_lab.contract.token_source import TokenSource
from ninfer_lab.cost.machine_cost_model import MachineCostModel, model_from_timing
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import GENERIC, resolve_cost_model
from ninfer_lab.engine.catalog_controller import CatalogController
from ninfer_lab.engine.engine import Engine
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.machine.charged_time import ChargedTime
from ninfer_lab.machine.simulated_machine import SimulatedMachine
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.measurement import prefill_signature
from ninfer_lab.program.program import Program

if TYPE_CHECKING:
    import torch

    from ninfer_kernels.kernel_set import KernelSet

ControllerFactory = Callable[[ResolvedOptions, MachineApi, MachineCostModel], CacheController]
"""Builds a cache design over a machine, with what it is to believe of the machine's times; `lab`
hands the chosen one to assembly.
"""

MachineWrapper = Callable[[MachineApi], MachineApi]
"""Puts something between engine and machine: faults, for one."""


def catalog_design(
    options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
) -> CacheController:
    """ResourceManager and Program: the design of the seeds."""
    program = Program(options, machine)
    return CatalogController(ResourceManager(options, program, belief), program)


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchParts:
    """What a torch engine may be told beside its options.

    Attributes:
        numerics: FAST, or CANONICAL for bit equality (IDN-6).
        dtype: Of weights and KV; the recurrent state is float32 always.
        device: `cpu`, or `cuda` where torch sees a GPU.
        kernels: What the model runs on; by default the set that is fast on the device.
        design: The cache design.
        wrap_machine: Identity unless faults are wanted.
        clock: Wall time by default.
        charged: With a VirtualClock: the device whose time forwards and copies are charged, so that
            this world decides as the simulated one does.
        belief: What the design holds of the machine's times; `None` is right about a charged
            device, and on the wall clock takes the generic presets.
        frontend: The checkpoint's own by default; one without a tokenizer serves token ids alone.
        recording: Every target by default: what is served here is looked at request by request.
    """

    numerics: Numerics = Numerics.FAST
    dtype: ModelDtype = ModelDtype.FLOAT32
    device: str = "cpu"
    kernels: KernelSet | None = None
    design: ControllerFactory = catalog_design
    wrap_machine: MachineWrapper | None = None
    clock: Clock | None = None
    charged: SimulatedDevice | None = None
    belief: MachineCostModel | None = None
    frontend: Frontend | None = None
    recording: RecordingOptions = ALL_TARGETS


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedParts:
    """What an engine without tensors is made of.

    Attributes:
        device: How long things take there, and how large they are: the truth.
        tokens: What requests say.
        vocabulary_tokens: Ids a raw prompt may use.
        frontend: Of the world; without a tokenizer it serves token ids alone.
        design: The cache design.
        belief: What the design holds of the device's times; `None` is right about them.
        failing_forwards: Seeded faults, by ordinal.
        failing_transfers: The same, of copies between Device and Host.
        clock: Moves only where the engine waits.
        recording: Decisions by default: a run here may have very many requests.
    """

    device: SimulatedDevice
    tokens: TokenSource
    vocabulary_tokens: int
    frontend: Frontend
    design: ControllerFactory = catalog_design
    belief: MachineCostModel | None = None
    failing_forwards: Container[int] = frozenset()
    failing_transfers: Container[int] = frozenset()
    clock: VirtualClock
    recording: RecordingOptions = DECISIONS_ONLY


def assemble_simulated(options: EngineOptions, parts: SimulatedParts) -> Engine:
    """The same engine with no tensors, in virtual time.

    Raises:
        OptionsError: Options that cannot hold one request, or a backend without a page size, or the
            other way round.
    """
    resolved = _resolved_for(options, parts.device)
    machine = SimulatedMachine(
        ChargedTime(parts.device, resolved.capacity.host_kv, parts.clock),
        parts.tokens,
        failing_forwards=parts.failing_forwards,
        failing_transfers=parts.failing_transfers,
    )
    belief = parts.belief or model_from_timing(parts.device.timing)
    return Engine(
        options=resolved,
        frontend=parts.frontend,
        controller=parts.design(resolved, machine, belief),
        machine=machine,
        clock=parts.clock,
        vocabulary_tokens=parts.vocabulary_tokens,
        recording=parts.recording,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BareProgram:
    """Program alone, and what it runs on: for work by hand, with no policy and no step loop.

    Attributes:
        machine: Without tensors; forwards go to it directly.
        clock: Moves only where somebody waits on it.
        options: As resolved for the device.
    """

    program: Program
    machine: MachineApi
    clock: VirtualClock
    options: ResolvedOptions


def assemble_program(
    options: EngineOptions,
    device: SimulatedDevice,
    tokens: TokenSource,
    *,
    failing_transfers: frozenset[int] = frozenset(),
) -> BareProgram:
    """Program on a machine without tensors: for looking at plans and transitions, one by one.

    Args:
        options: Capacities.
        device: How long copies take, and how large they are.
        tokens: What forwards draw.
        failing_transfers: Seeded faults, by ordinal.

    Raises:
        OptionsError: As `assemble_simulated`.
    """
    resolved, clock = _resolved_for(options, device), VirtualClock()
    machine = SimulatedMachine(
        ChargedTime(device, resolved.capacity.host_kv, clock),
        tokens,
        failing_transfers=failing_transfers,
    )
    return BareProgram(
        program=Program(resolved, machine), machine=machine, clock=clock, options=resolved
    )


def _resolved_for(options: EngineOptions, device: SimulatedDevice) -> ResolvedOptions:
    return options.resolve(device.page_bytes, state_image_bytes=device.state_image_bytes)


def assemble_torch(
    checkpoint: Path | str, options: EngineOptions | None = None, parts: TorchParts | None = None
) -> Engine:
    """An engine on real tensors.

    Args:
        checkpoint: A folder, or a hub id where the network reaches one.
        options: Capacities; one lane by default.
        parts: Numerics, element type, design, and what stands between.

    Raises:
        OptionsError: Options that cannot hold one request; a backend, which no torch model has
            yet; a device that is not here. Nothing was read.
        CheckpointError: A checkpoint that cannot be served. Nothing large was allocated.
        PresetError: On the wall clock without a belief, and not run from a checkout.
    """
    options, parts = options or EngineOptions(), parts or TorchParts()
    _check_for_torch(options)
    clock = parts.clock or MonotonicClock()
    device = _device(parts.device)
    served = _serve(checkpoint, options, parts, clock, device)
    return Engine(
        options=served.options,
        frontend=served.frontend,
        controller=parts.design(served.options, served.machine, served.belief),
        machine=served.machine,
        clock=clock,
        vocabulary_tokens=served.vocabulary_tokens,
        recording=parts.recording,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served:
    """What a checkpoint brings, and the options as its sizes resolve them."""

    options: ResolvedOptions
    frontend: Frontend
    machine: MachineApi
    vocabulary_tokens: int
    belief: MachineCostModel


def _device(name: str) -> torch.device:
    """The device of that name, if torch can compute there."""
    import torch

    legal = {"cpu", "cuda"} if torch.cuda.is_available() else {"cpu"}
    if name not in legal:
        raise OptionsError("parts.device", found=name, legal=" or ".join(sorted(legal)) + " here")
    return torch.device(name)


def _check_for_torch(options: EngineOptions) -> None:
    """Judges options before anything is read; what depends on the checkpoint comes later."""
    options.resolve()
    if options.backend is not None:
        raise OptionsError(
            "options.backend",
            found=options.backend,
            legal="None on tensors: models served here have the Main pool alone; a backend's pool"
            " is there on a simulated device with backend_page_bytes",
        )


def _serve(
    checkpoint: Path | str,
    options: EngineOptions,
    parts: TorchParts,
    clock: Clock,
    device: torch.device,
) -> _Served:
    """Reads a checkpoint and puts its model on a machine."""
    from ninfer_kernels.kernel_set import kernels_for
    from ninfer_lab.machine.torch_machine import TorchMachine
    from ninfer_lab.models.qwen3_5.checkpoint_files import files_digest, resolve_folder
    from ninfer_lab.models.qwen3_5.config import read_geometry
    from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
    from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes
    from ninfer_lab.models.qwen3_5.model import HybridModel
    from ninfer_lab.models.qwen3_5.state_image import DeviceTensors
    from ninfer_lab.models.qwen3_5.weights import load_weights

    folder = resolve_folder(checkpoint)
    geometry = read_geometry(folder)
    resolved = options.resolve(
        KvPageBytes(main=kv_page_bytes(geometry, parts.dtype)),
        state_image_bytes=state_image_bytes(geometry, parts.dtype),
    )
    if resolved.max_context_tokens > geometry.max_position_tokens:
        raise OptionsError(
            "options.max_context_tokens",
            found=resolved.max_context_tokens,
            legal=f"<= {geometry.max_position_tokens} (the checkpoint's own limit)",
        )
    frontend = parts.frontend or Frontend.from_folder(folder)
    model = HybridModel(
        geometry=geometry,
        weights=load_weights(folder, geometry, dtype=parts.dtype, device=device),
        kernels=parts.kernels or kernels_for(device),
        numerics=parts.numerics,
    )
    capacity = resolved.capacity
    tensors = DeviceTensors.allocate(
        geometry,
        page_count=capacity.device_kv_pages,
        state_slot_count=capacity.device_state_slots,
        dtype=parts.dtype,
        device=device,
    )
    host = HostTensors.beside(
        tensors, state_slot_count=capacity.host_state_slots, arena=capacity.host_kv
    )
    charged = None
    if parts.charged is not None:
        charged = ChargedTime(parts.charged, capacity.host_kv, clock)
    machine: MachineApi = TorchMachine(
        model, tensors, host, clock, charged, weights_digest=lambda: files_digest(folder)
    )
    if parts.wrap_machine is not None:
        machine = parts.wrap_machine(machine)
    return _Served(
        options=resolved,
        frontend=frontend,
        machine=machine,
        vocabulary_tokens=geometry.vocab_size,
        belief=_belief(parts, geometry),
    )


def _belief(parts: TorchParts, geometry: ModelGeometry) -> MachineCostModel:
    """What was handed in; else the truth, if it is known; else what is shipped for any machine."""
    if parts.belief is not None:
        return parts.belief
    if parts.charged is not None:
        return model_from_timing(parts.charged.timing)
    return resolve_cost_model(
        hardware_class=GENERIC,
        signature=prefill_signature(geometry, parts.dtype),
        shipped=shipped_presets(),
    )
