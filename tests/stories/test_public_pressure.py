"""Public reports about room that is short, each told to the whole engine: somebody gives way, the
right one, and whoever comes back pays for its own new tokens.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.recording_options import RecordingDetail, RecordingOptions
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.cost.machine_cost_model import MachineCostModel, timing_from_model
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import resolve_cost_model
from ninfer_lab.lab import worlds
from ninfer_lab.lab.story import Repeat
from ninfer_lab.lab.world import Run, World
from ninfer_lab.models.qwen3_5.measurement import prefill_signature
from ninfer_lab.policies.lane_owned.design import lane_owned
from stories.public_reports import (
    ENDPOINT,
    ROOT,
    admissions,
    offered_tokens,
    report,
    starts,
    winners,
    with_story,
)

EVERY_TARGET = RecordingOptions(detail=RecordingDetail.TARGETS)
RTX_3090 = "nvidia-geforce-rtx-3090-sm86"


def test_report_13_a_source_is_never_its_own_victim() -> None:  # spec: SRCH-10
    """Wrong is a target that starts from an owner and degrades it too, by which an engine died; or
    two sessions that push each other out.
    """
    run = worlds.run(report("13-two-long-sessions"), recording=EVERY_TARGET)
    assert starts(run) == [
        (ROOT, 0),
        (ROOT, 0),
        (ENDPOINT, 114_015),
        (ENDPOINT, 114_015),
        (ENDPOINT, 115_531),
        (ENDPOINT, 115_531),
    ]
    assert [(each.owner, each.evicted, each.degraded) for each in winners(run)] == [
        (None, (), ()),
        (None, (), (1,)),
        (1, (), (2,)),
        (2, (), (1,)),
        (1, (), (2,)),
        (2, (), (1,)),
    ]
    told = [verdict for each in admissions(run) for verdict in each.report.verdicts]
    assert sum(each.owner is not None and not each.is_identity for each in told) > 4
    for each in told:
        assert each.owner not in (*each.evicted, *each.degraded)


@pytest.mark.parametrize("lanes_count", [1, 2])
def test_report_26_who_was_parked_comes_back_over_the_one_in_between(  # spec: TGT-5, CAND-1
    lanes_count: int,
) -> None:
    """Wrong is the root: 71 seconds instead of half of one. No spare lane is needed, and none is in
    the way: what was parked is found by its prefix, and both stay, for no more of either leaves the
    Device than is missing there.
    """
    run = worlds.run(report("26-parked", max_concurrency=lanes_count))
    assert starts(run) == [(ROOT, 0), (ROOT, 0), (ENDPOINT, 231_015)]
    between, back = winners(run)[1:]
    assert (between.evicted, between.degraded) == ((), (1,))
    assert (back.evicted, back.degraded) == ((), (2,))
    cold_ns, _, warm_ns = ttfts_ns(run)
    assert 160 * warm_ns < cold_ns


def test_report_26_a_small_host_takes_what_is_missing() -> None:  # spec: TGT-5
    """Wrong is the end of the long session, though 452 pages are missing and the Host has room for
    512: half of its 3,610 would not fit.
    """
    run = worlds.run(report("26-parked", host_kv_capacity_bytes=2 << 30))
    assert starts(run) == [(ROOT, 0), (ROOT, 0), (ENDPOINT, 231_015)]
    between = winners(run)[1]
    assert (between.evicted, between.degraded) == ((), (1,))
    (moved,) = between.work.transfers
    assert moved.payload_bytes == 452 * 4 * 2**20


def test_report_28_branches_in_turns_cost_their_own_tokens() -> None:  # spec: ANC-4, KV-2
    """Wrong is one history per lane, where each change of branch is a root; or pages of a branch's
    own, for which there is no room here.
    """
    world = report("28-branches-in-turns")
    run = worlds.run(world)
    assert starts(run) == [(ROOT, 0)] + [
        (ENDPOINT, tokens) for tokens in (60_015, 60_531, 61_047) for _ in ("left", "right")
    ]
    fork, move = StateTransition.FORK, StateTransition.MOVE
    assert [each.state for each in admissions(run)[1:]] == [fork] * 2 + [move] * 4
    assert not any(each.evicted or each.degraded for each in winners(run))
    cold_ns, *warm_ns = ttfts_ns(run)
    assert cold_ns > 75 * max(warm_ns)
    alone = starts(worlds.run(world, design=lane_owned()))
    assert [path for path, _ in alone[2:]] == [ReusePath.FULL_RESET] * 5


def test_report_29_the_machines_own_prices_use_the_host() -> None:  # spec: COST-2, COST-5
    """Wrong is a planner with another card's prices: it takes prefill for so cheap that a copy does
    not pay, gives the history up, and computes it again.
    """
    world = report("29-close-call")
    own = prices(world, RTX_3090)
    machine = replace(world, truth=timing_from_model(own, world.truth.decode))
    calibrated = worlds.run(replace(machine, belief=own))
    assert starts(calibrated)[-2:] == [(ROOT, 0), (ENDPOINT, 312)]
    assert given_up(calibrated, 3) == ((1,), (2,))
    foreign = worlds.run(machine)
    assert starts(foreign)[-2:] == [(ROOT, 0), (ROOT, 0)]
    assert given_up(foreign, 3) == ((2,), ())
    assert ttfts_ns(foreign)[-1] > 4 * ttfts_ns(calibrated)[-1]


@pytest.mark.parametrize(
    ("histories_count", "rounds_count", "hits_count"), [(1, 12, 11), (3, 4, 9), (6, 2, 6)]
)
def test_report_31_what_fits_is_hit_every_time(
    histories_count: int, rounds_count: int, hits_count: int
) -> None:
    """Wrong is a miss after the first round: of what fits, nobody may give way."""
    run = worlds.run(in_rounds(histories_count, rounds_count))
    paths = [path for path, _ in starts(run)]
    assert paths == [ROOT] * histories_count + [ENDPOINT] * hits_count


def test_report_31_of_ten_the_seven_newest_are_there() -> None:  # spec: SRCH-4
    """Wrong is any other number than the capacity, and any victim but the oldest."""
    run = worlds.run(report("31-capacity"))
    assert starts(run) == [(ROOT, 0)] * 10 + [(ENDPOINT, 707)] * 7 + [(ROOT, 0)] * 3
    assert [each.evicted for each in winners(run)[:10]] == [()] * 7 + [(1,), (2,), (3,)]


def test_report_33_the_log_tells_waiting_from_computing() -> None:  # spec: RCD-3
    """Wrong is one number for both: the fifth agent's first token took five times as long as its
    prefill, and no cache would have helped; the third's compaction is what a cache cannot help.
    """
    run = worlds.run(report("33-fleet"))
    logs = [each.outcome.log for each in sorted(run.told, key=lambda each: each.request)]
    firsts_ns = ttfts_ns(run)
    assert [log.queue_wait_ns for log in logs[:5]] == [i * logs[0].total_ns for i in range(5)]
    assert [
        ttft_ns - (log.queue_wait_ns or 0)
        for ttft_ns, log in zip(firsts_ns[:5], logs[:5], strict=True)
    ] == [firsts_ns[0]] * 5
    assert firsts_ns[4] > 5 * firsts_ns[0]
    assert starts(run) == [(ROOT, 0)] * 5 + [(ENDPOINT, 20_015)] * 2 + [(ROOT, 0)]
    assert offered_tokens(run)[-1] == 0


# ── builders ────────────────────────────────────────────────────────────────────────────────────


def ttfts_ns(run: Run) -> list[int]:
    """Of every request, in their order."""
    logs = [each.outcome.log for each in sorted(run.told, key=lambda each: each.request)]
    return [log.ttft_ns for log in logs if log.ttft_ns is not None]


def given_up(run: Run, ordinal: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(evicted, degraded) by the request at a place of the story."""
    winner = winners(run)[ordinal]
    return winner.evicted, winner.degraded


def prices(world: World, hardware: str) -> MachineCostModel:
    """What is published of a card, for the world's model."""
    signature = prefill_signature(world.geometry, world.dtype)
    return resolve_cost_model(
        hardware_class=hardware, signature=signature, shipped=shipped_presets()
    )


def in_rounds(histories_count: int, rounds_count: int) -> World:
    """The story of ten, with fewer histories, which go on in rounds of the same order."""
    world = report("31-capacity")
    first, again = world.story.steps
    assert isinstance(first, Repeat)
    assert isinstance(again, Repeat)
    over = first.over[:histories_count]
    rounds = replace(again, over=over, rounds_count=rounds_count - 1)
    return with_story(world, replace(world.story, steps=(replace(first, over=over), rounds)))
