"""One JupyterLab and one Chromium for all browser tests; a fresh page for each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from browser.jupyter_session import (
    CHROMIUM_FLAGS,
    JupyterServer,
    LabPage,
    find_chromium,
    jupyter_server,
)
from browser.view_page import ViewPage

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
KERNELSPEC = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
WINDOW = ViewportSize(width=1_500, height=1_100)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    executable = find_chromium()
    if executable is None:
        reason = "no chromium on PATH; install it (on Debian and Ubuntu: apt install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[*CHROMIUM_FLAGS])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """Serves a copy of the notebooks: a page saves what it ran, and the checkout stays as it is."""
    root = tmp_path_factory.mktemp("notebooks") / "served"
    shutil.copytree(NOTEBOOKS, root, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    with jupyter_server(root, tmp_path_factory.mktemp("jupyter")) as running:
        yield running


@pytest.fixture
def lab(chromium: Browser, server: JupyterServer) -> Iterator[LabPage]:
    context = chromium.new_context(viewport=WINDOW)
    yield LabPage(context.new_page(), server)
    context.close()


@pytest.fixture
def notebook_of(lab: LabPage, server: JupyterServer) -> Callable[..., LabPage]:
    """Writes a notebook of the given code cells into the served folder and opens it."""

    def open_new(name: str, *sources: str) -> LabPage:
        cells = [new_code_cell(source.strip()) for source in sources]
        nbformat.write(new_notebook(cells=cells, metadata=KERNELSPEC), server.root / name)
        lab.open(name)
        return lab

    return open_new


@pytest.fixture
def blank(chromium: Browser) -> Iterator[ViewPage]:
    """A page without Jupyter, for one view or several."""
    context = chromium.new_context(viewport=WINDOW)
    yield ViewPage(context.new_page())
    context.close()
