"""How does a figure show itself?

Owns the one figure class of the workbench. Does not know what is drawn.
"""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure

PICTURE_DPI = 110


class Picture(Figure):
    """A figure that a notebook shows by itself, without pyplot's global state."""

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png", dpi=PICTURE_DPI)
        return buffer.getvalue()
