"""Law: two prompts that have a grid point in reach of both agree on it, whatever their lengths."""

from __future__ import annotations

import doctest

from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.frontend import prefix_grid
from ninfer_lab.frontend.prefix_grid import grid_frontiers_tokens

LENGTHS = st.integers(1, 300_000)


def test_the_example_holds() -> None:
    assert doctest.testmod(prefix_grid).failed == 0
    assert doctest.testmod(prefix_grid).attempted > 0


def test_the_step_doubles_when_a_ninth_point_would_come() -> None:  # spec: SHR-4
    assert grid_frontiers_tokens(256) == ()
    assert grid_frontiers_tokens(257) == (256,)
    assert grid_frontiers_tokens(9 * 256) == tuple(range(256, 9 * 256, 256))
    assert grid_frontiers_tokens(9 * 256 + 1) == (512, 1024, 1536, 2048)


@given(LENGTHS, LENGTHS)
def test_the_longer_prompts_points_are_the_shorter_ones_too(one: int, other: int) -> None:
    # spec: SHR-4
    short, long = sorted((one, other))
    points = grid_frontiers_tokens(short)
    assert len(points) <= 8
    assert all(0 < point < short for point in points)
    shared = {point for point in grid_frontiers_tokens(long) if point < short}
    assert shared <= set(points)
