"""What does a transition hold now, and what if it stopped here?

Owns the live transition of a notebook: start it, let its copies arrive, cancel it, or choose a copy
that fails. Decides nothing; phases, places and the result are Program's.
"""

from __future__ import annotations

import html
from typing import Any

import ipywidgets

from ninfer_lab.contract.result import Aborted, ResourceResult
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.placement_figures import placement
from ninfer_lab.lab.transition_trials import Pressed, pressed
from ninfer_lab.lab.widgets.shown import WIDE, both_forms

NO_FAULT = frozenset[int]()
FAULTS = {
    "no copy fails": NO_FAULT,
    "the demotion fails": frozenset({0}),
    "the restore fails": frozenset({1}),
}


class TransitionDesk:
    """One transition under the reader's hand, from its sealed plan to its stable end."""

    def __init__(self) -> None:
        self._fault = ipywidgets.Dropdown(
            options=list(FAULTS.items()), description="copies", style=WIDE
        )
        self._fault.observe(lambda _: self.again(), names="value")
        self._words_shown = ipywidgets.HTML()
        self._image = ipywidgets.Image(format="png", layout={"max_width": "100%"})
        self._go_on = ipywidgets.Button(description="Go on", button_style="primary")
        self._cancel = ipywidgets.Button(description="Cancel", button_style="warning")
        again = ipywidgets.Button(description="From the start")
        self._go_on.on_click(lambda _: self.go_on())
        self._cancel.on_click(lambda _: self.cancel())
        again.on_click(lambda _: self.again())
        buttons = ipywidgets.HBox([self._go_on, self._cancel, again, self._fault])
        self._live = ipywidgets.VBox([buttons, self._words_shown, self._image])
        self.again()

    # ── what the controls do, by name ───────────────────────────────────────────────────────────

    def again(self) -> None:
        """A fresh bench; the plan is sealed and started, and nothing has happened yet."""
        self.scene: Pressed = pressed(failing_transfers=self._fault.value)
        self.result: ResourceResult | None = None
        self._is_copying = self._is_cancelled = False
        self.scene.bench.start(self.scene.bench.seal(self.scene.wanted))
        self._show()

    def go_on(self) -> None:
        """The copies in flight arrive, if there are any; then as far as it goes now."""
        if self.result is not None:
            return
        if self._is_copying:
            self.scene.bench.arrive()
        self.result = self.scene.bench.advance()
        self._is_copying = self.result is None
        self._show()

    def cancel(self) -> None:
        """Asks for the other end; it is taken at the next stable boundary."""
        if self.result is None:
            self.scene.bench.cancel()
            self._is_cancelled = True
            self._show()

    def fail(self, which: str) -> None:
        """Chooses the copy that fails, by its name in `FAULTS`, and starts again."""
        self._fault.value = FAULTS[which]

    @property
    def phase(self) -> TransactionPhase:
        """How far it is."""
        if isinstance(self.result, Aborted):
            return self.result.phase
        transition = self.scene.bench.ledger.transition
        return TransactionPhase.COMMITTED if transition is None else transition.phase

    # ── showing ─────────────────────────────────────────────────────────────────────────────────

    def __str__(self) -> str:
        bench, scene = self.scene.bench, self.scene
        places = ", ".join(
            f"{name} (owner {owner}): {bench.whereabouts(owner)}"
            for name, owner in (
                ("source", scene.source),
                ("to demote", scene.victim),
                ("to evict", scene.gone),
            )
        )
        return f"{self.phase.value}: {self._said()}\n{places}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return both_forms(self._live, text=str(self), picture=self._picture(title=str(self)))

    def _said(self) -> str:
        if isinstance(self.result, Aborted):
            return f"ended, {self.result.cause.value}; what was published stays"
        if self.result is not None:
            return "committed; the request is active"
        if self._is_cancelled:
            return "cancellation is asked for; go on to the next stable boundary"
        if self._is_copying:
            return "copies are in flight; go on to let them arrive"
        return "sealed and started; nothing has happened yet"

    def _words(self) -> str:
        steps = " → ".join(
            f"<b style='color:#D55E00'>{phase.value}</b>" if phase is self.phase else phase.value
            for phase in TransactionPhase
        )
        where = html.escape(str(self).splitlines()[1])
        return f"{steps}<br>{html.escape(self._said())}<br><small>{where}</small>"

    def _picture(self, title: str | None = None) -> Picture:
        bench = self.scene.bench
        arena = bench.options.capacity.host_kv
        return placement(bench.describe(), arena=arena, title=title)

    def _show(self) -> None:
        self._go_on.disabled = self.result is not None
        self._cancel.disabled = self.result is not None or self._is_cancelled
        self._words_shown.value = self._words()
        self._image.value = self._picture()._repr_png_()
