"""Law: every committed notebook is fit, runs top to bottom offline, and asserts what it showed."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from ninfer_lab.lab.notebook_rules import notebook_faults
from ninfer_lab.lab.notebook_shelf import NotebookError, NotebookShelf
from ninfer_lab.lab.notebooks import PICTURES, first_figure, run_notebook, strip

FOLDER = Path(__file__).parents[2] / "notebooks"
READING_ORDER = (FOLDER / "README.md").read_text()
PICTURES_LIMIT_BYTES = 1_500_000
"""Of the whole page: who opens it loads them all."""

CELL_TIMEOUT_S = 300.0
"""A hang guard, not a speed: how long a notebook takes is printed by `make bench`."""

QUESTIONS = (
    "00_start_here",
    "10_one_request",
    "20_what_a_checkpoint_is",
    "30_move_fork_cow",
    "40_reclaim_does_not_add",
    "50_targets_and_bounded_search",
    "55_what_a_cost_may_change",
    "60_what_a_prefix_is_worth",
    "65_eight_prefixes_round_robin",
    "70_side_requests_abab",
    "75_pressure_ladders",
    "80_kernels_beside_references",
    "90_calibrate_this_machine",
)

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


def test_every_question_of_the_set_has_its_notebook_in_order() -> None:  # spec: NB-3
    stems = [path.stem for path in SHELF]
    assert [stem for stem in stems if stem in QUESTIONS] == list(QUESTIONS)
    rows = [row for row in (FOLDER / "README.md").read_text().splitlines() if "](" in row]
    asked = [row for row in rows if re.match(r"\| \[\d\d", row) and "?" in row]
    assert len(asked) == len(stems)


@pytest.mark.parametrize("path", SHELF, ids=lambda path: path.stem)
def test_the_reading_order_shows_each_notebooks_own_picture(path: Path) -> None:  # spec: NB-4
    """The command that builds a notebook writes its first figure beside it: here it still is."""
    (row,) = [row for row in READING_ORDER.splitlines() if f"]({path.name})" in row]
    words, picture = re.search(r"!\[([^\]]+)\]\(([^)]+)\)", row).groups()  # type: ignore[union-attr]
    assert picture == f"{PICTURES}/{path.stem}.png"
    assert len(words.split()) > 2, "who cannot see it reads what it shows"
    assert (FOLDER / picture).read_bytes() == first_figure(nbformat.read(path, as_version=4))


def test_the_pictures_are_the_notebooks_own_and_small() -> None:  # spec: NB-4
    pictures = {each.stem: each.stat().st_size for each in (FOLDER / PICTURES).glob("*.png")}
    assert set(pictures) - {"workbench"} == {path.stem for path in SHELF}
    assert sum(pictures.values()) < PICTURES_LIMIT_BYTES


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
