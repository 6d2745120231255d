"""On what was it measured, and when?

Owns the facts that stand above the tables. Reads them from the system; decides nothing.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

CPU_FACTS = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFacts:
    """What the tensor libraries say of themselves and of the processor.

    Attributes:
        vector_instructions: The widest that torch uses here, by its name.
        multiplies_bfloat16: Whether the processor does; where not, a library either emulates such a
            product or widens the weight, and rows in bfloat16 show which.
    """

    torch_version: str
    transformers_version: str
    vector_instructions: str
    multiplies_bfloat16: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """One machine on one day.

    Attributes:
        load: Processes that wanted a core in the minute before, this one not counted; `None` where
            the system does not say.
    """

    day: date
    cpu: str
    core_count: int
    thread_count: int
    load: float | None
    tensors: TensorFacts

    def __str__(self) -> str:
        load = "" if self.load is None else f", load {self.load:.1f} before the run"
        tensors = self.tensors
        bfloat16 = "with" if tensors.multiplies_bfloat16 else "without"
        return (
            f"{self.day.isoformat()} · {self.cpu}, {self.core_count} cores, "
            f"{tensors.vector_instructions}, {bfloat16} bfloat16 products{load} · "
            f"Python {platform.python_version()}, torch {tensors.torch_version}, "
            f"transformers {tensors.transformers_version} · {self.thread_count} threads, "
            f"OMP_WAIT_POLICY={os.environ.get('OMP_WAIT_POLICY', 'unset')}"
        )


def cpu_model(facts: str) -> str:
    """The processor's name in the text of `/proc/cpuinfo`, else what Python knows."""
    for line in facts.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def machine_facts(tensors: TensorFacts, *, thread_count: int) -> MachineFacts:
    """The facts of here and now."""
    return MachineFacts(
        day=datetime.now(tz=UTC).date(),
        cpu=cpu_model(CPU_FACTS.read_text() if CPU_FACTS.is_file() else ""),
        core_count=os.cpu_count() or 1,
        thread_count=thread_count,
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        tensors=tensors,
    )
