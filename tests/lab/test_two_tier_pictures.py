"""Pictures of checkpoints, ledger, transitions and runs show what they were handed, to scale."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ninfer_lab.contract.options import EngineOptions, SpeculativeBackend
from ninfer_lab.lab import figures
from ninfer_lab.lab.engine_trials import backfill_runs, beside_a_transfer
from ninfer_lab.lab.experiments import reclaims, split_host, two_aliases, unfit_target, ways_in
from ninfer_lab.lab.ledger_bench import LedgerBench
from ninfer_lab.lab.transition_trials import endings, staged
from ninfer_lab.lab.way_figures import Origin, page_parts, state_part


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def boxes(axes: Axes) -> list[Rectangle]:
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def widths(found: Iterable[Rectangle]) -> list[float]:
    return [box.get_width() for box in found]


def test_a_checkpoint_is_drawn_to_its_frontier_pool_by_pool() -> None:
    options = EngineOptions(
        device_state_slots=2,
        max_context_tokens=256,
        host_kv_capacity_bytes=8 * 1_024,
        backend=SpeculativeBackend(lag_tokens=10),
    )
    bench = LedgerBench(options)
    owner = bench.publish(135)
    (axes,) = figures.anatomy(bench.ledger, owner, bench.options).axes
    assert axes.get_title(loc="left") == "session endpoint at 135 tokens"
    filled = [box for box in boxes(axes) if box.get_alpha() is not None]
    assert widths(filled) == [135, 64, 64, 7, 64, 61]
    bench.demote(owner)
    (demoted,) = figures.anatomy(bench.ledger, owner, bench.options).axes
    assert [text.split()[0] for text in texts(demoted)] == ["Host", *["granule"] * 5]


def test_reclaim_puts_the_sum_beside_what_is_freed() -> None:
    (axes,) = figures.reclaim(reclaims(two_aliases())).axes
    heights = [box.get_height() for box in boxes(axes)]
    assert heights[::2] == [0, 1, 2, 1, 2, 3, 3], "alone, added up"
    assert heights[1::2] == [0, 1, 2, 5, 2, 3, 7], "together"


def test_every_part_of_what_does_not_fit_is_as_long_as_it_is() -> None:
    explanation = unfit_target()
    (axes,) = figures.holdings(explanation).axes
    assert widths(boxes(axes)) == [2, 2]
    assert "capacity 3 " in texts(axes)


def test_the_missing_hole_lies_under_the_holes_there_are() -> None:
    bench, wanted = split_host()
    (explanation,) = bench.explain(wanted)
    arena = bench.options.capacity.host_kv
    (axes,) = figures.missing_hole(bench.ledger, arena, explanation).axes
    assert [text for text in texts(axes) if "hole" in text] == ["a hole of 2,048 bytes"] * 2
    *_, run = boxes(axes)
    assert run.get_width() == 4
    with pytest.raises(AssertionError, match="no hole"):
        figures.missing_hole(bench.ledger, arena, unfit_target())


def test_each_way_in_shows_where_state_and_pages_come_from() -> None:
    ways = ways_in()
    assert [state_part(way).origin for way in ways] == [
        Origin.PROMISED,
        Origin.TAKEN_OVER,
        Origin.SHARED,
        Origin.SHARED,
        Origin.SHARED,
        Origin.RESTORED,
        Origin.RESTORED,
    ]
    tails = [page_parts(way)[-1].origin for way in ways]
    assert tails == [
        Origin.PROMISED,
        Origin.TAKEN_OVER,
        Origin.TAKEN_OVER,
        Origin.COPIED,
        Origin.PROMISED,
        Origin.RESTORED,
        Origin.RESTORED,
    ]
    read_by_another = page_parts(ways[2])
    assert [part.origin for part in read_by_another[:2]] == [Origin.SHARED] * 2
    (axes,) = figures.ways_in(ways).axes
    assert texts(axes).count("Restore") == 2


def test_a_stage_has_a_bar_for_each_axis_and_a_mark_where_one_looked() -> None:
    found = staged()
    figure = figures.stages(found)
    assert len(figure.axes) == 4
    for axes in figure.axes:
        marks = axes.lines[0]
        assert np.asarray(marks.get_xdata()).size == len(found.observed)
        assert len(boxes(axes)) == 2 * len(found.assessment.stages)


def test_an_ending_names_its_stop_and_where_everybody_is() -> None:
    (axes,) = figures.endings(endings()).axes
    assert texts(axes).count("not admitted") == 5
    assert "Device + Host" in texts(axes)


def test_a_timeline_has_a_row_for_each_named_request_and_its_copies() -> None:
    run = beside_a_transfer()
    (axes,) = figures.timelines([run]).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(run.names.values())
    colours = [box.get_facecolor() for box in boxes(axes)]
    assert len(set(colours)) == 3, "prefill, decode and copies"
    assert len(figures.timelines(backfill_runs()).axes) == 2
