"""Law: what is read about a target is what the search said of it, and nothing the search never
asked.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.recorded_runs import random_run
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.recording_options import ALL_TARGETS, DECISIONS_ONLY
from ninfer_lab.lab.decisions import Decision, look
from ninfer_lab.lab.planner_problems import crowd, generated
from ninfer_lab.lab.searches import searches
from ninfer_lab.lab.seen_targets import of_decision, of_recording, of_report, seen_targets
from ninfer_lab.lab.target_graph import NodeVerdict, graph_of


@pytest.fixture(scope="module")
def decision() -> Decision:
    return look(generated(437))


def test_every_target_is_there_with_its_verdict_and_j(decision: Decision) -> None:  # spec: W-1
    seen, graph = of_decision(decision), graph_of(decision)
    assert len(seen.targets) == len(graph.nodes) == 96
    assert (seen.steps, seen.incumbents) == (graph.steps, graph.incumbents)
    for target, node in zip(seen.targets, graph.nodes, strict=True):
        assert (target.verdict, target.looked_at) == (node.verdict, node.looked_at)
        assert target.total_ns == node.cost_ns
        assert (target.told is None) == (node.verdict is NodeVerdict.UNSEEN)


def test_the_taken_target_is_told_whole(decision: Decision) -> None:  # spec: W-1
    seen = of_decision(decision)
    assert seen.describe(seen.incumbents[-1]) == (
        "target 14: fits, and can be published, look 7\n"
        "from owner 3 at 2,944, leaving it\n"
        "reuse 2,944 tokens, compute 1,649, fork, 0 pages copied\n"
        "owner 2: shortened to 1,030 tokens\n"
        "3 of 4 owners stay as they are\n"
        "J 1,230.6 ms = copies 0.0 + prefill 514.4 + lost to all 0.0 + lost to owners 716.2"
    )


def test_what_does_not_fit_is_told_with_each_inequality(decision: Decision) -> None:  # spec: W-1
    seen = of_decision(decision)
    ordinal = next(i for i, t in enumerate(seen.targets) if t.looked_at == 8)
    assert seen.describe(ordinal).splitlines()[-2:] == [
        "does not fit at “destinations reserved” device KV pages: 213 used > 175 there are",
        "does not fit at “committed” device KV pages: 213 used > 175 there are",
    ]


def test_what_was_never_judged_has_no_price(decision: Decision) -> None:
    seen = of_decision(decision)
    ordinal = next(i for i, t in enumerate(seen.targets) if t.looked_at is None)
    assert seen.targets[ordinal].total_ns is None
    assert "J" not in seen.describe(ordinal)


def test_a_report_hangs_each_target_beneath_one_that_gives_up_part_of_it(
    decision: Decision,
) -> None:
    report = decision.report()
    seen = of_report(report, "the same")
    assert len(seen.targets) == seen.looks_count == len(report.verdicts)
    assert [t.total_ns for t in seen.targets] == [
        None if v.cost is None else v.cost.total_ns for v in report.verdicts
    ]
    assert seen.incumbents[-1] == report.chosen
    assert [seen.targets[i].looked_at for i in seen.incumbents] == [4, 6, 7]
    assert len({lower for _, lower in seen.steps}) == len(seen.steps), "a tree"
    for upper, lower in seen.steps:
        a, b = seen.targets[upper], seen.targets[lower]
        assert a.candidate == b.candidate
        assert b.depth == a.depth + 1
        assert a.fates != b.fates
        assert all(x <= y for x, y in zip(a.fates, b.fates, strict=True))


def test_more_targets_than_a_picture_holds_leave_those_looked_at() -> None:
    crowded = look(crowd(16))
    seen = seen_targets(crowded)
    assert seen.name.endswith("what was looked at")
    assert len(seen.targets) == len(crowded.found.judged)


def test_a_recording_tells_the_search_of_a_request() -> None:  # spec: W-1, RCD-1
    whole, brief = (random_run(3, requests=20, recording=r) for r in (ALL_TARGETS, DECISIONS_ONLY))
    for run in (whole, brief):
        event, report = list(searches(run.events))[-1]
        seen = of_recording(run, event.request)
        assert len(seen.targets) + seen.untold_count == report.counts.seen
        assert (seen.untold_count > 0) == ("not told" in str(seen))
    with pytest.raises(OptionsError, match=r"found 99.*one of 1, 2"):
        of_recording(whole, 99)
    with pytest.raises(OptionsError, match="a run with requests"):
        of_recording(replace(whole, events=()), 1)
