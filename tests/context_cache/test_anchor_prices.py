"""Law: what the anchors of a base plan take, cuts and an image saved to the Host, is part of the
price by which a request's start is chosen, and of the work that is told.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_cache.test_private_anchors import (
    AT_ANCHOR,
    AT_ENDPOINT,
    FIRST,
    MOVE,
    OPTIONS,
    RESTORE,
    SECOND,
    captures_of,
    cuts_of,
    kept,
    on_host,
    run,
    start_of,
)
from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.device_timing import TransferTiming
from ninfer_lab.contract.events import TransitionEnded, TransitionStarted
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_work import TransferBatch, TransferDirection, TransferPhase
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.result import CaptureOutcome
from ninfer_lab.contract.search_report import TargetVerdict
from ninfer_lab.contract.transfer import STATE_IMAGE_COPIES_COUNT
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from simulation.content_machine import FORWARD_NS, answer_to
from simulation.engine_world import (
    BELIEF,
    STATE_IMAGE_BYTES,
    EngineWorld,
    engine_world,
    prepared,
)

TOKEN_NS, COPY_NS = 1_000_000, 1_000
"""Of the belief that a world has by default."""

SAVED_IMAGE = TransferBatch(
    phase=TransferPhase.CANDIDATE,
    direction=TransferDirection.D2H,
    payload_bytes=STATE_IMAGE_BYTES,
    operation_count=STATE_IMAGE_COPIES_COUNT,
)

THIRD = [*SECOND, *answer_to(SECOND, 3), 4]
"""Goes on from the second one's endpoint, which is at 107; an anchor is at 102 then."""


def believing(copy_to_host_ns: int) -> MachineCostModel:
    """The belief of these worlds, but for a copy to the Host."""
    d2h = TransferTiming(batch_ns=0, operation_ns=copy_to_host_ns, ns_per_byte_q32=0)
    return replace(BELIEF, transfer=replace(BELIEF.transfer, d2h=d2h))


def world_of(
    options: EngineOptions, *, gain: int = 50, copy_to_host_ns: int = COPY_NS
) -> EngineWorld:
    return engine_world(options, endpoint_gain_tokens=gain, belief=believing(copy_to_host_ns))


def winner_of(world: EngineWorld, request: RequestId) -> TargetVerdict:
    winner = world.admission_of(request).report.winner
    assert winner is not None
    return winner


def test_every_cut_of_an_anchor_is_a_forward_that_is_paid_for() -> None:
    # spec: ANC-3, COST-2
    """100 tokens with anchors at 30 and 60 and a closure at 90 are four forwards; without anchors
    they would be two.
    """
    for anchors, forwards in (((30, 60), 4), ((), 2)):
        world = world_of(replace(OPTIONS, device_state_slots=6))
        request = run(world, prepared(FIRST, anchors=anchors, closure=90))
        winner = winner_of(world, request)
        assert winner.work.prefill is not None
        assert winner.work.prefill.chunk_count == len(cuts_of(world, request)) == forwards
        assert winner.cost is not None
        assert winner.cost.now_ns == 100 * TOKEN_NS + forwards * FORWARD_NS


def test_the_image_saved_to_the_host_is_paid_for_and_told() -> None:
    # spec: ANC-3, COST-2
    """3 tokens in one forward, and an image in two copies."""
    world = world_of(on_host())
    run(world, FIRST)
    second = run(world, SECOND)
    winner = winner_of(world, second)
    assert winner.work.transfers == (SAVED_IMAGE,)
    assert winner.cost is not None
    assert winner.cost.now_ns == 3 * TOKEN_NS + FORWARD_NS + 2 * COPY_NS
    (started,) = world.events(TransitionStarted)
    assert started.work == winner.work
    committed = winner.stages[-1].occupancy.host_state
    assert (committed.used_count, winner.stages[-2].occupancy.host_state.used_count) == (1, 1)
    assert world.snapshot.ledger.occupancy.host_state.used_count == 1


@pytest.mark.parametrize("options", [replace(on_host(), device_state_slots=1), on_host(slots=0)])
def test_what_is_not_saved_is_not_paid_for(options: EngineOptions) -> None:  # spec: ANC-3
    """Where a Device slot is to spare, or the Host has none."""
    world = world_of(options)
    run(world, FIRST)
    assert winner_of(world, run(world, SECOND)).work.transfers == ()


@pytest.mark.parametrize(
    ("copy_to_host_ns", "path", "reuse"),
    [(COPY_NS, AT_ENDPOINT, 107), (3 * TOKEN_NS, AT_ANCHOR, 102)],
)
def test_the_price_of_an_anchor_changes_from_where_a_request_starts(  # spec: ANC-3, COST-2
    copy_to_host_ns: int, path: ReusePath, reuse: int
) -> None:
    """The endpoint at 107 leaves 4 tokens and an image to be saved, which is two copies; the anchor
    at 102 leaves 9, its own image comes back from the Host in two, and nothing is saved. So
    5 tokens are dearer than two cheap copies, and cheaper than two of 3 tokens each.
    """
    world = world_of(on_host(), gain=1, copy_to_host_ns=copy_to_host_ns)
    # The first endpoint has been saved while nothing else could be started from.
    run(world, FIRST)
    run(world, SECOND)
    assert [[at for _, at in points] for _, _, points in kept(world)] == [[102, 107]]
    third = run(world, THIRD)
    state = MOVE if path is AT_ENDPOINT else RESTORE
    assert start_of(world, third) == (path, state, reuse)
    saved = path is AT_ENDPOINT
    assert (SAVED_IMAGE in winner_of(world, third).work.transfers) == saved


@pytest.mark.parametrize(("copy_to_host_ns", "stays"), [(COPY_NS, True), (1_000 * TOKEN_NS, False)])
def test_somebody_s_slot_spares_the_copy_where_that_is_worth_it(  # spec: ANC-3, SRCH-2
    copy_to_host_ns: int, stays: bool
) -> None:
    """A short request holds the slot beside the lane's: it goes only if the copy is dearer."""
    options = replace(on_host(), device_state_slots=1)
    world = world_of(options, copy_to_host_ns=copy_to_host_ns)
    run(world, FIRST)
    run(world, [900, 901], "b")
    second = run(world, SECOND)
    assert captures_of(world, second) == [(CaptureOutcome.CAPTURED, 102)]
    assert winner_of(world, second).work.transfers == ((SAVED_IMAGE,) if stays else ())
    assert (any(session == "b" for _, session, _ in kept(world))) == stays
    assert bool(world.events(TransitionEnded)) == stays
