"""Law: a fork is the real engine again: the same up to its event, checked; other prices, times,
faults or requests from there on; another capacity or design a whole run, which says so.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.errors import InvariantBroken, OptionsError
from ninfer_lab.contract.events import (
    ForwardRan,
    LedgerChanged,
    RequestFinished,
    RequestSubmitted,
    TransitionEnded,
)
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.recording_options import PlacementDetail, RecordingOptions
from ninfer_lab.lab import designs, worlds
from ninfer_lab.lab.changes import (
    Change,
    Faults,
    OtherBelief,
    OtherDesign,
    OtherOptions,
    OtherTruth,
    TakenBack,
    WithoutCache,
)
from ninfer_lab.lab.first_difference import first_decision, first_difference
from ninfer_lab.lab.fork import ForkKind, fork_here
from ninfer_lab.lab.world import Machine, Run

HALF = 203
"""Where request 8 decodes."""
EIGHT = RequestId(8)


@pytest.fixture(scope="module")
def run() -> Run:
    placements = RecordingOptions(placements=PlacementDetail.CHANGES)
    return worlds.run("27b-short-turns", recording=placements)


def changes_of(run: Run) -> dict[str, Change]:
    truth, belief = run.world.truth, run.world.belief
    never = replace(belief.transfer, h2d=replace(belief.transfer.h2d, batch_ns=10**12))
    return {
        "times": OtherTruth(replace(truth, decode=replace(truth.decode, step_ns=1))),
        "prices": OtherBelief(replace(belief, transfer=never)),
        "forward": Faults(forwards=frozenset({3})),
        "transfer": Faults(transfers=frozenset({0})),
        "taken back": TakenBack(EIGHT),
        "cache": WithoutCache(),
    }


@pytest.mark.parametrize("event", [0, 1, 2, 3, HALF, 360])
def test_with_nothing_changed_the_run_comes_out_again(run: Run, event: int) -> None:  # spec: W-4
    fork = fork_here(run, event)
    assert fork.forked == fork.original
    assert fork.difference is None
    assert fork.kind is ForkKind.FROM_HERE
    assert fork.first_event >= event


@pytest.mark.parametrize("what", ["times", "prices", "forward", "transfer"])
def test_what_stands_before_is_the_same_and_what_follows_is_not(run: Run, what: str) -> None:
    # spec: W-4
    fork = fork_here(run, HALF, changes_of(run)[what])
    before = fork.first_event
    assert HALF <= before < HALF + 10
    assert fork.forked.events[:before] == fork.original.events[:before]
    assert fork.forked.events != fork.original.events
    assert fork.difference is not None
    ordinals = fork.difference.ordinals
    assert min(each for each in ordinals if each is not None) >= before
    assert not any(isinstance(event, LedgerChanged) for event in fork.difference.events)


def test_other_prices_change_decisions_and_no_time_of_what_is_done_alike(run: Run) -> None:
    fork = fork_here(run, HALF, changes_of(run)["prices"])
    decided = first_decision(fork.original, fork.forked)
    assert decided is not None
    reused = fork.beside
    assert (reused["prefix_cache_hit_tokens"] != reused["prefix_cache_hit_tokens forked"]).any()
    early = fork_here(run, 0, changes_of(run)["prices"])
    late = fork_here(run, 350, changes_of(run)["prices"])
    hits = [int(f.forked.requests["prefix_cache_hit_tokens"].sum()) for f in (early, fork, late)]
    assert hits == sorted(hits), "the longer the price is right, the more is restored"


def test_a_fault_strikes_the_forward_it_is_counted_to(run: Run) -> None:
    fork = fork_here(run, HALF, changes_of(run)["forward"])
    failed = [
        (i, e)
        for i, e in enumerate(fork.forked.events)
        if isinstance(e, RequestFinished) and e.finish_reason is FinishReason.FAILED
    ]
    assert [e.request for _, e in failed] == [EIGHT]
    between = fork.original.events[fork.first_event : failed[0][0]]
    assert sum(isinstance(e, ForwardRan) for e in between) == 3
    broken = fork_here(run, HALF, changes_of(run)["transfer"]).forked
    words = [e.ending.value for e in broken.events if isinstance(e, TransitionEnded)]
    assert words.count("a copy failed") == 1


def test_requests_change_from_there_on(run: Run) -> None:
    back = fork_here(run, HALF, changes_of(run)["taken back"])
    told = {row["request"]: row["finish_reason"] for row in back.forked.requests.rows(named=True)}
    assert told[EIGHT] == "cancelled"
    without = fork_here(run, HALF, changes_of(run)["cache"])
    events = without.forked.events
    modes = {e.request: e.mode for e in events if isinstance(e, RequestSubmitted)}
    assert {mode for request, mode in modes.items() if request <= EIGHT} == {CacheMode.READ_WRITE}
    assert {mode for request, mode in modes.items() if request > EIGHT} == {CacheMode.DISABLED}


def test_another_capacity_or_design_is_a_whole_run_and_says_so(run: Run) -> None:  # spec: W-4
    design = OtherDesign("lane-owned", designs.named("lane-owned"))
    smaller = OtherOptions(replace(run.world.story.options, device_state_slots=1))
    for change, first in ((design, 5), (smaller, 53)):
        fork = fork_here(run, HALF, change)
        assert fork.kind is ForkKind.WHOLE_RUN
        assert fork.first_event == 0
        assert "a whole run beside it" in str(fork)
        assert fork.difference is not None
        assert fork.difference.ordinals[0] == first, "aligned by decisions, not by places and times"
        assert first_difference(fork.original, fork.forked) is not None
    same = fork_here(run, HALF, OtherOptions(run.world.story.options))
    assert same.difference is None


def test_what_cannot_be_forked_is_refused(run: Run) -> None:
    with pytest.raises(OptionsError, match=f"found 9999; legal: 0 <= event < {len(run.events)}"):
        fork_here(run, 9_999)
    with pytest.raises(OptionsError, match="request to take back: found 9; legal: 8"):
        fork_here(run, HALF, TakenBack(RequestId(9)))
    with pytest.raises(OptionsError, match="machine: found torch"):
        fork_here(replace(run, machine=Machine.TORCH), 0)
    with pytest.raises(OptionsError, match="1 events lost"):
        fork_here(replace(run, lost_events_count=1), 0)
    smaller = OtherOptions(replace(run.world.story.options, device_state_slots=1))
    with pytest.raises(OptionsError, match="changes: found 2 of OtherOptions; legal: one, for two"):
        fork_here(run, HALF, smaller, Faults(), smaller)
    assert fork_here(run, HALF, Faults(), Faults()).difference is None
    other = replace(run, events=(run.events[1], *run.events[1:]))
    with pytest.raises(InvariantBroken, match="did not come out again"):
        fork_here(other, HALF)


def test_a_recording_that_ended_before_differs_where_it_ends(run: Run) -> None:
    whole = run.recording
    last = max(i for i, event in enumerate(whole.events) if isinstance(event, LedgerChanged))
    with_it = replace(whole, events=whole.events[: last + 1])
    before = replace(whole, events=whole.events[:last])
    assert first_difference(with_it, with_it) is None
    for one, other, ordinals in (
        (before, with_it, (None, last)),
        (with_it, before, (last, None)),
        (before, whole, (None, last + 1)),
    ):
        found = first_difference(one, other)
        assert found is not None
        assert found.ordinals == ordinals
        assert "nothing more" in str(found)
    decided = first_decision(whole, replace(whole, events=whole.events[:5]))
    assert decided is not None
    assert decided.events[1] is None


def test_a_fork_shows_itself(run: Run) -> None:  # spec: W-6
    fork = fork_here(run, HALF, changes_of(run)["forward"])
    assert "first difference event 211, decode forward of 1 token for request 8" in str(fork)
    assert "<th" in fork._repr_html_()
    assert fork.beside.columns[0] == "request"
    assert len(fork.beside) == 15
    assert ("changed", "nothing") in fork_here(run, HALF).lines
