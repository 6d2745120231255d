"""What would become of the ledger, if I decided?

Owns the live ledger of a notebook: choose a request and what becomes of every inactive owner, read
Program's verdict on all of it together, and carry it out. Decides and counts nothing itself; every
number is Program's.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets

from ninfer_lab.contract.capacity import Axis, AxisUse
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.target import Assessment
from ninfer_lab.lab import palette
from ninfer_lab.lab.ledger_bench import LedgerBench
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.placement_figures import placement
from ninfer_lab.lab.wanted import Fate, Wanted
from ninfer_lab.lab.widgets.shown import WIDE, both_forms

_NUMBER = "text-align:right;padding:0 0 0 1.5em;line-height:1.6"
"""Style of a cell that holds a number."""

_WIDTH = {"width": "28em"}
"""Of every list to choose from: a request is named in words."""


class LedgerDesk:
    """A ledger under the reader's hand.

    Args:
        make: Builds the bench; *Reset* builds it again.
        requests: Requests to choose from, by name. One whose source is gone is not offered.
    """

    def __init__(self, make: Callable[[], LedgerBench], requests: Mapping[str, Wanted]) -> None:
        self._make = make
        self._requests = dict(requests)
        self._said = ""
        self._is_setting = False
        self.bench = make()
        self._request = ipywidgets.Dropdown(description="request", style=WIDE, layout=_WIDTH)
        self._fates = ipywidgets.VBox()
        self._fate_of: dict[OwnerId, Any] = {}
        self._verdict = ipywidgets.HTML()
        self._image = ipywidgets.Image(format="png", layout={"max_width": "100%"})
        run = ipywidgets.Button(description="Carry it out", button_style="primary")
        reset = ipywidgets.Button(description="Reset")
        run.on_click(lambda _: self.run())
        reset.on_click(lambda _: self.reset())
        self._request.observe(lambda _: self._show(), names="value")
        controls = ipywidgets.VBox(
            [self._request, self._fates, ipywidgets.HBox([run, reset])],
            layout={"min_width": "29em"},
        )
        self._live = ipywidgets.VBox([ipywidgets.HBox([controls, self._verdict]), self._image])
        self._renew()

    # ── what the controls do, by name ───────────────────────────────────────────────────────────

    def choose(self, request: str, fates: Mapping[OwnerId, Fate] | None = None) -> None:
        """Sets the controls; owners that are not named stay."""
        self._is_setting = True
        self._request.value = request
        for owner, control in self._fate_of.items():
            control.value = (fates or {}).get(owner, Fate.STAYS)
        self._is_setting = False
        self._said = ""
        self._show()

    def run(self) -> None:
        """Carries out what is chosen, if it fits: the request is admitted, computed and ends."""
        assessment = self.assessment
        if not assessment.is_feasible:
            self._said = "Nothing has happened: a target that does not fit is never sealed."
            self._show()
            return
        self.bench.serve(self.wanted)
        self._renew()
        self._said = f"Done, by {assessment.state.value}. The ledger as it is now:"
        self._show()

    def reset(self) -> None:
        """Everything as it was at first."""
        self.bench = self._make()
        self._said = ""
        self._renew()

    @property
    def wanted(self) -> Wanted:
        """What the controls say. The source's own owner has its fate by its role."""
        request = self._requests[self._request.value]
        return request.with_fates(
            (owner, control.value)
            for owner, control in self._fate_of.items()
            if control.value is not Fate.STAYS and owner != request.source
        )

    @property
    def assessment(self) -> Assessment:
        """Program's verdict on it."""
        return self.bench.assess(self.wanted)

    # ── showing ─────────────────────────────────────────────────────────────────────────────────

    def __str__(self) -> str:
        fates = [f"owner {owner} {fate.value}" for owner, fate in self.wanted.fates]
        chosen = "; ".join((self._request.value, *(fates or ["every owner stays as it is"])))
        return f"{chosen}\n{_verdict(self.assessment)}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return both_forms(self._live, text=str(self), picture=self._picture(title=str(self)))

    def _renew(self) -> None:
        """The controls for those who are there now."""
        there = self.bench.owners
        names = [
            name
            for name, wanted in self._requests.items()
            if wanted.source is None or wanted.source in there
        ]
        self._is_setting = True
        self._request.options = names
        self._request.value = names[0]
        self._is_setting = False
        self._fate_of = {}
        for owner in there:
            control = ipywidgets.Dropdown(
                options=[(fate.value, fate) for fate in Fate],
                value=Fate.STAYS,
                description=f"owner {owner}",
                style=WIDE,
                layout=_WIDTH,
            )
            control.observe(lambda _: self._show(), names="value")
            self._fate_of[owner] = control
        self._fates.children = tuple(self._fate_of.values())
        self._show()

    def _show(self) -> None:
        if self._is_setting:
            return
        source = self._requests[self._request.value].source
        for owner, control in self._fate_of.items():
            control.disabled = owner == source
        self._verdict.value = self._words()
        self._image.value = self._picture()._repr_png_()

    def _picture(self, title: str | None = None) -> Picture:
        arena = self.bench.options.capacity.host_kv
        return placement(self.bench.describe(), arena=arena, title=title)

    def _words(self) -> str:
        assessment = self.assessment
        said = f"<p><i>{html.escape(self._said)}</i></p>" if self._said else ""
        lines = "<br>".join(html.escape(line) for line in str(self).splitlines())
        parts = "".join(
            f"<li>{html.escape(line)}</li>"
            for explanation in self.bench.explain(self.wanted)[:1]
            for line in explanation.lines
        )
        return f"{said}{lines}{_peaks(assessment)}<ul>{parts}</ul>"


def _verdict(assessment: Assessment) -> str:
    """In one line."""
    if assessment.is_feasible:
        copied = f"{assessment.cow_pages} pages copied on the Device"
        return f"It fits, by {assessment.state.value}; {copied}."
    return f"It does not fit {assessment.violations[0]}."


def _peaks(assessment: Assessment) -> str:
    """A row for each axis: before, the highest stage, the end."""
    names = ("now", "highest", "end", "capacity")
    head = "<th></th>" + "".join(f"<th style='{_NUMBER}'>{name}</th>" for name in names)
    rows = "".join(
        _row([stage.occupancy.on(axis) for stage in assessment.stages])
        for axis in Axis
        if assessment.stages[0].occupancy.on(axis).capacity_count
    )
    return f"<table><tr>{head}</tr>{rows}</table>"


def _row(uses: list[AxisUse]) -> str:
    highest = max(uses, key=lambda use: use.used_count)
    over = f";font-weight:bold;color:{palette.CAPACITY_COLOUR}" if highest.free_count < 0 else ""
    counts = (uses[0].used_count, highest.used_count, uses[-1].used_count, highest.capacity_count)
    styles = (_NUMBER, _NUMBER + over, _NUMBER, _NUMBER)
    cells = (
        f"<td style='text-align:left'>{uses[0].axis.value}</td>",
        *(f"<td style='{s}'>{count:,}</td>" for s, count in zip(styles, counts, strict=True)),
    )
    return f"<tr>{''.join(cells)}</tr>"
