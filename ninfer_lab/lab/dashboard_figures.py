"""What does a run's dashboard look like on paper?

Owns the picture of four panels over the requests of a run, in the order of their ends: prompt
tokens by what became of them, hit rate so far, time to the first token, highest use of every axis.
Reads a dashboard (`run_dashboard`).
"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.lab import palette
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.run_dashboard import GROUPS, RunDashboard

REUSED_COLOUR = palette.ALLOCATED_COLOUR
GROUP_COLOURS = dict(
    zip(GROUPS, ("#D0D0D0", "#F0E442", "#D55E00", "#CC79A7", "#8A8A8A"), strict=True)
)
"""Grey for what nobody could have reused, orange-red for what was had and given up."""

AXIS_COLOURS = {
    Axis.DEVICE_STATE: "#0072B2",
    Axis.HOST_STATE: "#56B4E9",
    Axis.DEVICE_KV: "#E69F00",
    Axis.DEVICE_BACKEND_KV: "#CC79A7",
    Axis.HOST_KV: "#009E73",
}


def dashboard(
    of: RunDashboard, *, selected: int | None = None, title: str | None = None
) -> Picture:
    """Four panels.

    Args:
        selected: A request that is marked.
        title: Above the legend.
    """
    figure = Picture(figsize=(9.5, 6.4), layout="constrained")
    tokens, rate, ttft, use = figure.subplots(4, 1, sharex=True, height_ratios=(3, 1.4, 1.6, 1.8))
    _tokens(tokens, of)
    places = range(len(of.ended))
    rate.plot(places, [100 * each.hit_share for each in of.ended], color=REUSED_COLOUR)
    rate.set_ylim(0, 105)
    rate.set_ylabel("hit rate so far\nin %", fontsize=8)
    timed = [(i, each.ttft_ms) for i, each in enumerate(of.ended) if each.ttft_ms is not None]
    ttft.plot([i for i, _ in timed], [ms for _, ms in timed], "o", markersize=3.5, color="#333333")
    if timed and min(ms for _, ms in timed) > 0:
        ttft.set_yscale("log")
        ttft.yaxis.set_major_formatter("{x:,.0f}")
        ttft.yaxis.set_minor_formatter(NullFormatter())
    ttft.set_ylabel("first token\nafter ms", fontsize=8)
    for axis in of.axes:
        shares = [100 * each.use_shares[tuple(Axis).index(axis)] for each in of.ended]
        use.step(places, shares, where="mid", color=AXIS_COLOURS[axis], label=axis.value)
    use.set_ylim(0, 150)
    use.set_yticks((0, 50, 100))
    use.set_ylabel("highest use\nin %", fontsize=8)
    use.legend(loc="upper left", fontsize=7, ncols=5, frameon=False)
    use.set_xlabel("requests, in the order of their ends")
    for panel in (tokens, rate, ttft, use):
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
        for place, each in enumerate(of.ended):
            if each.request == selected:
                panel.axvline(place, color=palette.RUNNING_COLOUR, linewidth=1.2)
    met = [name for i, name in enumerate(GROUPS) if any(e.groups_tokens[i] for e in of.ended)]
    handles: list[Patch | Line2D] = [Patch(color=REUSED_COLOUR, label="reused")]
    handles += [Patch(color=GROUP_COLOURS[name], label=f"computed: {name}") for name in met]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=3, frameon=False, title=title, fontsize=8
    )
    return figure


def _tokens(panel: Axes, of: RunDashboard) -> None:
    places = range(len(of.ended))
    below = [0] * len(of.ended)
    parts = [("reused", REUSED_COLOUR, [each.reused_tokens for each in of.ended])]
    parts += [
        (name, GROUP_COLOURS[name], [each.groups_tokens[i] for each in of.ended])
        for i, name in enumerate(GROUPS)
    ]
    for _, colour, heights in parts:
        panel.bar(places, heights, 0.85, bottom=below, color=colour)
        below = [a + b for a, b in zip(below, heights, strict=True)]
    panel.yaxis.set_major_formatter("{x:,.0f}")
    panel.set_ylabel("prompt tokens", fontsize=8)
