"""What does `ninfer-lab peers` do?

Owns the order: install the engines, measure run by run with a line for each, print the table, and
keep a whole measurement in `datasets/peers`; or print the table of what is kept there.
Does not know how an engine is installed or asked, nor how the table reads.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

import ninfer_lab
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.bench.machine_facts import CPU_FACTS, cpu_model
from ninfer_lab.lab.bench.peers.environment import PeerAbsent, PeerEnvironment
from ninfer_lab.lab.bench.peers.measured import MeasuredRun, Measurements, read_measurements
from ninfer_lab.lab.bench.peers.runs import RUNS, Peer, PeerRun
from ninfer_lab.lab.bench.peers.streams import first_tokens
from ninfer_lab.lab.bench.peers.table import BEGIN_MARK, END_MARK, render
from ninfer_lab.lab.bench.table import write_into

ROOT = Path(ninfer_lab.__file__).parents[1]
KEPT_FILE = ROOT / "datasets" / "peers" / "measured.json"
README = ROOT / "datasets" / "peers" / "README.md"
PINS_FILE = ROOT / "peers-constraints.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeersCommand:
    """One command line.

    Attributes:
        folder: Of the environment with the other engines.
        patterns: Of runs, as `vLLM*cycle`; none means all.
        pip_options: For pip.
        thread_count: With which an engine computes.
    """

    folder: Path
    patterns: tuple[str, ...] = ()
    pip_options: tuple[str, ...] = ()
    thread_count: int = 2

    def run(self, say: Callable[[str], None]) -> None:
        """Measures, prints, and keeps what is whole.

        Args:
            say: Takes one line or table at a time.

        Raises:
            OptionsError: A pattern without a run, or no checkout.

        Effects: when every run was measured, the kept file and its README are replaced.
        """
        runs = self._chosen()
        if not PINS_FILE.is_file():
            raise OptionsError("peers", found=f"no {PINS_FILE.name}", legal="a checkout")
        environment = PeerEnvironment(
            folder=self.folder, pins=PINS_FILE, pip_options=self.pip_options
        )
        present = set()
        for peer in dict.fromkeys(run.peer for run in runs):
            absent = environment.install(peer, say)
            if absent is None:
                present.add(peer)
            else:
                say(str(absent))
        chosen = [run for run in runs if run.peer in present]
        found = self._measured(chosen, environment.python, say) if chosen else None
        if found is None:
            say("no engine could be asked: nothing is measured, and what is kept stays as it is")
            return
        text = render(found)
        say("\n" + text)
        if len(found.runs) == len(RUNS):
            KEPT_FILE.parent.mkdir(exist_ok=True)
            found.write(KEPT_FILE)
            write_into(README, text, marks=(BEGIN_MARK, END_MARK))
            say(f"kept in {KEPT_FILE.relative_to(ROOT)}")

    def _chosen(self) -> list[PeerRun]:
        patterns = self.patterns or ("*",)
        chosen = [run for run in RUNS if any(fnmatch(str(run), each) for each in patterns)]
        for pattern in patterns:
            if not any(fnmatch(str(run), pattern) for run in RUNS):
                legal = "a pattern of: " + " · ".join(map(str, RUNS))
                raise OptionsError("--runs", found=pattern, legal=legal)
        return chosen

    def _measured(
        self, runs: Iterable[PeerRun], python: Path, say: Callable[[str], None]
    ) -> Measurements | None:
        from ninfer_lab.lab.bench.peers import measure  # brings torch

        versions: dict[str, str] = {}
        measured: list[MeasuredRun] = []
        lost: set[Peer] = set()
        with tempfile.TemporaryDirectory(prefix="ninfer-lab-peers-") as name:
            scratch = Path(name)
            checkpoint = measure.PeerCheckpoint.made_in(scratch)
            bench = measure.PeerBench(
                python=python,
                checkpoint=checkpoint,
                scratch=scratch,
                thread_count=self.thread_count,
            )
            for run in runs:
                if run.peer in lost:
                    continue
                answer = bench.measure(run)
                if isinstance(answer, PeerAbsent):
                    # What has never started will not start the next time.
                    if run.peer.value not in versions:
                        lost.add(run.peer)
                    say(f"{run}: {answer.reason}")
                    continue
                versions[run.peer.value], found = answer
                measured.append(found)
                say(f"{run}: cached {' '.join(map(str, found.cached_tokens))}")
            own = measure.own_first_tokens(checkpoint, first_tokens())
        if not measured:
            return None
        return Measurements(
            day=datetime.now(tz=UTC).date(),
            machine=f"{_cpu()}, {os.cpu_count()} cores, {platform.system()}",
            versions=versions,
            own_first_tokens=own,
            runs=tuple(measured),
        )


def show_kept(say: Callable[[str], None]) -> None:
    """Prints the table of what is kept, our side of it computed anew.

    Raises:
        MeasuredError: Nothing is kept here, or it cannot be read.

    Effects: the table in the README of `datasets/peers` is replaced.
    """
    text = render(read_measurements(KEPT_FILE))
    say(text)
    write_into(README, text, marks=(BEGIN_MARK, END_MARK))


def _cpu() -> str:
    return cpu_model(CPU_FACTS.read_text() if CPU_FACTS.is_file() else "")
