"""Law: options are judged before anything is read, and a design is built over the machine that the
engine drives.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.recorded_runs import DEVICE, VOCABULARY_TOKENS
from ninfer_lab.contract.cache_controller import CacheController
from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import EngineOptions, ResolvedOptions
from ninfer_lab.cost.machine_cost_model import (
    CoefficientOrigin,
    MachineCostModel,
    model_from_timing,
)
from ninfer_lab.engine.assembly import (
    SimulatedParts,
    TorchParts,
    assemble_simulated,
    assemble_torch,
    catalog_design,
)
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.serving import tiny_checkpoint
from ninfer_lab.lab.token_sources import SeededTokens
from simulation.content_machine import ContentMachine
from simulation.engine_world import BELIEF


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (EngineOptions(max_concurrency=9), "max_concurrency"),
        (EngineOptions(kv_capacity_tokens=64), "kv_capacity_tokens"),
        (EngineOptions(max_concurrency=4, max_private_continuations=3), "max_private_cont"),
    ],
)
def test_options_that_hold_no_request_are_refused_before_the_checkpoint_is_looked_for(
    options: EngineOptions, name: str, tmp_path: Path
) -> None:  # spec: CFG-1
    with pytest.raises(OptionsError, match=rf"options\.{name}"):
        assemble_torch(tmp_path / "nothing-here", options)


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
    assert [use.used_count for use in design.occupancy().axes] == [0, 0]
    assert [use.capacity_count for use in design.occupancy().axes] == [4, 8]


class Believing:
    """The design of the seeds, and what it was told to believe."""

    def __init__(self) -> None:
        self.belief: MachineCostModel | None = None

    def __call__(
        self, options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
    ) -> CacheController:
        self.belief = belief
        return catalog_design(options, machine, belief)


def simulated_belief(belief: MachineCostModel | None) -> MachineCostModel | None:
    design = Believing()
    parts = SimulatedParts(
        device=DEVICE,
        tokens=SeededTokens(seed=1, vocabulary_tokens=VOCABULARY_TOKENS),
        vocabulary_tokens=VOCABULARY_TOKENS,
        frontend=Frontend(),
        design=design,
        belief=belief,
        clock=VirtualClock(),
    )
    assemble_simulated(EngineOptions(), parts).close()
    return design.belief


def torch_belief(parts: TorchParts) -> MachineCostModel | None:
    design = Believing()
    assemble_torch(tiny_checkpoint(), EngineOptions(), replace(parts, design=design)).close()
    return design.belief


def test_a_design_is_right_about_a_machine_in_virtual_time_unless_it_is_told_otherwise() -> None:
    right = model_from_timing(DEVICE.timing)
    assert right != BELIEF
    assert simulated_belief(None) == right
    assert simulated_belief(BELIEF) is BELIEF
    charged = TorchParts(clock=VirtualClock(), charged=DEVICE)
    assert torch_belief(charged) == right
    assert torch_belief(replace(charged, belief=BELIEF)) is BELIEF


def test_of_the_wall_clock_a_design_believes_the_generic_presets() -> None:
    belief = torch_belief(TorchParts())
    assert belief is not None
    origins = (belief.transfer_source.origin, belief.prefill_source.origin)
    assert origins == (CoefficientOrigin.GENERIC, CoefficientOrigin.GENERIC)
