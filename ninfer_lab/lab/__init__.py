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
    from ninfer_lab.contract.numerics import Numerics as Numerics
    from ninfer_lab.contract.options import CacheMode as CacheMode
    from ninfer_lab.contract.options import EngineOptions as EngineOptions
    from ninfer_lab.contract.options import RequestOptions as RequestOptions
    from ninfer_lab.contract.options import Sampling as Sampling
    from ninfer_lab.contract.options import SpeculativeBackend as SpeculativeBackend
    from ninfer_lab.engine.assembly import TorchParts as TorchParts
    from ninfer_lab.lab import eight_prefixes_figures as eight_prefixes_figures
    from ninfer_lab.lab import engine_trials as engine_trials
    from ninfer_lab.lab import experiments as experiments
    from ninfer_lab.lab import explain as explain
    from ninfer_lab.lab import figures as figures
    from ninfer_lab.lab import laws as laws
    from ninfer_lab.lab import stories as stories
    from ninfer_lab.lab import tables as tables
    from ninfer_lab.lab import transition_trials as transition_trials
    from ninfer_lab.lab import worlds as worlds
    from ninfer_lab.lab.chat import Chat as Chat
    from ninfer_lab.lab.eight_prefixes_study import Rules as Rules
    from ninfer_lab.lab.eight_prefixes_study import Turns as Turns
    from ninfer_lab.lab.eight_prefixes_study import chance_table as chance_table
    from ninfer_lab.lab.eight_prefixes_study import eight_prefixes as eight_prefixes
    from ninfer_lab.lab.eight_prefixes_study import reuse_by_draw as reuse_by_draw
    from ninfer_lab.lab.eight_prefixes_study import reuse_table as reuse_table
    from ninfer_lab.lab.eight_prefixes_study import run_turns as run_turns
    from ninfer_lab.lab.eight_prefixes_study import sharing_nothing as sharing_nothing
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
    "Rules": "lab.eight_prefixes_study",
    "Sampling": "contract.options",
    "SpeculativeBackend": "contract.options",
    "TorchParts": "engine.assembly",
    "TransitionDesk": "lab.widgets.transition_desk",
    "Turns": "lab.eight_prefixes_study",
    "Wanted": "lab.wanted",
    "breaking": "lab.faults.faulty_machine",
    "chance_table": "lab.eight_prefixes_study",
    "demoting": "lab.wanted",
    "eight_prefixes": "lab.eight_prefixes_study",
    "evicting": "lab.wanted",
    "fault_table": "lab.faults.trial",
    "open_engine": "lab.serving",
    "read_trace": "lab.traces.reading",
    "replay": "lab.traces.replay",
    "reuse_by_draw": "lab.eight_prefixes_study",
    "reuse_table": "lab.eight_prefixes_study",
    "run_turns": "lab.eight_prefixes_study",
    "sharing_nothing": "lab.eight_prefixes_study",
    "tiny_checkpoint": "lab.serving",
    "trained_world": "lab.faults.trained_world",
}
"""Names that notebooks use without their module, and the module below `ninfer_lab` that has
them.
"""

_MODULES = (
    "eight_prefixes_figures",
    "engine_trials",
    "experiments",
    "explain",
    "figures",
    "laws",
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
    "Rules",
    "Sampling",
    "SpeculativeBackend",
    "TorchParts",
    "TransitionDesk",
    "Turns",
    "Wanted",
    "breaking",
    "chance_table",
    "demoting",
    "eight_prefixes",
    "eight_prefixes_figures",
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
    "reuse_by_draw",
    "reuse_table",
    "run_turns",
    "sharing_nothing",
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
