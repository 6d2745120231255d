"""What is kept of prefixes that come in turns, by which slots and rules, and why?

Owns the controls over one run of the study: another choice is another run on a fresh engine, and of
every request of it the reader sees why each of its frontiers was kept or not. Decides and counts
nothing itself. A choice that no engine takes is said in the desk, and the last run stays.
"""

from __future__ import annotations

import html
from typing import Any

import ipywidgets

from ninfer_lab.contract.errors import NinferLabError, OptionsError
from ninfer_lab.lab import palette
from ninfer_lab.lab.eight_prefixes_figures import one_turn
from ninfer_lab.lab.eight_prefixes_reasons import Reason, Weighed, reasons
from ninfer_lab.lab.eight_prefixes_study import (
    ROOMY,
    Rules,
    StudyMachine,
    Turn,
    Turns,
    TurnsRun,
    run_turns,
)
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.widgets.cell_views import CellViews
from ninfer_lab.lab.widgets.shown import WIDE, both_forms

MAX_PREFIXES, MAX_SLOTS, MAX_ROUNDS = 12, 32, 8
"""What a reader waits a few seconds for."""

_SHOWN = CellViews()


class TurnsDesk:
    """A run of the study under the reader's hand.

    Args:
        prefixes: How many instructions come in turns, each with another question every time.
        slots: Of the shared catalog.
        rounds: How often each comes.
        rules: Who may take a slot, and who must give one up.
        lengths: Of the instructions in tokens: one for all, or one for each.
    """

    def __init__(
        self,
        prefixes: int = 8,
        slots: int = 16,
        rounds: int = 4,
        rules: Rules = Rules.BEFORE,
        lengths: str = "1430",
    ) -> None:
        self._prefixes = _slider("prefixes", prefixes, 1, MAX_PREFIXES)
        self._slots = _slider("slots", slots, 0, MAX_SLOTS)
        self._rounds = _slider("rounds", rounds, 1, MAX_ROUNDS)
        self._rules = ipywidgets.Dropdown(
            options=[(each.value, each) for each in Rules],
            value=rules,
            description="rules",
            style=WIDE,
        )
        self._lengths = ipywidgets.Text(value=lengths, description="lengths", style=WIDE)
        self._request = ipywidgets.Dropdown(description="look at", style=WIDE)
        self._request.observe(lambda _: self._show(), names="value")
        run = ipywidgets.Button(description="Run", button_style="primary")
        run.on_click(lambda _: self.run())
        self._error = ipywidgets.HTML()
        self._why = ipywidgets.HTML()
        self._image = ipywidgets.Image(format="png", layout={"max_width": "100%"})
        choices = [self._prefixes, self._lengths, self._slots, self._rounds, self._rules, run]
        controls = ipywidgets.VBox([*choices, self._error, self._request])
        self._live = ipywidgets.VBox([ipywidgets.HBox([controls, self._why]), self._image])
        self._machine = StudyMachine.published()
        self._is_setting = False
        self._said = ""
        self.result: TurnsRun | None = None
        _SHOWN.keep(self)
        self.run()

    # ── what the controls do, by name ───────────────────────────────────────────────────────────

    def choose(
        self,
        *,
        prefixes: int | None = None,
        slots: int | None = None,
        rounds: int | None = None,
        rules: Rules | None = None,
        lengths: str | None = None,
    ) -> None:
        """Sets controls; what is not given stays. Nothing is run."""
        given = (
            (self._prefixes, prefixes),
            (self._slots, slots),
            (self._rounds, rounds),
            (self._rules, rules),
            (self._lengths, lengths),
        )
        for control, value in given:
            if value is not None:
                control.value = value

    def run(self) -> None:
        """The chosen requests on a fresh engine, from the first to the last."""
        try:
            turns = Turns(
                preambles_tokens=_lengths_tokens(self._lengths.value, self._prefixes.value),
                rounds_count=self._rounds.value,
            )
            self.result = run_turns(
                self._slots.value,
                self._rules.value,
                turns=turns,
                options=ROOMY,
                machine=self._machine,
            )
        except NinferLabError as error:
            self._said = str(error)
        else:
            self._said = ""
            self._offer_requests(self.result)
        self._show()

    def look(self, round_ordinal: int, prefix_ordinal: int) -> None:
        """At one request, both counted from 1."""
        self._request.value = (round_ordinal, prefix_ordinal)

    def close(self) -> None:
        """Its controls leave kernel and browser."""
        waiting: list[Any] = [self._live]
        while waiting:
            widget = waiting.pop()
            waiting += getattr(widget, "children", ())
            for part in ("style", "layout"):
                if hasattr(widget, part):
                    getattr(widget, part).close()
            widget.close()

    @property
    def turn(self) -> Turn | None:
        """The request that is looked at; none before the first run."""
        if self.result is None:
            return None
        return next(each for each in self.result.requests if _place(each) == self._request.value)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Of its two frontiers."""
        if self.result is None or self.turn is None:
            return ()
        return reasons(self.result, self.turn)

    # ── showing ─────────────────────────────────────────────────────────────────────────────────

    def __str__(self) -> str:
        if self.result is None or self.turn is None:
            return self._said
        lines = [self._said, str(self.result), f"{_name(self.turn)}: {_start(self.turn)}"]
        return "\n".join([*filter(None, lines), *map(str, self.reasons)])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return both_forms(self._live, text=str(self), picture=self._picture(title=str(self)))

    def _offer_requests(self, run: TurnsRun) -> None:
        """The requests of a new run, the same one looked at where it is there still."""
        places = [_place(turn) for turn in run.requests]
        looked_at = self._request.value if self._request.value in places else places[0]
        self._is_setting = True
        self._request.options = [(_name(turn), _place(turn)) for turn in run.requests]
        self._request.value = looked_at
        self._is_setting = False

    def _show(self) -> None:
        if self._is_setting:
            return
        said = html.escape(self._said)
        self._error.value = f"<div style='color:#B00020;line-height:1.4'>{said}</div>"
        if self.result is not None and self.turn is not None:
            self._why.value = _words(self.result, self.turn, self.reasons)
        self._image.value = self._picture()._repr_png_()

    def _picture(self, title: str | None = None) -> Picture:
        return one_turn(self.result, self.turn, title=title)


# ── leaves ──────────────────────────────────────────────────────────────────────────────────────


def _slider(name: str, value: int, lowest: int, highest: int) -> Any:
    return ipywidgets.IntSlider(
        value=value, min=lowest, max=highest, description=name, style=WIDE, continuous_update=False
    )


def _lengths_tokens(written: str, prefixes_count: int) -> tuple[int, ...]:
    """One for each instruction.

    Raises:
        OptionsError: No whole numbers from 1 on, or neither one nor one for each.
    """
    words = written.replace(",", " ").split()
    lengths = [int(word) for word in words if word.isdecimal() and int(word)]
    if len(lengths) != len(words) or len(lengths) not in (1, prefixes_count):
        legal = f"whole numbers from 1 on: one, or {prefixes_count}"
        raise OptionsError("lengths", found=written or "nothing", legal=legal)
    return tuple(lengths * (prefixes_count if len(lengths) == 1 else 1))


def _place(turn: Turn) -> tuple[int, int]:
    return turn.round_ordinal, turn.prefix_ordinal + 1


def _name(turn: Turn) -> str:
    return f"round {turn.round_ordinal}, prefix {turn.prefix_ordinal + 1}"


def _start(turn: Turn) -> str:
    if not turn.hit_tokens:
        return f"all of its {turn.prompt_tokens:,} prompt tokens are computed"
    return f"starts from {turn.hit_tokens:,} kept tokens of {turn.prompt_tokens:,}"


def _words(run: TurnsRun, turn: Turn, found: tuple[Reason, ...]) -> str:
    parts = [f"<p>{html.escape(str(run))}</p><p><b>{_name(turn)}</b>: {_start(turn)}</p>"]
    for reason in found:
        head = f"{reason.place} at {reason.frontier_tokens:,} tokens"
        parts.append(f"<p style='margin:0.6em 0 0'><b>{head}</b>: {html.escape(reason.words)}</p>")
        parts += [_table(each) for each in reason.ways]
    return f"<div style='line-height:1.5;margin-left:2em'>{''.join(parts)}</div>"


def _table(way: Weighed) -> str:
    """The terms of one way under each other, the sum last."""
    mark = f" <b style='color:{palette.OWNER_COLOURS[2]}'>taken</b>" if way.is_taken else ""
    rows = [
        f"<tr><td style='text-align:left'>{name}</td>"
        f"<td style='text-align:right;padding-left:1.5em'>{value:+,.2f} ms</td></tr>"
        for name, value in way.terms
    ] or ["<tr><td>no target fits</td></tr>"]
    return f"<div style='margin-left:1em'>{way.way}{mark}<table>{''.join(rows)}</table></div>"
