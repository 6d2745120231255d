"""Law: every term is what the planner's own arithmetic makes of Program's own recipes."""

from __future__ import annotations

from context_cache.decisions import BYTE_NS, CALL_NS, PAIR_NS, TOKEN_NS, price
from ninfer_lab.engine.decision_problem import RetentionClass
from ninfer_lab.lab.planner_problems import PAGE_BYTES, STATE_IMAGE_BYTES
from ninfer_lab.lab.prefix_worth import private_losses, ways_back


def prefill_ns(start: int, end: int) -> int:
    """By hand's price: every token, and every pair of a token with one before it or itself."""
    suffix = end - start
    return suffix * TOKEN_NS + (start * suffix + suffix * (suffix + 1) // 2) * PAIR_NS


REBUILD_NS = prefill_ns(0, 640)


def test_the_recovery_is_the_cheapest_way_back() -> None:  # spec: VAL-2
    found = {each.place: each for each in ways_back([320, 640], price)}
    assert list(found) == [
        "stays on the Device",
        "all on the Host",
        "checkpoint at 320 ends",
        "shortened to 320 tokens",
        "evicted",
    ]
    assert all(each.rebuild_ns == REBUILD_NS for each in found.values())
    stays, shortened = found["stays on the Device"], found["shortened to 320 tokens"]
    assert [way.words for way in stays.ways] == [
        "go on where it lies",
        "from 320, compute 320",
        "from root, compute 640",
    ]
    assert stays.saving_ns == found["checkpoint at 320 ends"].saving_ns == REBUILD_NS
    assert shortened.best.total_ns == prefill_ns(320, 640)
    assert shortened.saving_ns == REBUILD_NS - prefill_ns(320, 640)
    assert (found["evicted"].saving_ns, len(found["evicted"].ways)) == (0, 1)


def test_what_comes_back_from_the_host_is_copied() -> None:  # spec: VAL-2
    host = {each.place: each for each in ways_back([640], price)}["all on the Host"]
    copied_bytes = STATE_IMAGE_BYTES + 10 * PAGE_BYTES
    back = next(way for way in host.ways if way.words == "copy back")
    assert back.prefill_ns == 0
    assert back.copies_ns == copied_bytes * BYTE_NS + 3 * CALL_NS


def test_the_largest_difference_counts_times_the_weight() -> None:  # spec: VAL-4
    found = {each.outcome: each for each in private_losses([320, 640], price)}
    ended, evicted = found["checkpoint at 320 ends"], found["evicted"]
    assert ended.differences_ns == (prefill_ns(0, 320), 0)
    assert evicted.differences_ns == (prefill_ns(0, 320), REBUILD_NS)
    assert found["shortened to 320 tokens"].differences_ns == (0, prefill_ns(320, 640))
    for retention, weight in zip(RetentionClass, (1, 4, 16), strict=True):
        assert evicted.weighted_ns(retention) == weight * REBUILD_NS
