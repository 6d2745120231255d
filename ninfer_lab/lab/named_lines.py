"""How does a value that is a list of names and words show itself?

Owns its text and its table (W-6). Does not know what is named.
"""

from __future__ import annotations

import html


class NamedLines:
    """To derive a value from that says its `lines`."""

    __slots__ = ()

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Names and words, in reading order."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(f"{name:16} {words}" for name, words in self.lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(words)}</td></tr>"
            for name, words in self.lines
        )
        return f"<table>{rows}</table>"
