"""Law: what is told of a decision is what the search did, and its proofs can be checked."""

from __future__ import annotations

import pytest

from context_cache.decisions import owner, problem
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.search_report import SearchStop
from ninfer_lab.lab import decisions
from ninfer_lab.lab.certificates import check_certificates
from ninfer_lab.lab.planner_problems import generated


@pytest.mark.parametrize("seed", [234, 437, 592])
def test_every_incumbent_is_better_than_the_one_before(seed: int) -> None:  # spec: SRCH-6
    decision = decisions.look(generated(seed))
    keys = [judged.key for judged in decision.incumbents]
    assert keys == sorted(keys, reverse=True)
    assert decision.incumbents[-1] == decision.best
    best = decision.truth().best
    assert best is not None
    assert best.target == decision.best.target


@pytest.mark.parametrize("seed", [234, 437])
def test_a_report_tells_all_that_was_judged_and_can_be_checked(seed: int) -> None:
    decision = decisions.look(generated(seed))
    report = decision.report()
    assert len(report.verdicts) == len(decision.found.judged)
    assert report.winner is not None
    assert report.winner.cost == decision.best.cost
    failing = sum(len(verdict.violations) for verdict in report.verdicts)
    assert check_certificates(report, decision.capacity) == failing > 0


def test_there_is_a_problem_for_every_reason_to_stop() -> None:  # spec: SRCH-9
    examples = decisions.stop_examples()
    assert [example.stop for example in examples] == list(SearchStop)
    table = decisions.stops(examples)
    assert table["stop"].to_list() == [stop.value for stop in SearchStop]
    for example, judged in zip(examples, table["judged"], strict=True):
        assert example.truth.best is not None
        assert example.decision.best.is_adoptable
        assert example.decision.best.cost.total_ns >= example.truth.best.cost.total_ns
        assert judged <= example.truth.targets_count


def test_the_terms_of_a_table_add_up_to_j() -> None:  # spec: VAL-6
    decision = decisions.look(generated(234))
    table = decisions.costs(decision, decision.incumbents)
    assert len(table) == len(decision.incumbents)
    for row, judged in zip(table.rows(named=True), decision.incumbents, strict=True):
        price = decision.posed.valuation.work_ns
        prefill_ns = price(MachineWork(prefill=judged.verdict.work.prefill))
        assert row["prefill_ms"] == pytest.approx(prefill_ns / 1e6, abs=0.06)
        terms = [row[t] for t in ("copies_ms", "prefill_ms", "public_loss_ms", "private_loss_ms")]
        assert sum(terms) == pytest.approx(row["J_ms"], abs=0.25)


def test_the_tables_of_a_problem() -> None:
    written = problem(
        owner(320, 640), owner(704, branches_from=(0, 1)), new_tokens=640, pages=22, slots=4
    )
    owners, room = decisions.owners(written), decisions.room(written)
    assert owners["checkpoints at"].to_list() == ["320 640", "704"]
    assert owners["own pages"].to_list() == [10, 1]
    assert owners["branches from"].to_list() == ["", "owner 0"]
    assert room.rows()[0][1:] == (4, 3, 1, 1)
    assert room.rows()[1][1:] == (22, 11, 11, 11)


def test_where_nothing_fits_nothing_was_taken() -> None:
    decision = decisions.look(problem(owner(640), new_tokens=40 * 64, pages=20))
    assert decision.incumbents == ()
    assert decision.report().chosen is None
    with pytest.raises(ValueError, match="no target that fits"):
        _ = decision.best
