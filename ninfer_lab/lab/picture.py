"""How does a figure show itself?

Owns the one figure class of the workbench. Does not know what is drawn.
"""

from __future__ import annotations

from io import BytesIO

from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image

PICTURE_DPI = 110

PICTURE_COLOURS = 256
"""Of one picture, chosen from those it has: less than half the bytes, and no difference to see."""

SVG_SALT = "ninfer-lab"
"""From which matplotlib makes the names inside an SVG; by default they are random."""


class Picture(Figure):
    """A figure that a notebook shows by itself, without pyplot's global state."""

    def _repr_png_(self) -> bytes:
        return self.png_bytes()

    def png_bytes(self) -> bytes:
        """The file that a notebook shows."""
        drawn, written = BytesIO(), BytesIO()
        self.savefig(drawn, format="png", dpi=PICTURE_DPI)
        with Image.open(drawn) as image:
            few = image.convert("RGB").quantize(PICTURE_COLOURS, dither=Image.Dither.NONE)
        few.save(written, format="png", optimize=True)
        return written.getvalue()

    def svg_bytes(self) -> bytes:
        """The same picture in lines; the same figure gives the same bytes."""
        written = BytesIO()
        with rc_context({"svg.hashsalt": SVG_SALT, "svg.fonttype": "none"}):
            self.savefig(written, format="svg", metadata={"Date": None})
        return written.getvalue()
