"""Law: every committed notebook is fit, runs top to bottom offline, and asserts what it showed."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from ninfer_lab.lab.notebook_rules import notebook_faults
from ninfer_lab.lab.notebook_shelf import NotebookError, NotebookShelf
from ninfer_lab.lab.notebooks import run_notebook, strip

FOLDER = Path(__file__).parents[2] / "notebooks"
CELL_TIMEOUT_S = 300.0
"""A hang guard, not a speed: how long a notebook takes is printed by `make bench`."""

try:
    SHELF = NotebookShelf.find(FOLDER).paths
except NotebookError:
    SHELF = ()


def test_the_first_notebook_stands() -> None:
    assert SHELF, "notebooks/ holds no numbered notebook"
    assert SHELF[0].stem == "00_start_here"


def test_the_reading_order_lists_every_notebook() -> None:
    listed = (FOLDER / "README.md").read_text()
    assert [path.name for path in SHELF if f"]({path.name})" not in listed] == []
    linked = re.findall(r"\]\(([^)]+)\)", listed)
    assert [target for target in linked if not (FOLDER / target).exists()] == []


@pytest.mark.parametrize("path", SHELF, ids=lambda path: path.stem)
def test_a_committed_notebook_is_fit(path: Path) -> None:  # spec: NB-1, NB-4
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook_faults(notebook, size_bytes=path.stat().st_size) == ()


@pytest.mark.parametrize("path", SHELF, ids=lambda path: path.stem)
def test_a_notebook_runs_top_to_bottom_offline(path: Path) -> None:  # spec: NB-2
    notebook = run_notebook(path, cell_timeout_s=CELL_TIMEOUT_S)
    # Before the live views are stripped: a widget that lost its static form is seen here.
    assert notebook_faults(notebook, size_bytes=0) == ()
    strip(notebook)
    assert notebook_faults(notebook, size_bytes=len(nbformat.writes(notebook))) == ()
