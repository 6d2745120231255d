"""Law: a shelf holds the numbered notebooks in reading order, and says what it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ninfer_lab.lab.notebook_shelf import NotebookError, NotebookShelf


def test_the_shelf_is_read_by_number(tmp_path: Path) -> None:
    for name in ("20_b.ipynb", "00_a.ipynb", "draft.ipynb"):
        (tmp_path / name).touch()
    shelf = NotebookShelf.find(tmp_path)
    assert shelf.first().name == "00_a.ipynb"
    assert [p.stem for p in shelf.select(())] == ["00_a", "20_b"]
    assert [p.stem for p in shelf.select(("20_b.ipynb", "00_a"))] == ["00_a", "20_b"]
    with pytest.raises(NotebookError, match="notebook: found 30_c; legal: 00_a, 20_b"):
        shelf.select(("00_a", "30_c"))


def test_an_empty_shelf_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(NotebookError, match=f"no numbered .ipynb in {tmp_path}; legal: a checkout"):
        NotebookShelf.find(tmp_path)
