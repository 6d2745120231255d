"""How does a control look where no kernel runs?

Owns the pair of forms that every control is shown by: the live one, and a picture that says in its
title what was chosen. A page that can run the live form takes it; a page on a code-hosting site
takes the picture. Does not know what is controlled.
"""

from __future__ import annotations

import base64
from typing import Any

from ninfer_lab.lab.picture import Picture

WIDE = {"description_width": "9em"}
"""Style of a control whose description is words."""


def both_forms(live: Any, *, text: str, picture: Picture) -> dict[str, Any]:
    """A mime bundle of a live control and its static form.

    Args:
        live: An ipywidgets widget.
        text: The plain form.
        picture: As it is now.
    """
    found = live._repr_mimebundle_()
    bundle: dict[str, Any] = dict(found[0] if isinstance(found, tuple) else found or {})
    encoded = base64.b64encode(picture._repr_png_()).decode()
    return {**bundle, "image/png": encoded, "text/plain": text}
