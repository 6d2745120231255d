"""Law: a picture of a calibration shows every point, every coefficient and every request once."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from lab.calibration.synthetic_bench import SyntheticBench
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.lab import figures
from ninfer_lab.lab.calibration.belief_decisions import BeliefStudy, Flip
from ninfer_lab.lab.calibration.calibrate import CalibrationRequest, Suite, calibrate
from ninfer_lab.lab.calibration.calibration import Calibration
from ninfer_lab.lab.calibration.first_token import FirstToken, FirstTokens
from ninfer_lab.lab.picture import Picture

PNG = b"\x89PNG"


@cache
def calibration(suite: Suite = Suite.ALL) -> Calibration:
    request = CalibrationRequest(suite=suite, is_quick=True, shows_progress=False)
    return calibrate(request, bench=SyntheticBench(noise=0.05))


def x_of(line: Line2D) -> list[float]:
    return [float(x) for x in np.asarray(line.get_xdata())]


def y_of(line: Line2D) -> list[float]:
    return [float(y) for y in np.asarray(line.get_ydata())]


def axes_of(figure: Picture) -> list[Axes]:
    return list(figure.axes)


def test_every_point_is_shown_measured_and_predicted_and_as_a_residual() -> None:
    figure = figures.fit(calibration(), title="t")
    copies, prefill, copy_errors, prefill_errors = axes_of(figure)
    assert (copies.get_title(), prefill.get_title()) == ("copies: accepted", "prefill: accepted")
    assert len(copies.lines) == 1 + 69
    assert len(prefill.lines) == 1 + 12
    assert len(copy_errors.containers) == 69
    assert len(prefill_errors.containers) == 12
    assert figure._repr_png_().startswith(PNG)


def test_a_suite_alone_is_one_column() -> None:
    assert len(axes_of(figures.fit(calibration(Suite.PREFILL)))) == 2


def test_every_coefficient_has_its_interval() -> None:
    (axes,) = axes_of(figures.firmness(calibration(), title="t"))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == [
        *("prefill  pair_ns", "prefill  token_us", "prefill  chunk_ms"),
        *("d2d  ns_per_KiB", "d2d  operation_us", "d2d  batch_us"),
        *("h2d  ns_per_KiB", "h2d  operation_us", "h2d  batch_us"),
        *("d2h  ns_per_KiB", "d2h  operation_us", "d2h  batch_us"),
    ]
    assert len(axes.texts) == 12


def flip(family: str, belief: str, *, lost_ns: int) -> Flip:
    return Flip(
        family=family,
        problem="p",
        belief=belief,
        has_flipped=lost_ns > 0,
        right_ns=100,
        taken_ns=100 + lost_ns,
        believed_ns=1,
    )


def test_what_wrongness_costs_is_drawn_by_its_factor() -> None:
    study = BeliefStudy(
        flips=(
            flip("long", "x1", lost_ns=0),
            flip("long", "x10", lost_ns=0),
            flip("short", "x1", lost_ns=0),
            flip("short", "x10", lost_ns=50),
        )
    )
    share, lost = axes_of(figures.wrongness(study, {"x10": 10.0, "x1": 1.0}))
    drawn = {line.get_label(): line for line in share.lines}
    assert x_of(drawn["short contexts"]) == [1.0, 10.0]
    assert y_of(drawn["short contexts"]) == [0.0, 100.0]
    assert y_of(drawn["long contexts"]) == [0.0, 0.0]
    assert [y_of(line) for line in lost.lines[:2]] == [[0.0, 0.0], [0.0, 50.0]]


def test_first_tokens_are_drawn_against_both_times() -> None:
    tokens = FirstTokens(
        each=tuple(
            FirstToken(
                request=RequestId(i),
                path="root",
                work=MachineWork(),
                predicted_ns=1_000_000 * i,
                machine_ns=2_000_000 * i,
                ttft_ns=4_000_000 * i,
            )
            for i in (1, 2)
        )
    )
    beside, spread = axes_of(figures.foreseen(tokens, title="t"))
    drawn = {line.get_label(): line for line in beside.lines}
    assert x_of(drawn["the machine's part"]) == [2.0, 4.0]
    assert x_of(drawn["arrival to first token"]) == [4.0, 8.0]
    errors = [x_of(line) for line in spread.lines[:2]]
    assert errors == [[-50.0, -50.0], [-75.0, -75.0]]
