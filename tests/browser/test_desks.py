"""Law: a desk answers a click in a real JupyterLab, with no word from outside this machine."""

from __future__ import annotations

from collections.abc import Callable

from browser.jupyter_session import LabPage
from browser.test_first_notebook import SCREENSHOTS

LEDGER = """
from ninfer_lab import lab
desk = lab.LedgerDesk(lab.experiments.two_aliases, {"a new request": lab.Wanted(prompt_tokens=100)})
desk
"""
TRANSITION = """
steps = lab.TransitionDesk()
steps
"""
LOOK = "print(desk.bench.owners, steps.phase.value)"


def test_buttons_act_on_the_ledger_and_on_the_transition(
    notebook_of: Callable[..., LabPage],
) -> None:
    lab = notebook_of("desks.ipynb", LEDGER, TRANSITION, LOOK)
    lab.run_all()
    assert lab.errors() == []
    assert lab.printed(3) == "(1, 2, 3) host releases\n"
    lab.page.get_by_role("button", name="Carry it out").click()
    lab.page.get_by_role("button", name="Go on").click()
    lab.page.get_by_text("copies are in flight").first.wait_for()
    lab.run_cell(3)
    assert lab.printed(3) == "(1, 2, 3, 4) copies in flight\n"
    lab.show(1)
    lab.screenshot(SCREENSHOTS / "desks.png")
    assert lab.problems == []
