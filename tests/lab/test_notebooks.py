"""Law: a build replaces a notebook in one step by a run of it, or leaves it byte for byte."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ninfer_lab.lab.notebook_rules import WIDGET_VIEW
from ninfer_lab.lab.notebook_shelf import NotebookError
from ninfer_lab.lab.notebooks import build_notebook

TIMEOUT_S = 60.0


def write(path: Path, *sources: str) -> Path:
    cells = [new_markdown_cell("# Does it run?"), *map(new_code_cell, sources)]
    nbformat.write(new_notebook(cells=cells, metadata={"widgets": {"stale": 1}}), path)
    return path


def read(path: Path) -> NotebookNode:
    notebook: NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def refused(path: Path) -> str:
    """The message of a build that fails; checks that the file and its folder are as before."""
    before = path.read_bytes()
    with pytest.raises(NotebookError) as error:
        build_notebook(path, cell_timeout_s=TIMEOUT_S)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    return str(error.value)


def test_a_build_runs_from_a_fresh_kernel_and_keeps_outputs(tmp_path: Path) -> None:  # spec: NB-4
    path = write(
        tmp_path / "10_ok.ipynb",
        "import os\nprint(os.path.basename(os.getcwd()), os.environ['HF_HUB_OFFLINE'])",
        "ipywidgets = __import__('ipywidgets')\n"
        "class Dial(ipywidgets.IntSlider):\n"
        "    def _repr_mimebundle_(self, **options):\n"
        "        return {**super()._repr_mimebundle_(**options), 'text/html': '<b>7</b>'}\n"
        "Dial(value=7)",
        "assert os.environ['OMP_WAIT_POLICY'] == 'PASSIVE'",
    )
    built = build_notebook(path, cell_timeout_s=TIMEOUT_S)
    assert built.size_bytes == path.stat().st_size
    notebook = read(path)
    _, first, second, last = notebook["cells"]
    assert first["outputs"][0]["text"] == f"{tmp_path.name} 1\n"
    assert second["outputs"][0]["data"]["text/html"] == "<b>7</b>"
    assert WIDGET_VIEW not in second["outputs"][0]["data"]
    assert [cell["execution_count"] for cell in (first, second, last)] == [1, 2, 3]
    assert notebook["metadata"] == {
        "kernelspec": {
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }


DRAW = "display({'image/png': 'iVBORw0KGgo=', 'text/plain': '<Figure>'}, raw=True)"


def test_the_first_figure_becomes_the_picture_of_the_reading_order(tmp_path: Path) -> None:
    path = write(tmp_path / "10_drawn.ipynb", "1", DRAW, "assert True")
    built = build_notebook(path, cell_timeout_s=TIMEOUT_S)
    assert built.picture == tmp_path / "pictures" / "10_drawn.png"
    assert built.picture.read_bytes() == b"\x89PNG\r\n\x1a\n"
    write(path, "1", "assert True")
    assert build_notebook(path, cell_timeout_s=TIMEOUT_S).picture is None
    assert list(built.picture.parent.iterdir()) == []


def test_a_second_build_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "10_ok.ipynb", "print(6 * 7)", "assert True")
    build_notebook(path, cell_timeout_s=TIMEOUT_S)
    first = path.read_bytes()
    build_notebook(path, cell_timeout_s=TIMEOUT_S)
    assert path.read_bytes() == first


def test_a_bar_that_is_gone_leaves_nothing_and_a_warning_stays(tmp_path: Path) -> None:
    path = write(
        tmp_path / "10_bars.ipynb",
        "from ninfer_lab.lab.progress import counted\n"
        "for _ in counted(range(3), 'step', is_shown=True): pass",
        "import sys; print('mind this', file=sys.stderr)",
        "assert True",
    )
    build_notebook(path, cell_timeout_s=TIMEOUT_S)
    _, bar, warning, _ = read(path)["cells"]
    assert bar["outputs"] == []
    assert warning["outputs"][0]["text"] == "mind this\n"


def test_a_failing_cell_is_named(tmp_path: Path) -> None:  # spec: BAD-1
    path = write(tmp_path / "10_bad.ipynb", "x = 1", "x / 0", "assert x")
    assert refused(path).startswith("10_bad.ipynb, cell 3: found ZeroDivisionError: division by")


def test_a_notebook_that_breaks_a_rule_is_not_written(tmp_path: Path) -> None:
    path = write(tmp_path / "10_end.ipynb", "import ipywidgets\nipywidgets.IntSlider()")
    message = refused(path)
    assert "cell 2: found a widget without a static form" in message
    assert "cell 2: legal: the last cell asserts" in message


def test_a_notebook_cannot_reach_the_network(tmp_path: Path) -> None:  # spec: NB-2
    path = write(
        tmp_path / "10_net.ipynb",
        "import urllib.request\nurllib.request.urlopen('http://example.org')",
    )
    assert "network: found a request for 'example.org'" in refused(path)


def test_a_cell_that_hangs_or_kills_its_kernel_is_a_plain_refusal(tmp_path: Path) -> None:
    path = write(tmp_path / "10_dead.ipynb", "import os\nos._exit(3)")
    assert "in a kernel that lives" in refused(path)
    write(path, "while True: pass")
    with pytest.raises(NotebookError, match="cells of at most 2 s"):
        build_notebook(path, cell_timeout_s=2.0)


def test_what_is_no_notebook_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "10_text.ipynb"
    path.write_text("hello")
    assert refused(path).startswith("10_text.ipynb: found Notebook does not appear to be JSON")
