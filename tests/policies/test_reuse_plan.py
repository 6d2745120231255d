"""Law: a plan needs the whole ledger or the checkpoint's part of it; what becomes of the checkpoint
follows from where the declared boundary lies.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.policies.lane_owned.reuse_plan import (
    FULL_RESET,
    CheckpointAction,
    ReusePlan,
    checkpoint_action,
    declared_boundary,
    plan_reuse,
)
from ninfer_lab.policies.lane_owned.switches import AS_IT_WAS, PRESERVE_EXISTING, LaneSwitches
from policies.bundles import CLOSURE, REPLAY, asking, bundle, saved
from simulation.engine_world import prepared

LEDGER = prepared(range(100))
PLANS = [
    ("extends the ledger", range(101), "append_at_frontier", 100),
    ("is the ledger: no token is left to compute", range(100), "restore_turn_checkpoint", 60),
    ("parts after the checkpoint", [*range(99), 7, 8], "restore_turn_checkpoint", 60),
    ("parts at the checkpoint", [*range(60), 7], "restore_turn_checkpoint", 60),
    ("parts below it", [*range(59), 7, 8], "full_reset", 0),
    ("ends at the checkpoint", range(60), "full_reset", 0),
    ("shares nothing", [7, *range(1, 120)], "full_reset", 0),
]


@pytest.mark.parametrize(("what", "tokens", "path", "reuse"), PLANS, ids=[p[0] for p in PLANS])
def test_a_plan_looks_at_ledger_and_checkpoint(  # spec: LANE-2
    what: str, tokens: list[int], path: str, reuse: int
) -> None:
    found = plan_reuse(asking(prepared(tokens)), bundle(LEDGER, rewrite=saved(60, CLOSURE, 1)))
    assert (found.path.value, found.reuse_tokens) == (path, reuse)


def test_without_a_state_nothing_is_reused_however_much_agrees() -> None:  # spec: LANE-2, RT-2
    onward = asking(prepared(range(101)))
    assert plan_reuse(onward, None) == FULL_RESET
    assert plan_reuse(onward, bundle(LEDGER, has_frontier=False)) == FULL_RESET
    kept = bundle(LEDGER, rewrite=saved(60, CLOSURE, 1), has_frontier=False)
    assert plan_reuse(onward, kept).reuse_tokens == 60


def test_tokens_are_not_all_of_a_fingerprint() -> None:  # spec: LANE-1
    kept = bundle(LEDGER, rewrite=saved(60, REPLAY, 1))
    onward = range(101)
    other_template = prepared(onward, template="another")
    assert plan_reuse(asking(other_template), kept) == FULL_RESET
    cut_elsewhere = prepared(onward, cuts=(30,))
    assert plan_reuse(asking(cut_elsewhere), kept) == FULL_RESET
    cut_later = plan_reuse(asking(prepared(onward, cuts=(80,))), kept)
    assert cut_later.path.value == "restore_response_checkpoint"
    disabled = asking(prepared(onward), mode=CacheMode.DISABLED)
    assert plan_reuse(disabled, kept) == FULL_RESET


BASE_60 = plan_reuse(
    asking(prepared([*range(60), 7])), bundle(LEDGER, rewrite=saved(60, CLOSURE, 1))
)
BASE_100 = plan_reuse(asking(prepared(range(130))), bundle(LEDGER))
ACTIONS = [
    ("none declared", BASE_60, None, None, CLOSURE, CheckpointAction.DROP),
    ("declared ahead", BASE_60, 61, None, CLOSURE, CheckpointAction.CAPTURE_NEW),
    ("declared where it is", BASE_60, 60, None, CLOSURE, CheckpointAction.KEEP),
    ("declared as another kind", BASE_60, None, 60, CLOSURE, CheckpointAction.RELABEL),
    ("declared behind the base", BASE_60, 59, None, CLOSURE, CheckpointAction.DEFER),
    ("between checkpoint and base", BASE_100, 80, None, CLOSURE, CheckpointAction.DEFER),
    ("declared at the base itself", BASE_100, 100, None, CLOSURE, CheckpointAction.DEFER),
    ("after a full reset", FULL_RESET, 1, None, None, CheckpointAction.CAPTURE_NEW),
    ("nothing declared, nothing there", FULL_RESET, None, None, None, CheckpointAction.DROP),
]


@pytest.mark.parametrize(
    ("what", "plan", "closure", "replay", "existing", "action"),
    ACTIONS,
    ids=[a[0] for a in ACTIONS],
)
def test_the_action_follows_from_where_the_boundary_lies(  # spec: LANE-3
    what: str,
    plan: ReusePlan,
    closure: int | None,
    replay: int | None,
    existing: CheckpointKind | None,
    action: CheckpointAction,
) -> None:
    prompt = prepared(range(130), closure=closure, replay=replay)
    kept = None if existing is None else bundle(LEDGER, rewrite=saved(60, existing, 1))
    assert checkpoint_action(asking(prompt), plan, kept, AS_IT_WAS) is action
    clears = {CheckpointAction.DROP, CheckpointAction.CAPTURE_NEW}
    assert action.clears is (action in clears)


def test_a_turns_closure_is_declared_before_its_replay() -> None:
    both = asking(prepared(range(130), closure=40, replay=120))
    boundary = declared_boundary(both)
    assert boundary is not None
    assert boundary.frontier_tokens == 40
    disabled = asking(both.prompt, mode=CacheMode.DISABLED)
    assert declared_boundary(disabled) is None


@pytest.mark.parametrize(("closure", "plain"), [(None, "drop"), (90, "capture_new")])
def test_drop_and_capture_both_degrade_for_who_says_so(  # spec: RT-2
    closure: int | None, plain: str
) -> None:
    kept = bundle(LEDGER, rewrite=saved(60, CLOSURE, 1))
    prompt = prepared([*range(60), *range(500, 570)], closure=closure)
    side = asking(prompt, purpose=RequestPurpose.SIDE_REQUEST)
    plan = plan_reuse(side, kept)
    actions = [
        checkpoint_action(request, plan, kept, switches).value
        for request in (asking(prompt), side)
        for switches in (AS_IT_WAS, PRESERVE_EXISTING)
    ]
    assert actions == [plain, plain, plain, "preserve_existing"]
    mute = LaneSwitches(side_requests_declare=False)
    assert checkpoint_action(side, plan, kept, mute) is CheckpointAction.DROP
