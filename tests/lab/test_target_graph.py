"""Law: the graph holds every target once, its steps lead down, and it knows what was looked at."""

from __future__ import annotations

import pytest

from context_cache.decisions import owner, price, problem
from ninfer_lab.context_cache.exhaustive_search import every_target
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab import decisions
from ninfer_lab.lab.planner_problems import crowd, generated
from ninfer_lab.lab.target_graph import NodeVerdict, graph_of, ranked, walked


@pytest.mark.parametrize("seed", [234, 437])
def test_every_target_is_a_node_once(seed: int) -> None:  # spec: TGT-1
    decision = decisions.look(generated(seed))
    graph = graph_of(decision)
    truth = every_target(open_problem(generated(seed), price))
    assert len(graph.nodes) == truth.targets_count
    assert len({node.target for node in graph.nodes}) == len(graph.nodes)
    looked_at = [node.looked_at for node in graph.nodes if node.looked_at is not None]
    assert sorted(looked_at) == list(range(1, len(decision.found.judged) + 1))
    assert graph.count(NodeVerdict.UNSEEN) == truth.targets_count - len(looked_at)


def test_two_orders_of_the_same_steps_are_one_node() -> None:  # spec: TGT-1, TGT-4
    # Two owners that stay or go: a square, with one target at its foot.
    graph = graph_of(decisions.look(problem(owner(640), owner(640), pages=40), price))
    assert [(node.depth, node.target.choices) for node in graph.nodes] == [
        (0, (0, 0)),
        (1, (0, 1)),
        (1, (1, 0)),
        (2, (1, 1)),
    ]
    assert graph.steps == ((0, 2), (0, 1), (1, 3), (2, 3))


@pytest.mark.parametrize("seed", [234, 437, 592])
def test_steps_lead_down(seed: int) -> None:  # spec: TGT-5
    graph = graph_of(decisions.look(generated(seed)))
    assert all(graph.nodes[a].depth < graph.nodes[b].depth for a, b in graph.steps)
    depths = [node.depth for node in graph.nodes]
    assert depths == sorted(depths)


def test_verdicts_are_those_of_the_search() -> None:
    written = problem(owner(640), owner(640), owner(640), pages=60, vacant=0)
    graph = graph_of(decisions.look(written, price))
    assert graph.nodes[0].verdict is NodeVerdict.NO_SLOT
    taken = graph.nodes[graph.incumbents[-1]]
    assert (taken.verdict, taken.target.choices) == (NodeVerdict.ADOPTABLE, (1, 0, 0))
    assert taken.cost_ns is not None
    for node in graph.nodes:
        assert (node.cost_ns is None) == (node.verdict is NodeVerdict.UNSEEN)
    assert "8 targets" in str(graph)


def test_the_ranking_is_the_truth() -> None:
    decision = decisions.look(generated(234))
    first, *rest = ranked(decision)
    assert first.target == decision.best.target
    assert all(judged.is_adoptable and judged.key > first.key for judged in rest)


def test_a_graph_too_large_for_a_picture_is_refused() -> None:
    with pytest.raises(OptionsError, match="target graph"):
        walked(open_problem(crowd(8), price).session)
