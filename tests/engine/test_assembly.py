"""Law: options are judged before anything is read and resolved by the model's own sizes, and a
design is built over the machine that the engine drives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ninfer_lab.contract.cache_controller import CacheController
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.device_timing import (
    DecodeTiming,
    DeviceTiming,
    PrefillTiming,
    SimulatedDevice,
    TransferTiming,
    TransferTimings,
)
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.ids import HostGranuleId, HostSlotId, PageId, StateSlotId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import (
    ContextCache,
    EngineOptions,
    ResolvedOptions,
    SpeculativeBackend,
)
from ninfer_lab.contract.transfer import PageTransfer, StateTransfer, Transfer
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.engine.assembly import (
    SimulatedParts,
    TorchParts,
    assemble_simulated,
    assemble_torch,
    catalog_design,
)
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.token_sources import ScriptedTokens
from ninfer_lab.machine.simulated_machine import SimulatedFault, SimulatedMachine
from ninfer_lab.machine.torch_machine import TorchMachine
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes
from ninfer_lab.models.qwen3_5.weights import random_weights, save_checkpoint
from oracle.served_model import SMALL
from simulation.content_machine import ContentMachine
from simulation.engine_world import BELIEF

LAW = TransferTiming(batch_ns=0, operation_ns=10, ns_per_byte_q32=0)
DEVICE = SimulatedDevice(
    timing=DeviceTiming(
        transfer=TransferTimings(d2h=LAW, h2d=LAW, d2d=LAW),
        prefill=PrefillTiming(chunk_ns=1, token_ns_q32=0, attention_pair_ns_q32=0),
        decode=DecodeTiming(step_ns=1, row_ns=0, kv_bytes_per_token=0, kv_ns_per_byte_q32=0),
    ),
    kv_page_bytes=640,
    state_image_bytes=1_000,
)
WITH_BACKEND = replace(DEVICE, backend_page_bytes=64)
OPTIONS = EngineOptions(
    max_concurrency=2, max_context_tokens=200, host_state_slots=3, max_private_continuations=3
)


@dataclass
class Built(Exception):
    """No error: it carries out of assembly what a design is built over."""

    options: ResolvedOptions
    machine: MachineApi


def looked_at(
    options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
) -> CacheController:
    """A design that only shows what it is built over."""
    raise Built(options, machine)


def simulated(
    options: EngineOptions = OPTIONS,
    device: SimulatedDevice = DEVICE,
    failing_transfers: frozenset[int] = frozenset(),
    clock: VirtualClock | None = None,
) -> Built:
    parts = SimulatedParts(
        device=device,
        tokens=ScriptedTokens(),
        vocabulary_tokens=10,
        frontend=Frontend(),
        design=looked_at,
        failing_transfers=failing_transfers,
        clock=clock or VirtualClock(),
    )
    with pytest.raises(Built) as built:
        assemble_simulated(options, parts)
    return built.value


def on_tensors(folder: Path, options: EngineOptions = OPTIONS, **parts: object) -> Built:
    save_checkpoint(folder, SMALL, random_weights(SMALL, seed=1))
    known = replace(TorchParts(design=looked_at, frontend=Frontend()), **parts)  # type: ignore[arg-type]
    with pytest.raises(Built) as built:
        assemble_torch(folder, options, known)
    return built.value


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (EngineOptions(max_concurrency=9), "max_concurrency"),
        (EngineOptions(kv_capacity_tokens=64), "kv_capacity_tokens"),
        (EngineOptions(max_concurrency=4, max_private_continuations=3), "max_private_cont"),
        (EngineOptions(backend=SpeculativeBackend()), "backend"),
    ],
)
def test_options_that_hold_no_request_are_refused_before_the_checkpoint_is_looked_for(
    options: EngineOptions, name: str, tmp_path: Path
) -> None:  # spec: CFG-1
    with pytest.raises(OptionsError, match=rf"options\.{name}"):
        assemble_torch(tmp_path / "nothing-here", options)


@pytest.mark.parametrize("host_kv_capacity_bytes", [None, 0])
def test_pools_of_options_and_device_are_the_same_or_refused(
    host_kv_capacity_bytes: int | None,
) -> None:
    without = replace(OPTIONS, host_kv_capacity_bytes=host_kv_capacity_bytes)
    having = replace(without, backend=SpeculativeBackend())
    for options, device, legal in (
        (having, DEVICE, "None: the served model has no backend pool"),
        (without, WITH_BACKEND, "a SpeculativeBackend"),
    ):
        parts = SimulatedParts(
            device=device,
            tokens=ScriptedTokens(),
            vocabulary_tokens=10,
            frontend=Frontend(),
            design=looked_at,
            clock=VirtualClock(),
        )
        with pytest.raises(OptionsError, match=rf"options\.backend.*{legal}"):
            assemble_simulated(options, parts)


def test_a_simulated_arena_is_divided_by_the_device_s_pages() -> None:  # spec: CAP-1
    arena = simulated(replace(OPTIONS, host_kv_capacity_bytes=6_500)).options.capacity.host_kv
    assert (arena.granule_bytes, arena.granules_count, arena.main_page_granules) == (640, 10, 1)
    both = replace(OPTIONS, host_kv_capacity_bytes=6_500, backend=SpeculativeBackend())
    arena = simulated(both, WITH_BACKEND).options.capacity.host_kv
    assert (arena.granule_bytes, arena.granules_count) == (64, 101)
    assert [arena.page_granules(pool) for pool in KvPool] == [10, 1]


def test_a_simulated_design_knows_the_device_s_sizes() -> None:
    options = simulated(replace(OPTIONS, backend=SpeculativeBackend()), WITH_BACKEND).options
    assert [options.page_bytes.of(pool) for pool in KvPool] == [640, 64]
    assert options.state_image_bytes == 1_000


def test_a_transfer_is_charged_by_the_same_arena() -> None:
    """Two Main pages ten granules apart lie in a row beside a backend, and only there."""
    options = replace(OPTIONS, backend=SpeculativeBackend())
    machine = simulated(options, WITH_BACKEND).machine
    pages = tuple(
        PageTransfer(pool=KvPool.MAIN, device_page=PageId(i), host_granule=HostGranuleId(10 * i))
        for i in range(2)
    )
    machine.start_transfer(Transfer(direction=TransferDirection.D2H, states=(), pages=pages))
    assert machine.next_completion_ns() == 10


def test_seeded_faults_of_transfers_reach_the_machine() -> None:
    clock = VirtualClock()
    machine = simulated(failing_transfers=frozenset({0}), clock=clock).machine
    assert isinstance(machine, SimulatedMachine)
    image = StateTransfer(device_slot=StateSlotId(0), host_slot=HostSlotId(0))
    machine.start_transfer(Transfer(direction=TransferDirection.D2H, states=(image,), pages=()))
    clock.wait_until(20)
    with pytest.raises(SimulatedFault, match="transfer 0"):
        machine.transfer_is_done()


@pytest.mark.parametrize("dtype", ModelDtype)
def test_tensors_of_both_tiers_are_as_large_as_the_options_say(
    dtype: ModelDtype, tmp_path: Path
) -> None:  # spec: CAP-1
    built = on_tensors(tmp_path, dtype=dtype)
    machine, capacity = built.machine, built.options.capacity
    assert isinstance(machine, TorchMachine)
    page_bytes = kv_page_bytes(SMALL, dtype)
    assert capacity.host_kv.granule_bytes == page_bytes
    assert built.options.page_bytes.of(KvPool.MAIN) == page_bytes
    assert built.options.state_image_bytes == state_image_bytes(SMALL, dtype)
    assert capacity.host_kv.granules_count == 3 * 4, "three continuations of four pages"
    host, device = machine.host_tensors, machine.tensors
    assert (host.state_slot_count, host.kv_arena.nbytes) == (3, 12 * page_bytes)
    assert host.allocated_bytes == 12 * page_bytes + 3 * state_image_bytes(SMALL, dtype)
    assert (device.page_count, device.state_slot_count) == (8, 4)


def test_without_a_cache_there_is_no_host_tier(tmp_path: Path) -> None:  # spec: MODE-3
    options = EngineOptions(max_context_tokens=64, context_cache=ContextCache.DISABLED)
    machine = on_tensors(tmp_path, options).machine
    assert isinstance(machine, TorchMachine)
    assert machine.host_tensors.allocated_bytes == 0


def test_both_worlds_resolve_to_the_same_capacity(tmp_path: Path) -> None:
    dtype = ModelDtype.BFLOAT16
    same = replace(
        DEVICE,
        kv_page_bytes=kv_page_bytes(SMALL, dtype),
        state_image_bytes=state_image_bytes(SMALL, dtype),
    )
    clock = VirtualClock()
    built = on_tensors(tmp_path, dtype=dtype, clock=clock, charged=same)
    assert built.options == simulated(device=same).options
    assert isinstance(built.machine, TorchMachine)
    image = StateTransfer(device_slot=StateSlotId(0), host_slot=HostSlotId(2))
    built.machine.start_transfer(
        Transfer(direction=TransferDirection.D2H, states=(image,), pages=())
    )
    assert built.machine.next_completion_ns() == 2 * 10, "charged, not measured"


@pytest.mark.parametrize("device", ["cuda", "gpu"])
def test_a_device_that_is_not_here_is_refused_before_the_checkpoint_is_looked_for(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(OptionsError, match=rf"parts\.device: found '?{device}'?.*cpu here"):
        assemble_torch(tmp_path / "nothing-here", parts=TorchParts(device=device))


def test_a_fresh_design_holds_nothing() -> None:
    options = EngineOptions(max_concurrency=2, max_context_tokens=256).resolve()
    design = catalog_design(options, ContentMachine(options.capacity), BELIEF)
    held = design.describe()
    assert (held.catalog, held.ledger.owners, held.ledger.sequences) == ((), (), ())
    assert [use.used_count for use in design.occupancy().axes] == [0] * 5
    assert [use.capacity_count for use in design.occupancy().axes] == [4, 8, 8, 0, 0]
