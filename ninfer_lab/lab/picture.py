"""How does a figure show itself?

Owns the one figure class of the workbench. Does not know what is drawn.
"""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure
from PIL import Image

PICTURE_DPI = 110

PICTURE_COLOURS = 256
"""Of one picture, chosen from those it has: less than half the bytes, and no difference to see."""


class Picture(Figure):
    """A figure that a notebook shows by itself, without pyplot's global state."""

    def _repr_png_(self) -> bytes:
        drawn, written = BytesIO(), BytesIO()
        self.savefig(drawn, format="png", dpi=PICTURE_DPI)
        with Image.open(drawn) as image:
            few = image.convert("RGB").quantize(PICTURE_COLOURS, dither=Image.Dither.NONE)
        few.save(written, format="png", optimize=True)
        return written.getvalue()
