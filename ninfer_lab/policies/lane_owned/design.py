"""How is a lane-owned engine built?

Owns the factory that is handed to assembly in place of the catalog's.
"""

from __future__ import annotations

from collections.abc import Callable

from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.policies.lane_owned.controller import LaneOwnedController
from ninfer_lab.policies.lane_owned.switches import AS_IT_WAS, LaneSwitches
from ninfer_lab.policies.lane_owned.trace import LaneTrace

LaneOwnedFactory = Callable[[ResolvedOptions, MachineApi, MachineCostModel], LaneOwnedController]


def lane_owned(
    switches: LaneSwitches = AS_IT_WAS, trace: LaneTrace | None = None
) -> LaneOwnedFactory:
    """A factory for `lab.worlds.run(design=...)`.

    Args:
        switches: The ways out that are taken.
        trace: Where the engine that is built tells what it does.
    """

    def design(
        options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
    ) -> LaneOwnedController:
        return LaneOwnedController(options, machine, switches, trace)

    return design
