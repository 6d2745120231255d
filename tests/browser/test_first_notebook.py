"""Law: *Run All* works in a real JupyterLab on the first notebook, and on those that tell the two
published studies; nothing leaves the machine.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.jupyter_session import LabPage

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
"""Ignored by git; the last run's pictures are left there to be looked at."""


STUDY_LIMIT_S = 400.0
"""Minutes of virtual time, and a machine that others use, too."""


@pytest.mark.parametrize(
    "name", ["00_start_here", "65_eight_prefixes_round_robin", "70_side_requests_abab"]
)
def test_run_all(lab: LabPage, name: str) -> None:  # spec: NB-2
    lab.open(f"{name}.ipynb")
    lab.run_all(limit_s=STUDY_LIMIT_S)
    lab.show(1)
    lab.screenshot(SCREENSHOTS / f"{name}.png")
    assert lab.errors() == []
    counts = [cell["execution_count"] for cell in lab.code_cells()]
    assert counts == list(range(1, len(counts) + 1))
    assert lab.problems == []
