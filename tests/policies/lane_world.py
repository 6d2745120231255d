"""A lane-owned engine over the machine that knows contents, held to every law it owes.

One law of the catalog engine does not hold here, and is not meant to: a lane writes into the page
in which its own checkpoint ends, past the checkpoint's tokens. That it writes nowhere else is a law
of this room, and contents are looked at after every call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import EngineOptions, ResolvedOptions
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.lab.checkers.publication import CheckpointsAreProtected
from ninfer_lab.lab.laws import Law
from ninfer_lab.policies.lane_owned.controller import LaneOwnedController
from ninfer_lab.policies.lane_owned.switches import AS_IT_WAS, LaneSwitches
from ninfer_lab.policies.lane_owned.trace import LaneTrace
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, engine_world, prepared

NOT_OWED: frozenset[type[Law]] = frozenset({CheckpointsAreProtected})

OPENER_TOKENS = 2
"""Before which a turn's closure lies."""


@dataclass(slots=True, kw_only=True)
class Built:
    """Where a factory leaves the controllers it has built."""

    controllers: list[LaneOwnedController]

    @property
    def last(self) -> LaneOwnedController:
        return self.controllers[-1]


def building(switches: LaneSwitches, trace: LaneTrace) -> tuple[ControllerFactory, Built]:
    """A factory, and where to find what it has built."""
    built = Built(controllers=[])

    def design(
        options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
    ) -> LaneOwnedController:
        built.controllers.append(LaneOwnedController(options, machine, switches, trace))
        return built.last

    return design, built


@dataclass(slots=True, kw_only=True)
class LaneWorld:
    """One engine, its trace, and the shortest ways to drive it."""

    world: EngineWorld
    trace: LaneTrace
    controller: LaneOwnedController

    def ask(
        self, prompt: PreparedPrompt | Iterable[int], *, output: int = 1, is_side: bool = False
    ) -> RequestId:
        """Queues a prompt."""
        purpose = RequestPurpose.SIDE_REQUEST if is_side else RequestPurpose.CONVERSATION
        return self.world.submit(prompt, output=output, purpose=purpose)

    def run(
        self, prompt: PreparedPrompt | Iterable[int], *, output: int = 1, is_side: bool = False
    ) -> tuple[str, int]:
        """Serves a prompt to its end; how it started, and how much it was spared."""
        request = self.ask(prompt, output=output, is_side=is_side)
        log = self.world.finish(request).log
        assert log.prefix_reuse_path is not None
        return log.prefix_reuse_path.value, log.prefix_cache_hit_tokens


def lane_world(
    switches: LaneSwitches = AS_IT_WAS, *, lanes: int = 1, pages: int = 12, extra_slots: int = 3
) -> LaneWorld:
    """An engine of lanes with contexts of four pages."""
    trace = LaneTrace()
    design, built = building(switches, trace)
    options = EngineOptions(
        max_concurrency=lanes,
        max_context_tokens=256,
        kv_capacity_tokens=64 * pages,
        prefill_chunk_tokens=100,
        device_state_slots=extra_slots,
    )
    world = engine_world(options, design=design, without=NOT_OWED)
    return LaneWorld(world=world, trace=trace, controller=built.last)


def opening(tokens: Iterable[int], *, cuts: tuple[int, ...] = ()) -> PreparedPrompt:
    """A turn whose closure lies before its opener, which the next turn leaves out."""
    listed = list(tokens)
    return prepared(listed, closure=len(listed) - OPENER_TOKENS, cuts=cuts)


def next_turn(prompt: PreparedPrompt, extra: Iterable[int], *, output: int = 1) -> PreparedPrompt:
    """The turn after a prompt was answered: its opener rewritten, the answer taken over."""
    (closure,) = prompt.rewrite_execution_frontiers[-1:]
    answer = answer_to(prompt.tokens, output)
    tokens = [*prompt.tokens[:closure], 7, *answer, *extra]
    return opening(tokens, cuts=prompt.rewrite_execution_frontiers)
