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
    from ninfer_lab.contract.options import Sampling as Sampling
    from ninfer_lab.contract.options import SpeculativeBackend as SpeculativeBackend
    from ninfer_lab.contract.result import SequenceEnd as SequenceEnd
    from ninfer_lab.engine.assembly import TorchParts as TorchParts
    from ninfer_lab.lab import designs as designs
    from ninfer_lab.lab import engine_trials as engine_trials
    from ninfer_lab.lab import experiments as experiments
    from ninfer_lab.lab import explain as explain
    from ninfer_lab.lab import figures as figures
    from ninfer_lab.lab import laws as laws
    from ninfer_lab.lab import side_request_donts as side_request_donts
    from ninfer_lab.lab import side_request_room as side_request_room
    from ninfer_lab.lab import side_request_ways as side_request_ways
    from ninfer_lab.lab import side_requests as side_requests
    from ninfer_lab.lab import stories as stories
    from ninfer_lab.lab import tables as tables
    from ninfer_lab.lab import transition_trials as transition_trials
    from ninfer_lab.lab import worlds as worlds
    from ninfer_lab.lab.chat import Chat as Chat
    from ninfer_lab.lab.faults.fault import Fault as Fault
    from ninfer_lab.lab.faults.faulty_machine import breaking as breaking
    from ninfer_lab.lab.faults.trained_world import trained_world as trained_world
    from ninfer_lab.lab.faults.trial import fault_table as fault_table
    from ninfer_lab.lab.kernel_study.study import KernelStudy as KernelStudy
    from ninfer_lab.lab.ledger_bench import LedgerBench as LedgerBench
    from ninfer_lab.lab.serving import open_engine as open_engine
    from ninfer_lab.lab.serving import tiny_checkpoint as tiny_checkpoint
    from ninfer_lab.lab.tiny_model.phrases import FactKind as FactKind
    from ninfer_lab.lab.traces.reading import read_trace as read_trace
    from ninfer_lab.lab.traces.replay import replay as replay
    from ninfer_lab.lab.wanted import Fate as Fate
    from ninfer_lab.lab.wanted import Wanted as Wanted
    from ninfer_lab.lab.wanted import demoting as demoting
    from ninfer_lab.lab.wanted import evicting as evicting
    from ninfer_lab.lab.widgets.ledger_desk import LedgerDesk as LedgerDesk
    from ninfer_lab.lab.widgets.transition_desk import TransitionDesk as TransitionDesk
    from ninfer_lab.policies.row_ledger import RowStart as RowStart
    from ninfer_lab.policies.synchronous_design import SynchronousDesign as SynchronousDesign

_HOME_OF_NAME = {
    "CacheMode": "contract.options",
    "Chat": "lab.chat",
    "EngineOptions": "contract.options",
    "FactKind": "lab.tiny_model.phrases",
    "Fate": "lab.wanted",
    "Fault": "lab.faults.fault",
    "KernelStudy": "lab.kernel_study.study",
    "LedgerBench": "lab.ledger_bench",
    "LedgerDesk": "lab.widgets.ledger_desk",
    "Numerics": "contract.numerics",
    "RequestOptions": "contract.options",
    "ReusePath": "contract.candidate",
    "RowStart": "policies.row_ledger",
    "Sampling": "contract.options",
    "SequenceEnd": "contract.result",
    "SpeculativeBackend": "contract.options",
    "SynchronousDesign": "policies.synchronous_design",
    "TorchParts": "engine.assembly",
    "TransitionDesk": "lab.widgets.transition_desk",
    "Wanted": "lab.wanted",
    "breaking": "lab.faults.faulty_machine",
    "demoting": "lab.wanted",
    "evicting": "lab.wanted",
    "fault_table": "lab.faults.trial",
    "open_engine": "lab.serving",
    "read_trace": "lab.traces.reading",
    "replay": "lab.traces.replay",
    "tiny_checkpoint": "lab.serving",
    "trained_world": "lab.faults.trained_world",
}
"""Names that notebooks use without their module, and the module below `ninfer_lab` that has
them.
"""

_MODULES = (
    "designs",
    "engine_trials",
    "experiments",
    "explain",
    "figures",
    "laws",
    "side_request_donts",
    "side_request_room",
    "side_request_ways",
    "side_requests",
    "stories",
    "tables",
    "transition_trials",
    "worlds",
)

__all__ = [
    "CacheMode",
    "Chat",
    "EngineOptions",
    "FactKind",
    "Fate",
    "Fault",
    "KernelStudy",
    "LedgerBench",
    "LedgerDesk",
    "Numerics",
    "RequestOptions",
    "ReusePath",
    "RowStart",
    "Sampling",
    "SequenceEnd",
    "SpeculativeBackend",
    "SynchronousDesign",
    "TorchParts",
    "TransitionDesk",
    "Wanted",
    "breaking",
    "demoting",
    "designs",
    "engine_trials",
    "evicting",
    "experiments",
    "explain",
    "fault_table",
    "figures",
    "laws",
    "open_engine",
    "read_trace",
    "replay",
    "side_request_donts",
    "side_request_room",
    "side_request_ways",
    "side_requests",
    "stories",
    "tables",
    "tiny_checkpoint",
    "trained_world",
    "transition_trials",
    "worlds",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"ninfer_lab.lab.{name}")
    if name in _HOME_OF_NAME:
        return getattr(import_module(f"ninfer_lab.{_HOME_OF_NAME[name]}"), name)
    raise AttributeError(f"lab has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
