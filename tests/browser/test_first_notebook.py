"""Law: *Run All* on the first notebook works in a real JupyterLab; nothing leaves the machine."""

from __future__ import annotations

from pathlib import Path

from browser.jupyter_session import LabPage

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
"""Ignored by git; the last run's pictures are left there to be looked at."""


def test_run_all_on_the_first_notebook(lab: LabPage) -> None:  # spec: NB-2
    lab.open("00_start_here.ipynb")
    lab.run_all()
    lab.show(1)
    lab.screenshot(SCREENSHOTS / "00_start_here.png")
    assert lab.errors() == []
    counts = [cell["execution_count"] for cell in lab.code_cells()]
    assert counts == list(range(1, len(counts) + 1))
    assert lab.problems == []
