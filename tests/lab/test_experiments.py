"""What the experiments show is what Program did."""

from __future__ import annotations

from ninfer_lab.lab.experiments import refused_plans


def test_a_plan_runs_once_and_never_as_a_copy_or_late() -> None:
    # spec: TXN-1
    table = refused_plans()
    assert table["what happened"].to_list() == ["ran", "refused", "refused", "refused"]
    assert table["ledger changed"].to_list() == [True, False, False, False]
    assert "assess again at the current revision" in table["what was said"][3]
