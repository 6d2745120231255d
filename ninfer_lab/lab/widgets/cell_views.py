"""Which views did this cell show when it was last run?

Owns the views of each cell, so that a cell that is run again closes its old ones: an open view
keeps its data in the kernel and in the browser until it is closed. Outside JupyterLab, where cells
have no names, nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


class Closes(Protocol):
    """A view."""

    def close(self) -> None: ...


@dataclass(slots=True)
class _Shown:
    """By one run of one cell."""

    run: str
    views: list[Closes] = field(default_factory=list)


class CellViews:
    """Open views, by the cell that made them."""

    def __init__(self) -> None:
        self._by_cell: dict[str, _Shown] = {}

    def keep(self, view: Closes) -> None:
        """Takes a new view in, and closes those of an earlier run of its cell."""
        cell, run = _running_cell()
        if cell is None:
            return
        shown = self._by_cell.get(cell)
        if shown is None or shown.run != run:
            for old in () if shown is None else shown.views:
                old.close()
            shown = self._by_cell[cell] = _Shown(run)
        shown.views.append(view)


def _running_cell() -> tuple[str | None, str]:
    """The cell's name and its run's, as JupyterLab says them with every execution."""
    from IPython import get_ipython

    shell: Any = get_ipython()
    if shell is None or not hasattr(shell, "get_parent"):
        return None, ""
    request: dict[str, Any] = shell.get_parent() or {}
    cell: str | None = request.get("metadata", {}).get("cellId")
    run: str = request.get("header", {}).get("msg_id", "")
    return cell, run
