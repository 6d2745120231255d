"""What does `ninfer-lab bench` do?

Owns the order of a run: choose rows, settle the process, measure row by row with a line for each,
print the tables, and put those of a whole run into the README. Does not know how a row is measured.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ninfer_lab
from ninfer_lab.contract.clock import MonotonicClock
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.bench.machine_facts import machine_facts
from ninfer_lab.lab.bench.measure import FULL_EFFORT, QUICK_EFFORT, Studio
from ninfer_lab.lab.bench.rows import all_rows, select_rows
from ninfer_lab.lab.bench.table import render, write_into
from ninfer_lab.lab.notebook_shelf import NotebookError, NotebookShelf

THREAD_COUNT = 2
"""What both sides compute with, whatever the machine has: figures of two machines compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """What a person asks for.

    Attributes:
        patterns: Of row names; none means all.
        is_quick: One repeat of everything: whether it runs, not how fast.
    """

    patterns: tuple[str, ...] = ()
    is_quick: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether its tables may stand in the README."""
        return not self.patterns and not self.is_quick


def run_bench(request: BenchRequest, say: Callable[[str], None]) -> None:
    """Measures and reports.

    Args:
        request: Which rows, and how thoroughly.
        say: Takes one line or table at a time.

    Raises:
        OptionsError: A pattern without a row, or torch is there already and its threads spin.

    Effects: a whole run writes its tables into the checkout's README, if that has the marks.
    """
    notebooks = _notebooks()
    rows = select_rows(all_rows(tuple(notebooks)), request.patterns)
    _require_quiet_threads()

    from ninfer_lab.lab.bench.transformers_side import SETTINGS, settle_process, tensor_facts

    settle_process(THREAD_COUNT)
    facts = machine_facts(tensor_facts(), thread_count=THREAD_COUNT)
    findings = []
    with tempfile.TemporaryDirectory(prefix="ninfer-lab-bench-") as scratch:
        studio = Studio(
            scratch=Path(scratch),
            notebooks=notebooks,
            effort=QUICK_EFFORT if request.is_quick else FULL_EFFORT,
            clock=MonotonicClock(),
        )
        for row in rows:
            finding = studio.find(row)
            findings.append(finding)
            say(f"{finding.name}: {finding.figure_text}, goal {finding.goal_text}")
    tables = render(findings, facts, SETTINGS)
    say("\n" + tables)
    if request.is_whole:
        readme = Path(ninfer_lab.__file__).parents[1] / "README.md"
        say(f"written into {readme.name}" if write_into(readme, tables) else "README has no marks")


def _notebooks() -> dict[str, Path]:
    try:
        return {path.stem: path for path in NotebookShelf.find().paths}
    except NotebookError:
        return {}


def _require_quiet_threads() -> None:
    """Threads that sleep in waiting, and no hub; both count only before the first import."""
    if "torch" in sys.modules and os.environ.get("OMP_WAIT_POLICY") != "PASSIVE":
        raise OptionsError(
            "OMP_WAIT_POLICY",
            found=os.environ.get("OMP_WAIT_POLICY", "unset, and torch imported"),
            legal="PASSIVE before torch is imported: run `ninfer-lab bench`",
        )
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ["HF_HUB_OFFLINE"] = "1"
