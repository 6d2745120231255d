"""What a cache design believes of its machine: what it was told, the truth where that is known, or
the generic presets.
"""

from __future__ import annotations

from dataclasses import replace

from lab.recorded_runs import DEVICE, VOCABULARY_TOKENS
from ninfer_lab.contract.cache_controller import CacheController
from ninfer_lab.contract.clock import VirtualClock
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
from simulation.engine_world import BELIEF


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
