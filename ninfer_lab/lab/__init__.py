"""What does a person do with the engine?

Owns the workbench: conversations, tables, figures, experiments, widgets, the command line. Reads
events and snapshots, never reaches inward. `from ninfer_lab import lab` is the one import of a
notebook; what it names is loaded when it is first used, so that importing the room costs nothing
and pulls in no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ninfer_lab.contract.candidate import ReusePath as ReusePath
    from ninfer_lab.contract.numerics import Numerics as Numerics
    from ninfer_lab.contract.options import CacheMode as CacheMode
    from ninfer_lab.contract.options import EngineOptions as EngineOptions
    from ninfer_lab.contract.options import RequestOptions as RequestOptions
    from ninfer_lab.contract.options import SpeculativeBackend as SpeculativeBackend
    from ninfer_lab.contract.recording_options import EVERYTHING as EVERYTHING
    from ninfer_lab.contract.result import SequenceEnd as SequenceEnd
    from ninfer_lab.contract.sampling import Sampling as Sampling
    from ninfer_lab.engine.assembly import TorchParts as TorchParts
    from ninfer_lab.lab import certificates as certificates
    from ninfer_lab.lab import changes as changes
    from ninfer_lab.lab import decisions as decisions
    from ninfer_lab.lab import demand_worth as demand_worth
    from ninfer_lab.lab import designs as designs
    from ninfer_lab.lab import eight_prefixes_figures as eight_prefixes_figures
    from ninfer_lab.lab import engine_trials as engine_trials
    from ninfer_lab.lab import experiments as experiments
    from ninfer_lab.lab import explain as explain
    from ninfer_lab.lab import figures as figures
    from ninfer_lab.lab import ladders as ladders
    from ninfer_lab.lab import laws as laws
    from ninfer_lab.lab import planner_problems as planner_problems
    from ninfer_lab.lab import prefix_worth as prefix_worth
    from ninfer_lab.lab import regret as regret
    from ninfer_lab.lab import session_files as session_files
    from ninfer_lab.lab import side_request_donts as side_request_donts
    from ninfer_lab.lab import side_request_room as side_request_room
    from ninfer_lab.lab import side_request_ways as side_request_ways
    from ninfer_lab.lab import side_requests as side_requests
    from ninfer_lab.lab import stories as stories
    from ninfer_lab.lab import tables as tables
    from ninfer_lab.lab import target_graph as target_graph
    from ninfer_lab.lab import transition_trials as transition_trials
    from ninfer_lab.lab import worlds as worlds
    from ninfer_lab.lab import wrong_beliefs as wrong_beliefs
    from ninfer_lab.lab.calibration.belief_decisions import study_beliefs as study_beliefs
    from ninfer_lab.lab.calibration.belief_worlds import at_truth as at_truth
    from ninfer_lab.lab.calibration.belief_worlds import compare_beliefs as compare_beliefs
    from ninfer_lab.lab.calibration.belief_worlds import comparison_table as comparison_table
    from ninfer_lab.lab.calibration.beliefs import Belief as Belief
    from ninfer_lab.lab.calibration.beliefs import published_case as published_case
    from ninfer_lab.lab.calibration.beliefs import wrong_by as wrong_by
    from ninfer_lab.lab.calibration.calibrate import CalibrationRequest as CalibrationRequest
    from ninfer_lab.lab.calibration.calibrate import calibrate as calibrate
    from ninfer_lab.lab.calibration.first_token import time_first_tokens as time_first_tokens
    from ninfer_lab.lab.calibration.tensor_bench import believed as believed
    from ninfer_lab.lab.chat import Chat as Chat
    from ninfer_lab.lab.compare_capacity import Capacity as Capacity
    from ninfer_lab.lab.compare_designs import compare as compare
    from ninfer_lab.lab.compare_statistics import paired_table as paired_table
    from ninfer_lab.lab.compare_streams import branch_table as branch_table
    from ninfer_lab.lab.compare_workloads import Chats as Chats
    from ninfer_lab.lab.compare_workloads import chats as chats
    from ninfer_lab.lab.eight_prefixes_study import Rules as Rules
    from ninfer_lab.lab.eight_prefixes_study import Turns as Turns
    from ninfer_lab.lab.eight_prefixes_study import eight_prefixes as eight_prefixes
    from ninfer_lab.lab.eight_prefixes_study import reuse_by_draw as reuse_by_draw
    from ninfer_lab.lab.eight_prefixes_study import run_turns as run_turns
    from ninfer_lab.lab.eight_prefixes_study import sharing_nothing as sharing_nothing
    from ninfer_lab.lab.eight_prefixes_tables import chance_table as chance_table
    from ninfer_lab.lab.eight_prefixes_tables import reuse_table as reuse_table
    from ninfer_lab.lab.faults.fault import Fault as Fault
    from ninfer_lab.lab.faults.faulty_machine import breaking as breaking
    from ninfer_lab.lab.faults.trained_world import trained_world as trained_world
    from ninfer_lab.lab.faults.trial import fault_table as fault_table
    from ninfer_lab.lab.fork import fork_here as fork_here
    from ninfer_lab.lab.kernel_study.study import KernelStudy as KernelStudy
    from ninfer_lab.lab.ledger_bench import LedgerBench as LedgerBench
    from ninfer_lab.lab.live_recording import recorded as recorded
    from ninfer_lab.lab.recording.recording import Recording as Recording
    from ninfer_lab.lab.retelling import run_again as run_again
    from ninfer_lab.lab.serving import open_engine as open_engine
    from ninfer_lab.lab.serving import tiny_checkpoint as tiny_checkpoint
    from ninfer_lab.lab.timeline import Timeline as Timeline
    from ninfer_lab.lab.timeline import Unit as Unit
    from ninfer_lab.lab.tiny_model.phrases import FactKind as FactKind
    from ninfer_lab.lab.traces.reading import read_trace as read_trace
    from ninfer_lab.lab.traces.replay import replay as replay
    from ninfer_lab.lab.wanted import Fate as Fate
    from ninfer_lab.lab.wanted import Wanted as Wanted
    from ninfer_lab.lab.wanted import demoting as demoting
    from ninfer_lab.lab.wanted import evicting as evicting
    from ninfer_lab.lab.widgets.dashboard_view import DashboardView as DashboardView
    from ninfer_lab.lab.widgets.ledger_desk import LedgerDesk as LedgerDesk
    from ninfer_lab.lab.widgets.placement_map_view import PlacementMapView as PlacementMapView
    from ninfer_lab.lab.widgets.pressure_ladders_view import (
        PressureLaddersView as PressureLaddersView,
    )
    from ninfer_lab.lab.widgets.stepper_view import StepperView as StepperView
    from ninfer_lab.lab.widgets.target_graph_view import TargetGraphView as TargetGraphView
    from ninfer_lab.lab.widgets.transition_desk import TransitionDesk as TransitionDesk
    from ninfer_lab.lab.widgets.turns_desk import TurnsDesk as TurnsDesk
    from ninfer_lab.policies.prefix_tree.tree_design import TreeDesign as TreeDesign
    from ninfer_lab.policies.row_ledger import RowStart as RowStart
    from ninfer_lab.policies.synchronous_design import SynchronousDesign as SynchronousDesign

_HOME_OF_NAME = {
    "Belief": "lab.calibration.beliefs",
    "CacheMode": "contract.options",
    "CalibrationRequest": "lab.calibration.calibrate",
    "Capacity": "lab.compare_capacity",
    "Chat": "lab.chat",
    "Chats": "lab.compare_workloads",
    "DashboardView": "lab.widgets.dashboard_view",
    "EVERYTHING": "contract.recording_options",
    "EngineOptions": "contract.options",
    "FactKind": "lab.tiny_model.phrases",
    "Fate": "lab.wanted",
    "Fault": "lab.faults.fault",
    "KernelStudy": "lab.kernel_study.study",
    "LedgerBench": "lab.ledger_bench",
    "LedgerDesk": "lab.widgets.ledger_desk",
    "Numerics": "contract.numerics",
    "PlacementMapView": "lab.widgets.placement_map_view",
    "PressureLaddersView": "lab.widgets.pressure_ladders_view",
    "Recording": "lab.recording.recording",
    "RequestOptions": "contract.options",
    "ReusePath": "contract.candidate",
    "RowStart": "policies.row_ledger",
    "Rules": "lab.eight_prefixes_study",
    "Sampling": "contract.sampling",
    "SequenceEnd": "contract.result",
    "SpeculativeBackend": "contract.options",
    "StepperView": "lab.widgets.stepper_view",
    "SynchronousDesign": "policies.synchronous_design",
    "TargetGraphView": "lab.widgets.target_graph_view",
    "Timeline": "lab.timeline",
    "TorchParts": "engine.assembly",
    "TransitionDesk": "lab.widgets.transition_desk",
    "TreeDesign": "policies.prefix_tree.tree_design",
    "Turns": "lab.eight_prefixes_study",
    "TurnsDesk": "lab.widgets.turns_desk",
    "Unit": "lab.timeline",
    "Wanted": "lab.wanted",
    "at_truth": "lab.calibration.belief_worlds",
    "believed": "lab.calibration.tensor_bench",
    "branch_table": "lab.compare_streams",
    "breaking": "lab.faults.faulty_machine",
    "calibrate": "lab.calibration.calibrate",
    "chance_table": "lab.eight_prefixes_tables",
    "chats": "lab.compare_workloads",
    "compare": "lab.compare_designs",
    "compare_beliefs": "lab.calibration.belief_worlds",
    "comparison_table": "lab.calibration.belief_worlds",
    "demoting": "lab.wanted",
    "eight_prefixes": "lab.eight_prefixes_study",
    "evicting": "lab.wanted",
    "fault_table": "lab.faults.trial",
    "fork_here": "lab.fork",
    "open_engine": "lab.serving",
    "paired_table": "lab.compare_statistics",
    "published_case": "lab.calibration.beliefs",
    "read_trace": "lab.traces.reading",
    "recorded": "lab.live_recording",
    "replay": "lab.traces.replay",
    "reuse_by_draw": "lab.eight_prefixes_study",
    "reuse_table": "lab.eight_prefixes_tables",
    "run_again": "lab.retelling",
    "run_turns": "lab.eight_prefixes_study",
    "sharing_nothing": "lab.eight_prefixes_study",
    "study_beliefs": "lab.calibration.belief_decisions",
    "time_first_tokens": "lab.calibration.first_token",
    "tiny_checkpoint": "lab.serving",
    "trained_world": "lab.faults.trained_world",
    "wrong_by": "lab.calibration.beliefs",
}
"""Names that notebooks use without their module, and the module below `ninfer_lab` that has
them.
"""

_MODULES = (
    "certificates",
    "changes",
    "decisions",
    "demand_worth",
    "designs",
    "eight_prefixes_figures",
    "engine_trials",
    "experiments",
    "explain",
    "figures",
    "ladders",
    "laws",
    "planner_problems",
    "prefix_worth",
    "regret",
    "session_files",
    "side_request_donts",
    "side_request_room",
    "side_request_ways",
    "side_requests",
    "stories",
    "tables",
    "target_graph",
    "transition_trials",
    "worlds",
    "wrong_beliefs",
)

__all__ = [
    "EVERYTHING",
    "Belief",
    "CacheMode",
    "CalibrationRequest",
    "Capacity",
    "Chat",
    "Chats",
    "DashboardView",
    "EngineOptions",
    "FactKind",
    "Fate",
    "Fault",
    "KernelStudy",
    "LedgerBench",
    "LedgerDesk",
    "Numerics",
    "PlacementMapView",
    "PressureLaddersView",
    "Recording",
    "RequestOptions",
    "ReusePath",
    "RowStart",
    "Rules",
    "Sampling",
    "SequenceEnd",
    "SpeculativeBackend",
    "StepperView",
    "SynchronousDesign",
    "TargetGraphView",
    "Timeline",
    "TorchParts",
    "TransitionDesk",
    "TreeDesign",
    "Turns",
    "TurnsDesk",
    "Unit",
    "Wanted",
    "at_truth",
    "believed",
    "branch_table",
    "breaking",
    "calibrate",
    "certificates",
    "chance_table",
    "changes",
    "chats",
    "compare",
    "compare_beliefs",
    "comparison_table",
    "decisions",
    "demand_worth",
    "demoting",
    "designs",
    "eight_prefixes",
    "eight_prefixes_figures",
    "engine_trials",
    "evicting",
    "experiments",
    "explain",
    "fault_table",
    "figures",
    "fork_here",
    "ladders",
    "laws",
    "open_engine",
    "paired_table",
    "planner_problems",
    "prefix_worth",
    "published_case",
    "read_trace",
    "recorded",
    "regret",
    "replay",
    "reuse_by_draw",
    "reuse_table",
    "run_again",
    "run_turns",
    "sharing_nothing",
    "side_request_donts",
    "side_request_room",
    "side_request_ways",
    "side_requests",
    "stories",
    "study_beliefs",
    "tables",
    "target_graph",
    "time_first_tokens",
    "tiny_checkpoint",
    "trained_world",
    "transition_trials",
    "worlds",
    "wrong_beliefs",
    "wrong_by",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"ninfer_lab.lab.{name}")
    if name in _HOME_OF_NAME:
        return getattr(import_module(f"ninfer_lab.{_HOME_OF_NAME[name]}"), name)
    raise AttributeError(f"lab has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
