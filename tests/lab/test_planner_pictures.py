"""Law: a picture of a decision shows every value it is handed, and no other number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

from context_cache.decisions import price
from ninfer_lab.context_cache.retention import RetentionClass
from ninfer_lab.lab import (
    decisions,
    demand_worth,
    figures,
    ladders,
    prefix_worth,
    wrong_beliefs,
)
from ninfer_lab.lab.picture import PICTURE_COLOURS
from ninfer_lab.lab.planner_problems import generated
from ninfer_lab.lab.regret import SMALL_WORLDS, regrets
from ninfer_lab.lab.target_graph import NodeVerdict, graph_of


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_graph_draws_every_target_and_every_step() -> None:
    graph = graph_of(decisions.look(generated(437)))
    figure = figures.target_graph(graph, title="one decision")
    axes = figure.axes[0]
    (steps,) = [c for c in axes.collections if isinstance(c, LineCollection)]
    assert len(steps.get_segments()) == len(graph.steps)
    assert all(below[1] < above[1] for above, below in steps.get_segments())
    marks = [c for c in axes.collections if isinstance(c, PathCollection)]
    drawn = np.vstack([np.asarray(mark.get_offsets()) for mark in marks])
    assert len(np.unique(drawn, axis=0)) == len(graph.nodes) == 96
    assert len(drawn) == len(graph.nodes) + len(graph.incumbents)
    assert sum(isinstance(p, FancyArrowPatch) for p in axes.patches) == len(graph.incumbents) - 1
    said = legend(figure)
    for verdict in NodeVerdict:
        if graph.count(verdict):
            assert f"{verdict.value}: {graph.count(verdict)}" in said
    assert {"1", "2", "3", "1.23 s", "from root"} <= set(texts(axes))


def test_the_incumbents_end_with_what_was_taken() -> None:
    decision = decisions.look(generated(592))
    (axes,) = figures.incumbents(decision).axes
    (line,) = axes.lines
    costs = [each.cost.total_ns / 1e9 for each in decision.incumbents]
    assert np.asarray(line.get_ydata()).tolist() == [*costs, costs[-1]]
    assert np.asarray(line.get_xdata())[-1] == len(decision.found.judged)
    assert "23.8 s, off the scale ↑" in texts(axes)
    assert "3.1 s" in texts(axes)


def test_regret_is_shown_from_the_worst_decision_down() -> None:
    found = regrets(SMALL_WORLDS, 8, decisions.belief(), (4, 256))
    share, worse = figures.regret(found).axes
    assert texts(share) == [f"{each.best_share:.1%}" for each in found]
    for line, distribution in zip(worse.lines, found, strict=True):
        shown = np.asarray(line.get_ydata())
        assert shown[0] == max(distribution.ascending[-1].share, shown.min())
        assert list(shown) == sorted(shown, reverse=True)
        assert len(shown) == 9


def test_beliefs_differ_in_what_is_taken_alone() -> None:
    beliefs = [wrong_beliefs.Belief(name="the truth", price=price), wrong_beliefs.free()]
    found = wrong_beliefs.judged_under(generated(437), price, beliefs)
    (axes,) = figures.feasibility(found).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "everything is free",
        "the truth",
    ]
    bars = [p for p in axes.patches if isinstance(p, Rectangle)]
    assert len(bars) == 2 * (96 + 1)
    assert texts(axes)[:2] == [f"{each.taken_true_ns / 1e9:,.2f} s" for each in reversed(found)]


def test_errors_are_shown_by_their_size() -> None:
    study = wrong_beliefs.MisjudgedStudy(price, 5)
    noise = [*study.noise([1, 10]), study.under(wrong_beliefs.free())]
    figure = figures.misjudged([("noise", noise), ("copies", study.copies([0.1, 100]))])
    above_noise, above_copies, below_noise, below_copies = figure.axes
    assert [t.get_text() for t in below_noise.get_xticklabels()] == ["×1", "×10", "free"]
    assert [t.get_text() for t in below_copies.get_xticklabels()] == ["×0.1", "×100"]
    assert texts(above_noise) == [f"{each.others_share:.0%}" for each in noise]
    assert len(above_copies.patches) == 2


def test_a_way_back_names_its_saving() -> None:
    found = prefix_worth.ways_back([8_192, 16_384], decisions.belief().work_ns)
    (axes,) = figures.ways_back(found).axes
    assert len(axes.get_yticklabels()) == sum(len(each.ways) for each in found)
    assert [t for t in texts(axes) if t.startswith("saves")] == [
        f"saves {each.saving_ns / 1e9:,.2f} s" for each in found if each.saving_ns
    ]


def test_a_demand_is_drawn_for_every_prefix_it_matched() -> None:
    prefixes = [
        demand_worth.KeptPrefix(name="long", frontier_tokens=640, within="short", has_credit=True),
        demand_worth.KeptPrefix(name="short", frontier_tokens=320),
    ]
    demands = demand_worth.demands_of(prefixes, {"long": 1, "short": 1, None: 1}, seed=2)
    kept = demand_worth.portfolio(prefixes, demands, price)
    figure = figures.demand_window(kept)
    window, worth = figure.axes
    assert len(window.collections) == sum(len(demand.keys) for demand in demands)
    assert len(worth.patches) == 2 * len(prefixes) + 1
    assert "credit" in legend(figure)
    alone = f" {kept.alone_ns('short') / 1e9:,.0f}"
    assert texts(worth).count(alone) >= 1


def test_a_private_loss_is_shown_by_class() -> None:
    found = prefix_worth.private_losses([320, 640], price)
    (axes,) = figures.private_loss(found).axes
    for loss in found:
        for retention in RetentionClass:
            assert f"{loss.weighted_ns(retention) / 1e9:,.2f}" in texts(axes)
    assert len([p for p in axes.patches if isinstance(p, Rectangle)]) == 2 * len(found)


def test_the_terms_of_j_stand_side_by_side() -> None:
    decision = decisions.look(generated(234))
    (axes,) = figures.terms_of_j(decision, decision.incumbents).axes
    widths: dict[float, float] = {}
    for bar in axes.patches:
        assert isinstance(bar, Rectangle)
        widths[bar.get_y()] = widths.get(bar.get_y(), 0.0) + bar.get_width()
    totals = [each.cost.total_ns / 1e9 for each in decision.incumbents]
    assert list(widths.values()) == pytest.approx(totals)


def test_a_ladder_shows_every_rung_and_what_is_shared() -> None:
    found = ladders.owner_ladders(decisions.look(ladders.everybody_gives_way()))
    (axes,) = figures.owner_ladders(found).axes
    assert sum(t.startswith("loses") for t in texts(axes)) == sum(
        len(ladder.rungs) - 1 for ladder in found
    )
    assert [t for t in texts(axes) if "→" in t] == [
        "125 → 188 pages",
        "125 → 250 pages",
        "125 → 250 pages",
        "175 → 238 pages",
    ]
    (bars,) = figures.alone_and_together(found).axes
    assert len(bars.patches) == 2 * sum(ladder.taken > 0 for ladder in found)
    assert texts(bars)[2:4] == [" 125", " 188"]


def test_the_recency_ladder_marks_its_licence() -> None:
    written = replace(ladders.everybody_gives_way(), recency=(4, 1, 3, 0, 2))
    decision = decisions.look(written)
    (axes,) = figures.recency_ladder(ladders.recency_ladder(decision)).axes
    bold = [t.get_text() for t in axes.texts if t.get_fontweight() == "bold"]
    assert bold == ["owner 4", "owner 1", "owner 0"]
    assert texts(axes).count("✕") == sum(range(6))
    lines = [("on", ladders.owner_ladders(decision), decision.best.cost.total_ns / 1e9)]
    (row,) = figures.fates(lines).axes
    assert f"J {decision.best.cost.total_ns / 1e9:,.1f} s" in texts(row)
    assert texts(row).count("evicted") == 1


def test_a_picture_is_a_png_of_few_colours() -> None:
    from io import BytesIO

    from PIL import Image

    drawn = figures.target_graph(graph_of(decisions.look(generated(437))))._repr_png_()
    with Image.open(BytesIO(drawn)) as image:
        assert image.format == "PNG"
        colours = image.convert("RGB").getcolors(maxcolors=PICTURE_COLOURS)
    assert colours is not None
    assert len(colours) > 40
