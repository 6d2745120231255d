"""Law: the harness sees what went wrong in a page, and never waits without end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from browser.jupyter_session import LabPage

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def test_a_cell_that_raises_is_seen(notebook_of: Callable[..., LabPage]) -> None:
    lab = notebook_of("raises.ipynb", "print(6 * 7)", "1 / 0")
    lab.run_all()
    first, second = lab.code_cells()
    assert first["outputs"][0]["text"] == "42\n"
    assert (first["execution_count"], second["execution_count"]) == (1, 2)
    assert lab.errors() == ["ZeroDivisionError: division by zero"]
    assert lab.problems == []


def test_a_broken_widget_is_seen_though_python_is_content(
    notebook_of: Callable[..., LabPage],
) -> None:
    lab = notebook_of(
        "broken.ipynb",
        "import anywidget\n"
        "class Broken(anywidget.AnyWidget):\n"
        "    _esm = 'export default { render() { throw new Error(\"planted fault\"); } }'\n"
        "Broken()",
    )
    lab.run_all()
    assert lab.errors() == []
    lab.page.wait_for_timeout(1_000)
    assert any("planted fault" in problem for problem in lab.problems)


def test_a_request_that_leaves_is_refused_and_seen(notebook_of: Callable[..., LabPage]) -> None:
    lab = notebook_of(
        "leaves.ipynb",
        "from IPython.display import HTML\nHTML('<img src=\"http://192.0.2.1/x.png\">')",
    )
    lab.run_all()
    lab.page.wait_for_timeout(500)
    assert "request left this machine: http://192.0.2.1/x.png" in lab.problems


def test_a_cell_without_end_is_a_timeout_and_can_be_interrupted(
    notebook_of: Callable[..., LabPage],
) -> None:
    lab = notebook_of(
        "endless.ipynb", "import time\nwhile True: time.sleep(0.01)", "print('after')"
    )
    with pytest.raises(TimeoutError, match="no answer within 2 s"):
        lab.run_all(limit_s=2)
    lab.command("notebook:interrupt-kernel", limit_s=30)
    lab.wait_for_error(limit_s=30)
    assert lab.errors() == ["KeyboardInterrupt: "]


def test_a_screenshot_is_a_picture(notebook_of: Callable[..., LabPage], tmp_path: Path) -> None:
    picture = notebook_of("empty.ipynb", "").screenshot(tmp_path / "shots" / "empty.png")
    assert picture.read_bytes().startswith(PNG_SIGNATURE)
    assert picture.stat().st_size > 10_000
