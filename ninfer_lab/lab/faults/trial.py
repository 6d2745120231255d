"""Which check catches which fault, and by how much?

Owns the scenario (two conversations; the first is restored twice, by Fork; the fault strikes the
first restore), the named checks, and the table. Does not know how a fault is committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.numerics import Numerics
from ninfer_lab.contract.options import EngineOptions, RequestOptions
from ninfer_lab.engine.request import RequestOutcome
from ninfer_lab.lab.faults.fault import Fault
from ninfer_lab.lab.faults.faulty_machine import FaultyMachine
from ninfer_lab.lab.faults.world import FaultWorld
from ninfer_lab.lab.restore_proof.content_watch import ContentChange
from ninfer_lab.lab.restore_proof.forward_tap import TensorMachine
from ninfer_lab.lab.restore_proof.proof import Decomposition, RestoreVerdict
from ninfer_lab.lab.restore_proof.watched_engine import WatchedEngine

DRIFT_RATIO = 100.0
"""A fault's drift is told from rounding when it is so many times that of a clean restore."""

RESTORES_COUNT = 2
"""The fault strikes the first; the second starts from the same checkpoint and finds what is left of
it."""

OUTPUT_TOKENS = 8
"""Of every request: enough for a short answer, and to grow past a page edge. The last of them is
consumed alone, so that an image one forward older is one token older."""

_OPTIONS = EngineOptions(
    max_concurrency=1,
    max_context_tokens=640,
    kv_capacity_tokens=2560,
    prefill_chunk_tokens=64,
    device_state_slots=9,
    max_private_continuations=8,
    max_shared_prefixes=0,
)


class Check(Enum):
    """What notices a fault."""

    LOGIT_BITS = "logits, bit for bit (canonical)"
    LOGIT_DRIFT = "logits, drift over 100 times a clean restore's (fast)"
    LEDGER_LAW = "a law on ledger and row tables"
    PUBLISHED_BYTES = "the watch over published bytes (OWN-6)"
    ANSWER = "the answer itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTrial:
    """The scenario, run once.

    Attributes:
        restores: In canonical mode against the same cuts, in fast mode against one piece.
        answers: Of the two restored requests: text, or token ids where there is no text.
    """

    fault: Fault | None
    numerics: Numerics
    restores: tuple[RestoreVerdict, ...]
    changes: tuple[ContentChange, ...]
    broken_laws: tuple[str, ...]
    answers: tuple[str, ...]

    @property
    def drift(self) -> float:
        """Worst relative RMS of a restored request's logits."""
        return max(verdict.drift for verdict in self.restores)


def run_trial(world: FaultWorld, fault: Fault | None, numerics: Numerics) -> FaultTrial:
    """Serves the scenario with a fault in it.

    Raises:
        NinferLabError: The scenario gave the fault no chance, or was not restored twice.
    """
    machines: list[FaultyMachine] = []

    def meddle(machine: TensorMachine) -> TensorMachine:
        machines.append(FaultyMachine(machine, fault))
        return machines[0]

    asks = RequestOptions(max_output_tokens=OUTPUT_TOKENS)
    with WatchedEngine(
        world.checkpoint, _OPTIONS, numerics=numerics, frontend=world.frontend, meddle=meddle
    ) as watched:
        (machine,) = machines
        watched.run(world.other, asks)
        opening = watched.run(world.opening, asks)
        machine.arm()
        restored = [
            watched.run(world.go_on(opening, ordinal), asks) for ordinal in range(RESTORES_COUNT)
        ]
        restores = watched.prover(_DECOMPOSITIONS[numerics]).restores()
        if len(restores) != RESTORES_COUNT or machine.was_committed != (fault is not None):
            raise NinferLabError(
                f"trial of {fault} on {world.name}",
                found=f"{len(restores)} restores, committed: {machine.was_committed}",
                legal=f"{RESTORES_COUNT} restores, and the fault committed",
            )
        return FaultTrial(
            fault=fault,
            numerics=numerics,
            restores=restores,
            changes=watched.changes,
            broken_laws=watched.broken_laws,
            answers=tuple(_answer(outcome) for outcome in restored),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRow:
    """One fault and what noticed it.

    Attributes:
        caught_by: In the order of `Check`; empty is a fault nobody saw.
        drift: Worst relative RMS of any restored request's logits, in fast mode.
        answers: Of the two restored requests, in canonical mode.
        evidence: What the law or the watch said first, if one did.
    """

    fault: Fault
    caught_by: tuple[Check, ...]
    drift: float
    answers: tuple[str, ...]
    evidence: str | None

    def __str__(self) -> str:
        caught = ", ".join(check.name.lower() for check in self.caught_by) or "nothing"
        line = f"{self.fault!s:<24} drift {self.drift:>8.1e}  caught by {caught}"
        return f"{line}: {' / '.join(self.answers)}" if Check.ANSWER in self.caught_by else line


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultTable:
    """Every fault on one world, and the clean run they are held against."""

    world: str
    clean_drift: float
    clean_answers: tuple[str, ...]
    rows: tuple[FaultRow, ...]

    def row(self, fault: Fault) -> FaultRow:
        """The row of one fault."""
        return next(row for row in self.rows if row.fault is fault)

    def __str__(self) -> str:
        head = f"{self.world}: a clean restore drifts by {self.clean_drift:.1e} (fast, other cuts)"
        said = f"it answers: {' / '.join(self.clean_answers)}"
        return "\n".join((head, said, *map(str, self.rows)))


def fault_table(world: FaultWorld, faults: Iterable[Fault] = tuple(Fault)) -> FaultTable:
    """Runs every fault in both numerics, beside a clean run of each."""
    clean = {numerics: run_trial(world, None, numerics) for numerics in Numerics}
    return FaultTable(
        world=world.name,
        clean_drift=clean[Numerics.FAST].drift,
        clean_answers=clean[Numerics.CANONICAL].answers,
        rows=tuple(_row(world, fault, clean) for fault in faults),
    )


def checks_that_catch(
    fast: FaultTrial, canonical: FaultTrial, clean_fast: FaultTrial, clean_canonical: FaultTrial
) -> tuple[Check, ...]:
    """The checks that tell a pair of trials from the clean pair, in the order of `Check`."""
    found = {
        Check.LOGIT_BITS: any(each.differing_count for each in canonical.restores),
        Check.LOGIT_DRIFT: fast.drift > DRIFT_RATIO * clean_fast.drift,
        Check.LEDGER_LAW: bool(canonical.broken_laws),
        Check.PUBLISHED_BYTES: bool(canonical.changes),
        Check.ANSWER: canonical.answers != clean_canonical.answers,
    }
    return tuple(check for check in Check if found[check])


def _row(world: FaultWorld, fault: Fault, clean: dict[Numerics, FaultTrial]) -> FaultRow:
    fast, canonical = (
        run_trial(world, fault, numerics) for numerics in (Numerics.FAST, Numerics.CANONICAL)
    )
    said = (*canonical.broken_laws, *map(str, canonical.changes))
    return FaultRow(
        fault=fault,
        caught_by=checks_that_catch(
            fast, canonical, clean[Numerics.FAST], clean[Numerics.CANONICAL]
        ),
        drift=fast.drift,
        answers=canonical.answers,
        evidence=said[0] if said else None,
    )


_DECOMPOSITIONS = {
    Numerics.FAST: Decomposition.ONE_PIECE,
    Numerics.CANONICAL: Decomposition.SAME_CUTS,
}


def _answer(outcome: RequestOutcome) -> str:
    return outcome.text or " ".join(map(str, outcome.output_tokens))
