"""Law: a checkpoint is reusable only below the last prompt token, with every token, the template
and every cut below its frontier exactly equal; what lies above the frontier does not matter.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.candidate import NotReusable
from ninfer_lab.contract.ids import OwnerId, OwnerRef
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.program.planning.exact_identity import compare
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.replica_layout import Holdings
from simulation.engine_world import prepared


def remembered(prompt: PreparedPrompt) -> Continuation:
    """What an owner of exactly this prompt knows."""
    return Continuation(
        ref=OwnerRef(id=OwnerId(1), generation=1),
        identity=prompt.identity,
        history=prompt.tokens,
        execution_frontiers_tokens=prompt.rewrite_execution_frontiers,
        checkpoints=(),
        holdings=Holdings(),
    )


OLD = remembered(prepared(range(10), cuts=(4,)))
SAME_AND_MORE = prepared(range(12), cuts=(4,))


@pytest.mark.parametrize("frontier_tokens", range(1, 11))
def test_an_exact_prefix_is_reusable_at_every_frontier(frontier_tokens: int) -> None:  # spec: IDN-1
    assert compare(SAME_AND_MORE, OLD, frontier_tokens) is None


@pytest.mark.parametrize("changed", range(12))
def test_one_other_token_matters_exactly_below_the_frontier(changed: int) -> None:  # spec: IDN-3
    tokens = list(range(12))
    tokens[changed] = 99
    answer = compare(prepared(tokens, cuts=(4,)), OLD, 8)
    assert answer is (NotReusable.TOKENS_DIFFER if changed < 8 else None)


def test_the_last_prompt_token_is_always_computed() -> None:  # spec: IDN-1
    prompt = prepared(range(8), cuts=(4,))
    assert compare(prompt, OLD, 7) is None
    assert compare(prompt, OLD, 8) is NotReusable.FRONTIER_TOO_DEEP
    assert compare(prompt, OLD, 9) is NotReusable.FRONTIER_TOO_DEEP


def test_a_shorter_prompt_with_other_tokens_differs_and_is_not_merely_short() -> None:
    # spec: IDN-3
    assert compare(prepared([0, 1, 99]), OLD, 8) is NotReusable.TOKENS_DIFFER
    assert compare(prepared([0, 1, 2]), OLD, 8) is NotReusable.FRONTIER_TOO_DEEP


def test_another_template_is_another_prompt() -> None:  # spec: IDN-3
    prompt = prepared(range(12), cuts=(4,), template="other")
    assert compare(prompt, OLD, 2) is NotReusable.IDENTITY_DIFFERS


@pytest.mark.parametrize(
    ("cuts", "frontier_tokens", "answer"),
    [
        ((4,), 8, None),
        ((), 8, NotReusable.EXECUTION_CUTS_DIFFER),  # the owner was cut where this would not be
        ((3, 4), 8, NotReusable.EXECUTION_CUTS_DIFFER),  # this would be cut once more
        ((3,), 8, NotReusable.EXECUTION_CUTS_DIFFER),
        ((4, 9), 8, None),  # a cut above the frontier is still ahead
        ((4, 8), 8, None),  # at the frontier itself there is a cut anyway
        ((), 4, None),
        ((), 3, None),
    ],
)
def test_cuts_below_the_frontier_are_part_of_identity(  # spec: IDN-3
    cuts: tuple[int, ...], frontier_tokens: int, answer: NotReusable | None
) -> None:
    assert compare(prepared(range(12), cuts=cuts), OLD, frontier_tokens) is answer


def test_a_continuation_that_ends_below_the_frontier_proves_nothing() -> None:
    short = replace(OLD, history=OLD.history[:6])
    assert compare(SAME_AND_MORE, short, 6) is None
    assert compare(SAME_AND_MORE, short, 7) is NotReusable.TOKENS_DIFFER


@given(
    ours=st.lists(st.integers(0, 1), min_size=1, max_size=6),
    theirs=st.lists(st.integers(0, 1), min_size=1, max_size=6),
    frontier_tokens=st.integers(1, 6),
)
def test_reusable_means_equal_token_by_token(
    ours: list[int], theirs: list[int], frontier_tokens: int
) -> None:
    expected = (
        frontier_tokens < len(ours)
        and frontier_tokens <= len(theirs)
        and ours[:frontier_tokens] == theirs[:frontier_tokens]
    )
    owner = remembered(prepared(theirs))
    assert (compare(prepared(ours), owner, frontier_tokens) is None) is expected
