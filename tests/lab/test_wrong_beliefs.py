"""Law: a wrong belief moves what is taken and never what fits, and is charged by the truth."""

from __future__ import annotations

import pytest

from context_cache.decisions import price
from ninfer_lab.context_cache.exhaustive_search import every_target
from ninfer_lab.contract.fixed_point import U64_MAX
from ninfer_lab.contract.machine_work import (
    MachineWork,
    PrefillWork,
    TransferBatch,
    TransferDirection,
    TransferPhase,
)
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab import wrong_beliefs
from ninfer_lab.lab.planner_problems import generated
from ninfer_lab.lab.wrong_beliefs import Belief, MisjudgedStudy, judged_under

COPY = TransferBatch(
    phase=TransferPhase.CANDIDATE,
    direction=TransferDirection.H2D,
    payload_bytes=5_000,
    operation_count=2,
)
PREFILL = PrefillWork.between(0, 100, prefill_chunk_tokens=100)
WORK = MachineWork.of([COPY], prefill=PREFILL)
TRUTH = Belief(name="the truth", price=price)


def test_noise_is_the_same_for_the_same_work() -> None:
    one, again = wrong_beliefs.noisy(price, 3, seed=5), wrong_beliefs.noisy(price, 3, seed=5)
    assert one.price(WORK) == again.price(WORK) != price(WORK)
    assert wrong_beliefs.noisy(price, 3, seed=6).price(WORK) != one.price(WORK)
    assert wrong_beliefs.noisy(price, 1).price(WORK) == price(WORK)


def test_only_copies_are_believed_dearer() -> None:
    belief = wrong_beliefs.copies_dearer(price, 10)
    copies_ns = 5_000 + 2 * 100
    assert belief.price(MachineWork.of([COPY])) == 10 * copies_ns
    assert belief.price(MachineWork.of(prefill=PREFILL)) == price(MachineWork.of(prefill=PREFILL))
    assert belief.price(WORK) == price(WORK) + 9 * copies_ns


def test_the_extremes() -> None:
    assert wrong_beliefs.free().price(WORK) == 0
    assert wrong_beliefs.saturated().price(WORK) == U64_MAX


@pytest.mark.parametrize("seed", [9, 234, 437])
def test_no_belief_moves_what_fits(seed: int) -> None:  # spec: COST-1, INV-13
    beliefs = [
        TRUTH,
        wrong_beliefs.noisy(price, 100),
        wrong_beliefs.copies_dearer(price, 1_000),
        wrong_beliefs.free(),
        wrong_beliefs.saturated(),
    ]
    true, *others = judged_under(generated(seed), price, beliefs)
    truth = every_target(open_problem(generated(seed), price))
    assert truth.best is not None
    assert len(true.fits) == truth.targets_count
    assert true.taken_true_ns == truth.best.cost.total_ns
    for other in others:
        assert other.fits == true.fits
        assert other.true_costs_ns == true.true_costs_ns
        assert other.fits[other.taken]
        assert other.taken_true_ns >= true.taken_true_ns
    assert len({judged.taken for judged in (true, *others)}) > 1


def test_a_study_charges_by_the_truth() -> None:  # spec: COST-1
    study = MisjudgedStudy(price, 12)
    right, wrong = study.noise([1, 100])
    assert (right.others_count, right.worse) == (0, (0.0,) * 12)
    assert wrong.others_share > 0.2
    assert wrong.worse[-1] > 0.0
    assert wrong.quantile(1.0) == wrong.worse[-1] >= wrong.quantile(0.5) >= 0.0
    (copies,) = study.copies([1])
    assert copies.others_count == 0
    for found in (wrong, study.under(wrong_beliefs.free())):
        assert found.unfit_count == 0
        assert all(worse >= 0.0 for worse in found.worse)
    assert "noise ×100" in str(wrong)
