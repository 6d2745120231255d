"""What does a repeated raw prompt cost, measured and predicted?

Owns the picture: first tokens by preset beside the published ones, and what a forward of so many
tokens is predicted to take. Reads predictions only (`raw_prompt_anchor`).
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ninfer_lab.contract.machine_work import PrefillWork
from ninfer_lab.lab import palette
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.raw_prompt_anchor import (
    PROMPT_TOKENS,
    PUBLISHED_AGAIN_MS,
    PUBLISHED_FIRST_MS,
    AnchorTable,
    Prediction,
)

SHORT_TOKENS = (1, 16, 32, 64, 96, 128, 192, 256)
"""Lengths of one forward at which the lines are drawn."""

FEWEST_MEASURED_TOKENS = 128
"""An eighth of a chunk of 1,024: shorter forwards were not fitted to."""

LABEL_APART_MS = 15.0
"""Lines that end nearer to each other share a label."""

_FIRST, _AGAIN = palette.PREFILL_COLOUR, palette.ALLOCATED_COLOUR


def raw_prompt_anchor(table: AnchorTable, *, title: str | None = None) -> Picture:
    """First tokens of the cold and of the repeated request, by preset; and why the second cannot
    come out as published.
    """
    figure = Picture(figsize=(10.5, 3.9), layout="constrained")
    by_preset, by_tokens = figure.subplots(1, 2, width_ratios=[3, 2])
    _first_tokens(by_preset, table)
    _one_forward(by_tokens, [each for each in table.predictions if each.is_published_machine])
    figure.legend(
        handles=[
            Line2D([], [], marker="o", linestyle="", color=_FIRST, label="cold, predicted"),
            Line2D([], [], marker="o", linestyle="", color=_AGAIN, label="again, predicted"),
            Line2D([], [], marker="D", linestyle="", color="black", label="published"),
        ],
        loc="outside upper center",
        ncols=3,
        frameon=False,
        title=title,
    )
    return figure


def _first_tokens(panel: Axes, table: AnchorTable) -> None:
    rows = table.predictions
    labels = ["published, RTX 3090, 27B"]
    y = len(rows)
    for place_ms in (PUBLISHED_FIRST_MS, PUBLISHED_AGAIN_MS):
        panel.plot(place_ms, y, "D", color="black", markersize=6, zorder=3)
        _said(panel, place_ms, y)
        panel.axvline(place_ms, color=palette.EDGE_COLOUR, linewidth=0.8, linestyle=":")
    for each in rows:
        y -= 1
        panel.plot((each.again_ms, each.first_ms), (y, y), color=palette.FREE_COLOUR, linewidth=5)
        for place_ms, colour in ((each.first_ms, _FIRST), (each.again_ms, _AGAIN)):
            panel.plot(place_ms, y, "o", color=colour, markersize=7, zorder=3)
            _said(panel, place_ms, y)
        labels.append(f"{_card(each)}, {each.prefill}")
    panel.set_xscale("log")
    panel.set_xlim(9, 2_400)
    panel.set_ylim(-0.7, len(rows) + 0.7)
    panel.set_yticks(range(len(rows), -1, -1), labels, fontsize=7)
    panel.set_xticks((10, 100, 1_000), ("10", "100", "1,000"))
    panel.set_xlabel(f"ms to the first token of a prompt of {PROMPT_TOKENS:,} tokens")
    panel.spines[["top", "right"]].set_visible(False)


def _said(panel: Axes, place_ms: float, y: float) -> None:
    panel.annotate(
        f"{place_ms:.0f}",
        (place_ms, y),
        xytext=(0, 6),
        textcoords="offset points",
        ha="center",
        fontsize=7,
        color=palette.TEXT_COLOUR,
    )


def _one_forward(panel: Axes, predictions: list[Prediction]) -> None:
    labels: dict[int, list[str]] = {}
    for each in predictions:
        times_ms = [_forward_ms(each, tokens) for tokens in SHORT_TOKENS]
        panel.plot(SHORT_TOKENS, times_ms, linewidth=1, linestyle="--", color=palette.EDGE_COLOUR)
        first = SHORT_TOKENS.index(FEWEST_MEASURED_TOKENS)
        panel.plot(SHORT_TOKENS[first:], times_ms[first:], linewidth=2, color=_AGAIN)
        labels.setdefault(round(times_ms[-1] / LABEL_APART_MS), []).append(each.prefill)
    for place, names in labels.items():
        at = (SHORT_TOKENS[-1] + 6, place * LABEL_APART_MS)
        panel.text(*at, "\n".join(names), va="center", fontsize=6.5, color=palette.TEXT_COLOUR)
    panel.plot(1, PUBLISHED_AGAIN_MS, "D", color="black", markersize=6, zorder=3)
    panel.set_xlim(-8, SHORT_TOKENS[-1] + 175)
    panel.set_ylim(0, None)
    panel.set_xticks((1, 128, 256))
    panel.set_xlabel("tokens of one forward\n(dashed: shorter than any that was fitted)")
    panel.set_ylabel("predicted ms, RTX 3090")
    panel.spines[["top", "right"]].set_visible(False)


def _forward_ms(prediction: Prediction, tokens: int) -> float:
    """The prompt's last tokens in one forward."""
    work = PrefillWork(reused_tokens=PROMPT_TOKENS - tokens, suffix_tokens=tokens, chunk_count=1)
    return prediction.coefficients.elapsed_ns(work) / 1e6


def _card(prediction: Prediction) -> str:
    return " ".join(prediction.hardware_class.split("-")[2:4]).upper()
