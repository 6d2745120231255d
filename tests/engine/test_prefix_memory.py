"""Law: a prompt is told exactly the longest prefix that any remembered history shares with it, and
the deepest checkpoint on it beyond what was reused.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, OwnerId
from ninfer_lab.contract.seen_prefix import SeenPrefix
from ninfer_lab.contract.token_span import PrefixDigest, TokenSpan
from ninfer_lab.engine.prefix_memory import CHECKPOINTS_PER_HISTORY, PrefixMemory

HISTORIES = st.lists(st.lists(st.sampled_from([0, 1, 300]), min_size=1, max_size=6), max_size=12)


def checkpoint(id: int, frontier_tokens: int) -> CheckpointSummary:
    return CheckpointSummary(
        ref=CheckpointRef(id=CheckpointId(id), owner=OwnerId(1)),
        kind=CheckpointKind.SESSION_ENDPOINT,
        frontier_tokens=frontier_tokens,
        prefix_digest=PrefixDigest(b""),
    )


def look(memory: PrefixMemory, tokens: list[int], reused: int = 0) -> tuple[int, bool, int | None]:
    seen: SeenPrefix = memory.look(TokenSpan(tokens), reused_tokens=reused)
    return seen.tokens, seen.diverges, None if seen.deepest is None else seen.deepest.ref.id


def remembering(*histories: tuple[list[int], list[tuple[int, int]]]) -> PrefixMemory:
    memory = PrefixMemory(1_000)
    for tokens, checkpoints in histories:
        memory.remember(TokenSpan(tokens), [checkpoint(id, at) for id, at in checkpoints])
    return memory


def test_nothing_is_shared_with_an_empty_memory() -> None:
    assert look(PrefixMemory(10), [1, 2]) == (0, False, None)


def test_a_prompt_that_goes_on_does_not_diverge_and_one_that_turns_off_does() -> None:
    memory = remembering(([1, 2, 3, 4], [(7, 4)]))
    assert look(memory, [1, 2, 3, 4, 5]) == (4, False, 7)
    assert look(memory, [1, 2, 3, 9, 5]) == (3, True, None)
    assert look(memory, [1, 2]) == (2, False, None)
    assert look(memory, [8, 2]) == (0, False, None)


def test_the_deepest_checkpoint_of_all_branches_is_told_beyond_what_was_reused() -> None:
    memory = remembering(
        ([1, 2, 3, 4], [(1, 2), (2, 4)]), ([1, 2, 3, 9], [(3, 3), (1, 2)]), ([1, 5], [(4, 1)])
    )
    assert look(memory, [1, 2, 3, 9, 9]) == (4, False, 3)
    assert look(memory, [1, 2, 3, 9, 9], reused=2) == (4, False, 3)
    assert look(memory, [1, 2, 3, 9, 9], reused=3) == (4, False, None)
    assert look(memory, [1, 2, 3, 4, 9], reused=3) == (4, False, 2)
    assert look(memory, [1, 2, 6]) == (2, True, 1)
    assert look(memory, [1, 6]) == (1, True, 4)


def test_of_two_checkpoints_at_one_frontier_the_later_is_told() -> None:
    memory = remembering(([1, 2, 3], [(8, 2)]), ([1, 2, 4], [(9, 2)]), ([1, 2, 5], [(7, 2)]))
    assert (
        look(memory, [1, 2, 0])[2] == look(memory, [1, 2, 4])[2] == look(memory, [1, 2, 9])[2] == 9
    )


def test_a_history_that_another_goes_on_from_is_that_other_one() -> None:
    memory = remembering(([1, 2], [(1, 2)]), ([1, 2, 3, 4], [(2, 4)]), ([1, 2, 3], [(3, 3)]))
    assert memory.tokens_count == 4
    assert look(memory, [1, 2, 3, 4]) == (4, False, 2)
    assert look(memory, [1, 2, 3, 9]) == (3, True, 3)
    assert look(memory, [1, 2, 9]) == (2, True, 1)


def test_the_longest_untouched_history_is_forgotten_first() -> None:
    memory = PrefixMemory(6)
    memory.remember(TokenSpan([1, 1, 1]), [])
    memory.remember(TokenSpan([2, 2, 2]), [])
    memory.remember(TokenSpan([1, 1]), [])  # touches the first
    memory.remember(TokenSpan([3, 3, 3]), [])
    assert [look(memory, [first] * 3)[0] for first in (1, 2, 3)] == [3, 0, 3]
    assert memory.tokens_count == 6


def test_the_deepest_checkpoints_of_a_long_history_are_remembered() -> None:
    depth = CHECKPOINTS_PER_HISTORY + 5
    memory = remembering((list(range(depth)), [(i, i) for i in range(1, depth + 1)]))
    assert look(memory, list(range(6)))[2] == 6
    assert look(memory, list(range(5)))[2] is None


@given(HISTORIES, st.lists(st.sampled_from([0, 1, 300]), min_size=1, max_size=6))
def test_the_shared_prefix_is_the_longest_of_all(
    histories: list[list[int]], prompt: list[int]
) -> None:
    memory = PrefixMemory(1_000)
    for tokens in histories:
        memory.remember(TokenSpan(tokens), [])
    common = [TokenSpan(prompt).common_prefix_tokens(TokenSpan(tokens)) for tokens in histories]
    longest = max(common, default=0)
    diverges = any(
        longest == shared < min(len(prompt), len(tokens))
        for shared, tokens in zip(common, histories, strict=True)
    )
    assert look(memory, prompt)[:2] == (longest, diverges and longest > 0)
