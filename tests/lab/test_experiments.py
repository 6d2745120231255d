"""What the experiments show is what Program did."""

from __future__ import annotations

from ninfer_lab.lab import tables
from ninfer_lab.lab.experiments import refused_plans, unfit_target


def test_a_plan_runs_once_and_never_as_a_copy_or_late() -> None:
    # spec: TXN-1
    table = refused_plans()
    assert table["what happened"].to_list() == ["ran", "refused", "refused", "refused"]
    assert table["ledger changed"].to_list() == [True, False, False, False]
    assert "assess again at the current revision" in table["what was said"][3]


def test_a_target_that_does_not_fit_is_taken_apart_to_the_last_page() -> None:
    explanation = unfit_target()
    assert str(explanation.violation) == (
        "at “destinations reserved” device KV pages: 4 used > 3 there are"
    )
    assert explanation.lines == (
        "2 promised growth by sequence 2",
        "2 promised growth by request 2",
    )
    table = tables.explanation(explanation)
    assert table["holders"].to_list() == ["sequence 2", "request 2"]
    assert table["units"].sum() == explanation.violation.used_count
    assert table["is_reserved"].all()
