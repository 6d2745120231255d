"""Which decisions of a whole run does another belief turn, and what does that cost in truth?

Owns the comparison of two runs of one world: the same requests at the same machine, whose times are
the same truth, under two beliefs. Decisions are compared request by request. Up to the first one
that differs both runs stand in the same state, so that flip is the belief's doing alone; what
differs later may be its consequence, and the table says which is which. Reads recordings' events;
decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from ninfer_lab.contract.events import Event, RequestAdmitted, RequestFinished
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.search_report import TargetVerdict
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.lab import worlds
from ninfer_lab.lab.calibration.beliefs import Belief
from ninfer_lab.lab.calibration.progress import progress
from ninfer_lab.lab.world import Machine, Run, World


class Decision(NamedTuple):
    """What was taken for one request.

    Attributes:
        degraded: Owners that stay with other or fewer replicas; both counted by their ids, which
            are given in order of publication.
        moved_bytes: Between the tiers.
    """

    path: str
    owner: int | None
    disposition: str | None
    reuse_tokens: int
    evicted: tuple[int, ...]
    degraded: tuple[int, ...]
    deleted: tuple[int, ...]
    moved_bytes: int

    @classmethod
    def of(cls, verdict: TargetVerdict) -> Decision:
        """The decision that a winning verdict tells."""
        return cls(
            path=verdict.path.value,
            owner=verdict.owner,
            disposition=None if verdict.disposition is None else verdict.disposition.value,
            reuse_tokens=verdict.reuse_tokens,
            evicted=tuple(verdict.evicted),
            degraded=tuple(verdict.degraded),
            deleted=tuple(verdict.deleted),
            moved_bytes=moved_bytes(verdict.work),
        )

    def __str__(self) -> str:
        parts = [f"{self.path}, reuse {self.reuse_tokens:,}"]
        if self.degraded:
            parts.append(f"{len(self.degraded)} give way")
        if self.evicted:
            parts.append(f"{len(self.evicted)} evicted")
        if self.moved_bytes:
            parts.append(f"{self.moved_bytes / 2**20:,.0f} MiB moved")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFate:
    """One request of one run.

    Attributes:
        ttft_ns: Submit to first token, in the truth; `None` if there was none.
    """

    decision: Decision
    ttft_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPair:
    """One request in both runs.

    Attributes:
        is_after_a_flip: Whether the runs had parted before: this difference may follow from that.
    """

    request: RequestId
    right: RequestFate
    other: RequestFate
    is_after_a_flip: bool

    @property
    def differs(self) -> bool:
        """Whether something else was taken."""
        return self.right.decision != self.other.decision


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefComparison:
    """A world run by a planner that is right, and by one that believes otherwise.

    Attributes:
        pairs: Every request that both runs admitted, in the order of its number.
        right: The run under the world's own belief.
        other: The run under the other.
    """

    belief: str
    pairs: tuple[DecisionPair, ...]
    right: Run
    other: Run

    @property
    def first_flip(self) -> DecisionPair | None:
        """Where the runs part; `None` if they never do."""
        return next((pair for pair in self.pairs if pair.differs), None)

    @property
    def table(self) -> pl.DataFrame:
        """One row for each request."""
        schema = {
            "request": pl.Int64,
            "differs": pl.Boolean,
            "after_a_flip": pl.Boolean,
            "right": pl.String,
            "other": pl.String,
            "right_ttft_ms": pl.Float64,
            "other_ttft_ms": pl.Float64,
        }
        rows = [
            {
                "request": pair.request,
                "differs": pair.differs,
                "after_a_flip": pair.is_after_a_flip,
                "right": str(pair.right.decision),
                "other": str(pair.other.decision),
                "right_ttft_ms": _ms(pair.right.ttft_ns),
                "other_ttft_ms": _ms(pair.other.ttft_ns),
            }
            for pair in self.pairs
        ]
        return pl.DataFrame(rows, schema=schema)

    @property
    def lost_ns(self) -> int:
        """Sum of times to first token under the belief, less that of the planner that is right."""
        return sum((pair.other.ttft_ns or 0) - (pair.right.ttft_ns or 0) for pair in self.pairs)

    def __str__(self) -> str:
        flip = self.first_flip
        differing = sum(pair.differs for pair in self.pairs)
        parted = "never part" if flip is None else f"part at request {flip.request}"
        total_ns = sum(pair.right.ttft_ns or 0 for pair in self.pairs)
        return (
            f"{self.belief}: the runs {parted}; {differing} of {len(self.pairs)} decisions differ;"
            f" first tokens wait {self.lost_ns / 1e9:+.3f} s in all"
            f" ({self.lost_ns / max(1, total_ns):+.1%})"
        )


def at_truth(world: World, truth: MachineCostModel) -> World:
    """The world on a machine of those times, with a planner that is right about it; decode steps
    take what they took.
    """
    timing = replace(world.truth, transfer=truth.transfer, prefill=truth.prefill)
    return replace(world, truth=timing, belief=truth)


def compare_beliefs(
    world: World, beliefs: Sequence[Belief], *, shows_progress: bool = True
) -> tuple[BeliefComparison, ...]:
    """Runs a simulated world once as it is, and once for each belief.

    Args:
        world: Its own belief is what the others are compared with.
        beliefs: The truth stays the world's.
        shows_progress: Whether a bar is drawn.
    """
    compared: list[BeliefComparison] = []
    with progress("runs", 1 + len(beliefs), is_shown=shows_progress) as tick:
        right = worlds.run(world, Machine.SIMULATED)
        tick()
        for each in beliefs:
            other = worlds.run(replace(world, belief=each.model), Machine.SIMULATED)
            compared.append(_compared(right, other, each))
            tick()
    return tuple(compared)


def comparison_table(comparisons: Iterable[BeliefComparison]) -> pl.DataFrame:
    """One row for each belief."""
    schema = {
        "belief": pl.String,
        "decisions": pl.Int64,
        "differ": pl.Int64,
        "first_at_request": pl.Int64,
        "ttft_lost_s": pl.Float64,
        "moved_MiB": pl.Float64,
        "computed_tokens": pl.Int64,
    }
    rows = [
        {
            "belief": each.belief,
            "decisions": len(each.pairs),
            "differ": sum(pair.differs for pair in each.pairs),
            "first_at_request": None if each.first_flip is None else each.first_flip.request,
            "ttft_lost_s": round(each.lost_ns / 1e9, 3),
            "moved_MiB": sum(pair.other.decision.moved_bytes for pair in each.pairs) / 2**20,
            "computed_tokens": sum(
                told.outcome.log.computed_prefill_tokens for told in each.other.told
            ),
        }
        for each in comparisons
    ]
    return pl.DataFrame(rows, schema=schema)


def moved_bytes(work: MachineWork) -> int:
    """Of copies between the tiers."""
    return sum(batch.payload_bytes for batch in work.transfers if batch.crosses_tiers)


def _compared(right: Run, other: Run, belief: Belief) -> BeliefComparison:
    fates, others = _fates(right.events), _fates(other.events)
    pairs: list[DecisionPair] = []
    has_parted = False
    for request in sorted(fates.keys() & others.keys()):
        pair = DecisionPair(
            request=request,
            right=fates[request],
            other=others[request],
            is_after_a_flip=has_parted,
        )
        has_parted |= pair.differs
        pairs.append(pair)
    return BeliefComparison(belief=belief.name, pairs=tuple(pairs), right=right, other=other)


def _fates(events: Iterable[Event]) -> Mapping[RequestId, RequestFate]:
    """Every admitted request with what was taken for it."""
    decisions: dict[RequestId, Decision] = {}
    fates: dict[RequestId, RequestFate] = {}
    for event in events:
        match event:
            case RequestAdmitted(report=report) if report.winner is not None:
                decisions[event.request] = Decision.of(report.winner)
            case RequestFinished() if event.request in decisions:
                fates[event.request] = RequestFate(
                    decision=decisions[event.request], ttft_ns=event.ttft_ns
                )
            case _:
                pass
    return fates


def _ms(duration_ns: int | None) -> float | None:
    return None if duration_ns is None else duration_ns / 1e6
