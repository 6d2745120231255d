"""Law: the rows of projection count what they say, and only where both forms agree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ninfer_lab.contract.clock import MonotonicClock
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.engine.projection_room import ProjectionRoom
from ninfer_lab.lab.bench.measure import QUICK_EFFORT, Studio
from ninfer_lab.lab.bench.measured import Bound, Goal, Rate
from ninfer_lab.lab.bench.program_side import projections
from ninfer_lab.lab.bench.rows import ProjectionForm, ProjectionRow

ANY_GOAL = Goal(bound=Bound.AT_LEAST, figure=0.0)


@pytest.mark.parametrize("form", ProjectionForm)
def test_a_row_tells_how_many_targets_and_how_large_the_ledger_is(
    form: ProjectionForm, tmp_path: Path
) -> None:
    studio = Studio(scratch=tmp_path, notebooks={}, effort=QUICK_EFFORT, clock=MonotonicClock())
    measured = studio.find(ProjectionRow(form=form, goal=ANY_GOAL)).measured
    assert isinstance(measured, Rate)
    assert measured.spread.middle > 0
    targets, pages = (int(n) for n in measured.detail.replace(",", "").split() if n.isdigit())
    assert targets >= 200
    assert 3_900 <= pages <= 4_100


def test_a_form_that_finds_something_else_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_fit(room: ProjectionRoom, base: object) -> Callable[[OwnerOutcome], bool]:
        return lambda changed: True

    monkeypatch.setattr(ProjectionRoom, "beside", all_fit)
    with pytest.raises(InvariantBroken, match="one owner changed"):
        projections(ProjectionForm.NEIGHBOUR, 1)
