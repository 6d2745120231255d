"""Law: a view is whole without a network or a kernel, shows its errors, and leaks nothing."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.widgets import cell_views
from ninfer_lab.lab.widgets.cell_views import CellViews
from ninfer_lab.lab.widgets.live_view import Column, LiveView, module_text, packed

VIEWS = (
    "dashboard_view",
    "placement_map_view",
    "pressure_ladders_view",
    "stepper_view",
    "target_graph_view",
)
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class Blank(LiveView):
    """The least there is."""

    _esm = "export default { render() {} }"

    def __init__(self, steps_count: int = 3) -> None:
        super().__init__(
            columns={"a": np.arange(5, dtype=np.uint8)}, facts={}, steps_count=steps_count
        )

    def __str__(self) -> str:
        return f"at {self.step}"

    def picture(self) -> Picture:
        return Picture(figsize=(1, 1))


def test_a_module_has_its_neighbours_in_it_each_once() -> None:
    text = module_text("target_graph_view")
    assert "import " not in text
    assert text.count("function columns(") == text.count("class Life ") == 1
    assert text.count("export ") == text.count("export default") == 1


def test_a_module_asks_for_nothing_from_elsewhere() -> None:  # spec: W-5
    for name in VIEWS:
        text = module_text(name)
        assert not [word for word in ("http:", "https:", "fetch(", "//cdn") if word in text], name


def test_columns_begin_where_a_typed_array_may() -> None:
    columns: dict[str, Column] = {
        "few": np.array([1, 2, 3], np.uint8),
        "times": np.array([0.5, np.nan], np.float64),
        "none": np.array([], np.int32),
        "ids": np.array([-1, 7], np.int32),
    }
    content, at = packed(columns)
    assert at == {
        "few": ("u8", 0, 3),
        "times": ("f64", 8, 2),
        "none": ("i32", 24, 0),
        "ids": ("i32", 24, 2),
    }
    found = np.frombuffer(content, np.int32, count=2, offset=24)
    assert found.tolist() == [-1, 7]
    with pytest.raises(KeyError, match="float32"):
        packed({"narrow": np.zeros(1, np.float32)})


def test_a_step_stays_within() -> None:
    view = Blank(steps_count=3)
    view.step = 7
    assert view.step == 2
    view.step = -1
    assert view.step == 0


def test_a_view_is_seen_and_read_without_a_kernel() -> None:  # spec: W-5
    view = Blank()
    found = view._repr_mimebundle_()
    assert found is not None
    bundle = found[0]
    assert bundle["text/plain"] == str(view) == repr(view) == "at 0"
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert WIDGET_VIEW in bundle


def test_what_a_readers_function_raises_is_shown_and_gone_when_it_works() -> None:
    view = Blank()

    def refuse(step: int) -> None:
        if step == 1:
            raise ValueError("no such turn")

    view.on_change("step", refuse)
    view.step = 1
    assert view.problem == "ValueError: no such turn"
    view.step = 2
    assert view.problem == ""


class Shown:
    """Remembers that it was closed."""

    def __init__(self) -> None:
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    running: dict[str, Any] = {"cell": "a", "run": "1"}
    monkeypatch.setattr(cell_views, "_running_cell", lambda: (running["cell"], running["run"]))
    return running


def test_a_cell_that_is_run_again_closes_what_it_had_shown(cell: dict[str, Any]) -> None:
    views = CellViews()
    first, beside, elsewhere, again = shown = [Shown() for _ in range(4)]
    views.keep(first)
    views.keep(beside)
    cell |= {"cell": "b", "run": "2"}
    views.keep(elsewhere)
    assert [each.is_closed for each in shown] == [False, False, False, False]
    cell |= {"cell": "a", "run": "3"}
    views.keep(again)
    assert [each.is_closed for each in shown] == [True, True, False, False]


def test_where_cells_have_no_names_nothing_is_closed(cell: dict[str, Any]) -> None:
    views, first = CellViews(), Shown()
    cell |= {"cell": None}
    views.keep(first)
    views.keep(Shown())
    assert not first.is_closed
