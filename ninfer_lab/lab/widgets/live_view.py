"""How does a picture answer, and what is left of it without a kernel? (W-5)

Owns what every view shares: its module with the shared ones put in, its data shipped once as
columns, the traits that views are linked by, its static form beside the live one, the place where
an error is shown, and that a cell that is run again closes what it had shown. Does not know what is
drawn.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import anywidget
import numpy as np
import numpy.typing as npt
import traitlets

from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.widgets.cell_views import CellViews

Column = npt.NDArray[Any]

_KINDS = {"uint8": "u8", "uint16": "u16", "int32": "i32", "float64": "f64"}
"""Of columns, by numpy's name; `view_columns.js` knows the same."""

_ALIGNMENT_BYTES = 8
"""Where a column may begin: at a multiple of the largest item."""

_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
_SHOWN = CellViews()


@cache
def module_text(name: str) -> str:
    """A view's module as a browser can load it.

    anywidget loads a module from a blob, from where a neighbour cannot be imported: the text of
    each neighbour stands in place of its first import.

    Args:
        name: Of a `.js` file beside this one, without its ending.
    """
    placed: set[str] = set()

    def with_neighbours(file: str) -> str:
        placed.add(file)
        return _IMPORT.sub(lambda found: neighbour(found[1]), _read(file))

    def neighbour(file: str) -> str:
        return "" if file in placed else _EXPORT.sub("", with_neighbours(file))

    return with_neighbours(f"{name}.js")


def _read(file: str) -> str:
    return files(__package__).joinpath(file).read_text(encoding="utf-8")


def packed(columns: Mapping[str, Column]) -> tuple[bytes, dict[str, tuple[str, int, int]]]:
    """Columns as one buffer, and of each its kind, where it begins and how many items it has.

    Raises:
        KeyError: A column of a kind that does not cross.
    """
    parts, at, offset = [], {}, 0
    for name, column in columns.items():
        content = np.ascontiguousarray(column).tobytes()
        at[name] = (_KINDS[column.dtype.name], offset, column.size)
        padding = -len(content) % _ALIGNMENT_BYTES
        parts += [content, bytes(padding)]
        offset += len(content) + padding
    return b"".join(parts), at


class LiveView(anywidget.AnyWidget):
    """A view in a cell: drawn by a plain ES module, with the whole of its data in the browser.

    A subclass names its module (`_esm = module_text(...)`) and says what it is in words and as a
    picture. Views that share a unit of `step` or `selected` are linked in the browser by
    `ipywidgets.jslink((a, "step"), (b, "step"))`.

    Attributes:
        step: Where it stands, `0 <= step < steps_count`; set from either side.
        selected: What is chosen; `None` if nothing is.
        facts: Names, words and colours, as JSON.
        problem: What went wrong; shown in the view itself.
    """

    _css = _read("live_view.css")

    columns = traitlets.Bytes().tag(sync=True)
    columns_at = traitlets.Dict().tag(sync=True)
    facts = traitlets.Dict().tag(sync=True)
    steps_count = traitlets.Int(1).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    selected = traitlets.Int(None, allow_none=True).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        *,
        columns: Mapping[str, Column],
        facts: Mapping[str, Any],
        steps_count: int,
        step: int = 0,
        selected: int | None = None,
    ) -> None:
        content, at = packed(columns)
        super().__init__(
            columns=content,
            columns_at=at,
            facts=dict(facts),
            steps_count=steps_count,
            step=step,
            selected=selected,
        )
        _SHOWN.keep(self)

    def picture(self) -> Picture:
        """The static form, as the view stands now."""
        raise NotImplementedError

    def on_change(self, name: str, act: Callable[[Any], None]) -> None:
        """Calls back with each new value of a trait; what `act` raises is shown in the view.

        An error in a plain observer ends in a log that nobody looks at.
        """

        def observed(change: Mapping[str, Any]) -> None:
            try:
                act(change["new"])
            except Exception as error:  # whatever a reader's function raises
                self.problem = f"{type(error).__name__}: {error}"
            else:
                self.problem = ""

        self.observe(observed, names=name)

    def close(self) -> None:
        """Ends the view on both sides, with the layout that came with it."""
        self.layout.close()
        super().close()

    @traitlets.validate("step")
    def _within(self, proposal: Mapping[str, Any]) -> int:
        value: int = proposal["value"]
        return max(0, min(self.steps_count - 1, value))

    def __str__(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        found = super()._repr_mimebundle_(**kwargs)
        live, metadata = ({}, {}) if found is None else found
        encoded = base64.b64encode(self.picture()._repr_png_()).decode()
        return {**live, "image/png": encoded, "text/plain": str(self)}, metadata
