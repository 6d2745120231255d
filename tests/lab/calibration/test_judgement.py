"""Law: a fit is believed only within its limits, on points it has seen and on points it has not."""

from __future__ import annotations

from ninfer_lab.lab.calibration.grid import Part
from ninfer_lab.lab.calibration.judgement import Judgement, Residual


def residual(
    measured_ns: float,
    predicted_ns: int,
    *,
    part: Part = Part.TRAINING,
    group: str = "h2d",
    name: str = "a",
) -> Residual:
    return Residual(
        name=name,
        group=group,
        part=part,
        measured_ns=measured_ns,
        predicted_ns=predicted_ns,
        noise=0.0,
    )


def judged(*residuals: Residual, limit: float = 0.15) -> Judgement:
    return Judgement(residuals=residuals, limit=limit)


def test_an_error_is_a_part_of_the_measured_time() -> None:
    assert residual(200.0, 150).error == -0.25
    assert residual(200.0, 300).error == 0.5


def test_below_twenty_points_the_worst_one_decides() -> None:
    points = [residual(100.0, 100) for _ in range(18)]
    assert judged(*points, residual(100.0, 116)).worst(Part.TRAINING) == 0.16
    assert judged(*points, residual(100.0, 100), residual(100.0, 116)).worst(Part.TRAINING) == 0.0


def test_an_error_at_the_limit_is_accepted_and_one_above_is_not() -> None:
    assert judged(residual(100.0, 115)).is_accepted
    rejected = judged(residual(100.0, 116))
    assert rejected.faults == ("training: relative error 16% at the 95th percentile; limit 15%",)


def test_held_out_points_are_judged_by_themselves() -> None:
    verdict = judged(residual(100.0, 100), residual(100.0, 60, part=Part.HELD_OUT))
    assert verdict.worst(Part.TRAINING) == 0.0
    assert verdict.faults == ("held out: relative error 40% at the 95th percentile; limit 15%",)


def test_a_wrong_order_is_a_fault_however_small_the_errors() -> None:
    quick, slow = residual(100.0, 125, name="quick"), residual(125.0, 115, name="slow")
    verdict = judged(quick, slow, limit=0.35)
    assert verdict.misordered == ((quick, slow),)
    assert verdict.faults == ("order: slow predicted below quick",)


def test_times_that_are_nearly_equal_have_no_order() -> None:
    assert judged(residual(100.0, 125), residual(120.0, 115), limit=0.35).is_accepted


def test_an_exact_tie_is_no_wrong_order() -> None:
    assert judged(residual(100.0, 120), residual(130.0, 120), limit=0.35).is_accepted


def test_directions_are_not_compared_with_each_other() -> None:
    down, up = residual(100.0, 125, group="d2h"), residual(125.0, 115, group="h2d")
    assert judged(down, up, limit=0.35).is_accepted
