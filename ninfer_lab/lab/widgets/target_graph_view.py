"""What did the planner look at, target by target, under the reader's hand? (W-1)

Owns the view of one decision's targets: what is sent to the browser, and the two forms that stand
without one. Draws what `seen_targets` found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.planning import TargetHandle
from ninfer_lab.contract.search_report import SearchReport, TargetVerdict
from ninfer_lab.contract.target import StageName, StateTransition
from ninfer_lab.lab import palette
from ninfer_lab.lab.decisions import Decision
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.search_figures import target_graph
from ninfer_lab.lab.seen_targets import SeenTarget, SeenTargets, seen_targets
from ninfer_lab.lab.target_graph import NodeVerdict, TargetGraph, TargetNode
from ninfer_lab.lab.widgets.live_view import Column, LiveView, module_text

_COLOURS = {
    NodeVerdict.ADOPTABLE: palette.ALLOCATED_COLOUR,
    NodeVerdict.NO_SLOT: palette.COPIED_COLOUR,
    NodeVerdict.INFEASIBLE: palette.HOST_COLOUR,
    NodeVerdict.UNSEEN: palette.EDGE_COLOUR,
}
_VERDICTS, _AXES, _STAGES = tuple(NodeVerdict), tuple(Axis), tuple(StageName)
_STATES = tuple(StateTransition)


class TargetGraphView(LiveView):
    """The targets of one decision: opens on the path of the best so far, the rest behind "+n".

    `step` counts looks: with fewer, the graph is as the search had it then. `selected` is a target,
    by its ordinal; `told` says everything about it.

    Args:
        subject: A searched decision, a report, or a recording.
        request: Of a recording: whose search.

    Raises:
        OptionsError: The recording tells of no search for the request.
    """

    _esm = module_text("target_graph_view")

    def __init__(
        self,
        subject: Decision | SearchReport | Recording | SeenTargets,
        request: int | None = None,
    ) -> None:
        self.seen = seen_targets(subject, request)
        looks_count = self.seen.looks_count
        super().__init__(
            columns=_columns(self.seen),
            facts=_facts(self.seen),
            steps_count=looks_count + 1,
            step=looks_count,
            selected=self.seen.incumbents[-1] if self.seen.incumbents else None,
        )

    @property
    def told(self) -> str:
        """The whole end state of the selected target."""
        return "" if self.selected is None else self.seen.describe(self.selected)

    def __str__(self) -> str:
        return f"{self.seen}\n{self.told}" if self.told else str(self.seen)

    def picture(self) -> Picture:
        return target_graph(_drawn(self.seen), title=self.seen.name)


def _facts(seen: SeenTargets) -> dict[str, Any]:
    return {
        "name": seen.name,
        "candidates": seen.candidates,
        "owners": seen.owners,
        "words": seen.words,
        "terms": seen.terms,
        "incumbents": seen.incumbents,
        "untold_count": seen.untold_count,
        "level": seen.level,
        "verdicts": [
            {"words": verdict.value, "colour": _COLOURS[verdict], "count": seen.count(verdict)}
            for verdict in NodeVerdict
        ],
        "running_colour": palette.RUNNING_COLOUR,
        "now_colour": palette.PREFILL_COLOUR,
        "loss_colour": palette.RESERVED_COLOUR,
        "axes": [axis.value for axis in Axis],
        "host_bytes_axis": _AXES.index(Axis.HOST_KV),
        "stages": [stage.value for stage in StageName],
        "states": [state.value for state in StateTransition],
    }


def _columns(seen: SeenTargets) -> dict[str, Column]:
    """Of each target; and of each look, in order, what was said."""
    targets = seen.targets
    looked = sorted(
        (i for i, each in enumerate(targets) if each.looked_at is not None),
        key=lambda i: targets[i].looked_at or 0,
    )
    told = [each for i in looked if (each := targets[i].told) is not None]
    assert len(told) == len(looked), "what was judged is told"
    terms = [[float(term) for term in targets[i].terms_ns] for i in looked]
    unknown = [np.nan] * len(seen.terms)
    return {
        "candidate": _of(targets, lambda t: t.candidate, np.uint16),
        "depth": _of(targets, lambda t: t.depth, np.uint16),
        "verdict": _of(targets, lambda t: _VERDICTS.index(t.verdict), np.uint8),
        "look": _of(targets, lambda t: t.looked_at or 0, np.int32),
        "fates": np.array([t.fates for t in targets], np.uint16).ravel(),
        "from": np.array([a for a, _ in seen.steps], np.int32),
        "to": np.array([b for _, b in seen.steps], np.int32),
        "target_of_look": np.array(looked, np.int32),
        "terms": np.array([row or unknown for row in terms], np.float64).ravel(),
        "work": np.array([list(_work(each)) for each in told], np.float64).ravel(),
        "uses": np.array([_uses(each) for each in told], np.float64).ravel(),
        "broken": np.array(
            [[look, *row] for look, each in enumerate(told) for row in _broken(each)], np.float64
        ).ravel(),
    }


def _of(targets: Sequence[SeenTarget], fact: Callable[[SeenTarget], int], kind: type) -> Column:
    return np.array([fact(target) for target in targets], kind)


def _work(told: TargetVerdict) -> Iterator[float]:
    """Tokens reused and computed, transition, pages copied, bytes down, bytes up."""
    yield from (told.reuse_tokens, told.prefill_tokens)
    yield from (_STATES.index(told.state), told.cow_pages)
    for direction in (TransferDirection.D2H, TransferDirection.H2D):
        yield sum(b.payload_bytes for b in told.work.transfers if b.direction is direction)


def _uses(told: TargetVerdict) -> list[float]:
    """Used and capacity of every axis at every stage; NaN where a stage is not told."""
    stages = {stage.name: stage.occupancy for stage in told.stages}
    return [
        count
        for name in StageName
        for axis in Axis
        for count in (
            (stages[name].on(axis).used_count, stages[name].on(axis).capacity_count)
            if name in stages
            else (np.nan, np.nan)
        )
    ]


def _broken(told: TargetVerdict) -> Iterator[list[float]]:
    """Stage, axis, used, capacity, and of an extent without a place its bytes and the best hole."""
    for each in told.violations:
        yield [
            _STAGES.index(each.stage),
            _AXES.index(each.axis),
            each.used_count,
            each.capacity_count,
            np.nan if each.run_bytes is None else each.run_bytes,
            np.nan if each.largest_hole_bytes is None else each.largest_hole_bytes,
        ]


def _drawn(seen: SeenTargets) -> TargetGraph:
    """For paper, which has no need of what each target comes to."""
    return TargetGraph(
        name=seen.name,
        candidates=seen.candidates,
        nodes=tuple(
            TargetNode(
                target=TargetHandle(each.candidate, each.fates),
                depth=each.depth,
                verdict=each.verdict,
                looked_at=each.looked_at,
                cost_ns=each.total_ns,
            )
            for each in seen.targets
        ),
        steps=seen.steps,
        incumbents=seen.incumbents,
    )
