"""How do a reference and its kernel look side by side?

Owns the value that shows two sources in two columns, and as text. Does not know what they compute.
"""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SideBySide:
    """Two sources.

    Attributes:
        reference: Plain torch.
        kernels: Device functions, in the order of their launches.
    """

    op: str
    reference: str
    kernels: str

    def __str__(self) -> str:
        return (
            f"{self.op}\n\n--- reference\n{self.reference}\n\n--- kernels, one program\n"
            f"{self.kernels}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns = "".join(
            f'<div style="flex:1 1 30em;min-width:0"><b>{title}</b>'
            '<pre style="font-size:0.78em;line-height:1.35;max-height:38em;overflow:auto;'
            f'border:1px solid #8A8A8A;padding:0.6em">{html.escape(source)}</pre></div>'
            for title, source in (
                ("reference, plain torch", self.reference),
                ("kernel, one program", self.kernels),
            )
        )
        return (
            f"<p><code>{html.escape(self.op)}</code></p>"
            f'<div style="display:flex;flex-wrap:wrap;gap:1em">{columns}</div>'
        )
