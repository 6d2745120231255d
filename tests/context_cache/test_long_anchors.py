"""Law: of too many anchors the one goes that covers least, and a conversation is rewritten at an
anchor only where the branch does not fit beside it.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.context_cache.long_anchors import (
    coverage_loss_tokens,
    select_long_anchor_replacement,
)
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, OwnerId

ANCHOR, CLOSURE = CheckpointKind.LONG_ANCHOR, CheckpointKind.TURN_CLOSURE


def lineage(*points: tuple[CheckpointKind, int]) -> tuple[CheckpointSummary, ...]:
    return tuple(
        CheckpointSummary(
            ref=CheckpointRef(id=CheckpointId(ordinal), owner=OwnerId(1)),
            kind=kind,
            frontier_tokens=frontier,
            prefix_digest=b"",
        )
        for ordinal, (kind, frontier) in enumerate(points)
    )


def anchors(*frontiers: int) -> tuple[CheckpointSummary, ...]:
    return lineage(*((ANCHOR, frontier) for frontier in frontiers))


@pytest.mark.parametrize(
    ("points", "goes"),
    [
        # The example of the docstring: 1,000, 200 and 600 are covered; without the closure 3,000.
        (((ANCHOR, 1_000), (CLOSURE, 3_800), (ANCHOR, 4_000), (ANCHOR, 4_600)), 4_000),
        (((ANCHOR, 1_000), (ANCHOR, 4_000), (ANCHOR, 4_600)), 4_600),
        (((ANCHOR, 500), (ANCHOR, 1_000)), 500),  # of equals the shallowest
        (((CLOSURE, 400), (ANCHOR, 500), (ANCHOR, 1_000)), 500),
        (((ANCHOR, 500), (CLOSURE, 990), (ANCHOR, 1_000)), 1_000),
        (((ANCHOR, 7),), 7),
    ],
)
def test_the_anchor_that_covers_least_goes(  # spec: ANC-1, ANC-3
    points: tuple[tuple[CheckpointKind, int], ...], goes: int
) -> None:
    assert select_long_anchor_replacement(lineage(*points)).frontier_tokens == goes


frontier_sets = st.lists(st.integers(1, 5_000), min_size=1, max_size=8, unique=True).map(sorted)


@given(frontier_sets, st.sets(st.integers(1, 5_000), max_size=3))
def test_nobody_s_loss_is_smaller(frontiers: list[int], others: set[int]) -> None:  # spec: ANC-1
    points = [(ANCHOR, f) for f in frontiers] + [(CLOSURE, f) for f in others - set(frontiers)]
    whole = lineage(*sorted(points, key=lambda point: point[1]))
    chosen = select_long_anchor_replacement(whole)
    assert chosen.kind is ANCHOR
    for anchor in whole:
        if anchor.kind is not ANCHOR:
            continue
        mine = coverage_loss_tokens(chosen, whole), chosen.frontier_tokens
        assert mine <= (coverage_loss_tokens(anchor, whole), anchor.frontier_tokens)


@given(frontier_sets)
def test_what_is_covered_adds_up_to_the_deepest(frontiers: list[int]) -> None:
    whole = anchors(*frontiers)
    assert sum(coverage_loss_tokens(anchor, whole) for anchor in whole) == frontiers[-1]


@given(frontier_sets, st.randoms(use_true_random=False))
def test_the_order_of_equals_does_not_matter(frontiers: list[int], random: Random) -> None:
    whole = list(anchors(*frontiers))
    chosen = select_long_anchor_replacement(whole)
    random.shuffle(whole)
    assert select_long_anchor_replacement(whole) == chosen
