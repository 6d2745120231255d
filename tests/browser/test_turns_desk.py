"""Law: the desk of turns answers in a real JupyterLab, says there what it cannot run, and a cell
that is run again leaves none of its controls behind.
"""

from __future__ import annotations

from collections.abc import Callable

from browser.jupyter_session import LabPage
from browser.test_first_notebook import SCREENSHOTS

IMPORTS = """
from ipywidgets.widgets import widget
from ninfer_lab import lab
"""
DESK = """
turns = lab.TurnsDesk(prefixes=3, slots=6, rounds=3)
turns.look(2, 1)
turns
"""
LOOK = "print(len(widget._instances), turns.result.slots_count, turns.turn.round_ordinal)"


def test_a_reader_changes_the_run_and_reads_why(notebook_of: Callable[..., LabPage]) -> None:
    lab = notebook_of("turns.ipynb", IMPORTS, DESK, LOOK)
    lab.run_all()
    assert lab.errors() == []
    page = lab.page
    page.get_by_text("the end alone brings more").first.wait_for()
    page.get_by_text("net gain").first.wait_for()
    open_count = lab.printed(3).split()[0]
    lab.run_cell(2)
    lab.run_cell(3)
    assert lab.printed(3) == f"{open_count} 6 2\n"
    lengths = page.get_by_label("lengths").first
    lengths.fill("many")
    lengths.press("Enter")
    page.get_by_role("button", name="Run", exact=True).first.click()
    page.get_by_text("lengths: found many").first.wait_for()
    lab.show(2)
    lab.screenshot(SCREENSHOTS / "turns_desk.png")
    assert lab.problems == []
