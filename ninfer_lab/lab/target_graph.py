"""Which targets has a decision, and which of them did the planner look at? (W-1)

Owns the graph as a value: every target from the identities downward, its verdict and J where the
search judged it, the steps between targets, and the chain of incumbents. It is built by asking a
session for steps, as the search does; nothing is judged for it that the search did not judge.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from graphlib import TopologicalSorter

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.planning import PlanningSession, TargetHandle
from ninfer_lab.engine.decision_reading import Judged, judge
from ninfer_lab.lab.decisions import Decision, candidates

GRAPH_TARGETS = 2_000
"""Targets up to which a graph is drawn."""


class NodeVerdict(Enum):
    """What is known of a target; the value stands in the legend."""

    ADOPTABLE = "fits, and can be published"
    NO_SLOT = "fits, but has no catalog slot"
    INFEASIBLE = "does not fit"
    UNSEEN = "not looked at"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetNode:
    """One target.

    Attributes:
        depth: Most steps that lead there from its identity: whatever is below has given up more.
        looked_at: When it was judged, from 1; `None` where it was not.
        cost_ns: J; `None` where it was not judged.
    """

    target: TargetHandle
    depth: int
    verdict: NodeVerdict
    looked_at: int | None
    cost_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetGraph:
    """All targets of one decision.

    Attributes:
        candidates: Where each candidate starts from, in words.
        nodes: Identities first, then by depth.
        steps: (from, to), ordinals of nodes.
        incumbents: Ordinals of nodes, each the best when it was found; the last was taken.
    """

    name: str
    candidates: tuple[str, ...]
    nodes: tuple[TargetNode, ...]
    steps: tuple[tuple[int, int], ...]
    incumbents: tuple[int, ...]

    def count(self, verdict: NodeVerdict) -> int:
        """Targets of one verdict."""
        return sum(node.verdict is verdict for node in self.nodes)

    def __str__(self) -> str:
        verdicts = ", ".join(f"{self.count(v)} {v.value}" for v in NodeVerdict if self.count(v))
        path = " → ".join(
            f"{(self.nodes[i].cost_ns or 0) / 1e6:,.0f} ms (look {self.nodes[i].looked_at})"
            for i in self.incumbents
        )
        return f"{self.name}: {len(self.nodes)} targets: {verdicts}. Incumbents: {path}"


def graph_of(decision: Decision) -> TargetGraph:
    """The graph of a searched decision.

    Raises:
        OptionsError: It has more targets than a picture can hold.
    """
    depths, steps = walked(decision.posed.session)
    judged = {each.target: (i, each) for i, each in enumerate(decision.found.judged, 1)}
    nodes = []
    for target, depth in depths.items():
        verdict, looked_at, cost_ns = NodeVerdict.UNSEEN, None, None
        if target in judged:
            looked_at, each = judged[target]
            cost_ns = each.cost.total_ns
            if each.is_adoptable:
                verdict = NodeVerdict.ADOPTABLE
            elif each.verdict.is_feasible:
                verdict = NodeVerdict.NO_SLOT
            else:
                verdict = NodeVerdict.INFEASIBLE
        nodes.append(
            TargetNode(
                target=target, depth=depth, verdict=verdict, looked_at=looked_at, cost_ns=cost_ns
            )
        )
    ordinals = {target: i for i, target in enumerate(depths)}
    return TargetGraph(
        name=decision.problem.name,
        candidates=candidates(decision),
        nodes=tuple(nodes),
        steps=tuple((ordinals[a], ordinals[b]) for a, b in steps),
        incumbents=tuple(ordinals[each.target] for each in decision.incumbents),
    )


def ranked(decision: Decision) -> tuple[Judged, ...]:
    """Every target that can be adopted, judged here and now, the best first.

    Raises:
        OptionsError: There are more targets than a picture can hold.
    """
    targets, _ = walked(decision.posed.session)
    judged = (judge(decision.posed, target) for target in targets)
    return tuple(sorted((e for e in judged if e.is_adoptable), key=lambda each: each.key))


def walked(
    session: PlanningSession,
) -> tuple[dict[TargetHandle, int], list[tuple[TargetHandle, TargetHandle]]]:
    """Every target with its depth, shallowest first, and every step, which leads down.

    Raises:
        OptionsError: There are more than a picture can hold.
    """
    waiting = deque(session.identity(c) for c in range(len(session.candidates)))
    lower: dict[TargetHandle, list[TargetHandle]] = {identity: [] for identity in waiting}
    while waiting:
        target = waiting.popleft()
        lower[target] = [target.after(step) for step in session.steps(target)]
        for each in lower[target]:
            if each not in lower:
                lower[each] = []
                waiting.append(each)
        if len(lower) > GRAPH_TARGETS:
            raise OptionsError("target graph", found="more targets", legal=f"<= {GRAPH_TARGETS}")
    depths = dict.fromkeys(lower, 0)
    for target in TopologicalSorter(_above(lower)).static_order():
        for each in lower[target]:
            depths[each] = max(depths[each], depths[target] + 1)
    by_depth = dict(sorted(depths.items(), key=lambda found: (found[1], found[0])))
    return by_depth, [(target, each) for target in by_depth for each in lower[target]]


def _above(lower: dict[TargetHandle, list[TargetHandle]]) -> dict[TargetHandle, set[TargetHandle]]:
    above: dict[TargetHandle, set[TargetHandle]] = {target: set() for target in lower}
    for target, each in ((t, e) for t, row in lower.items() for e in row):
        above[each].add(target)
    return above
