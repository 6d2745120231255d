"""What could a request reuse of one bundle, and what becomes of the bundle's checkpoint?

Owns the reuse plan (LANE-2) and the checkpoint action (LANE-3). Both look at one bundle alone, as
if there were no other. Does not know lanes or room.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.prompt import RewriteBoundary, RewriteKind
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.policies.lane_owned.bundle import LaneBundle
from ninfer_lab.policies.lane_owned.switches import LaneSwitches


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusePlan:
    """How a request would start on a bundle.

    Attributes:
        reuse_tokens: The base from which it computes; 0 for a full reset.
    """

    path: ReusePath
    reuse_tokens: int

    @property
    def is_full_reset(self) -> bool:
        """Nothing of the bundle is of use."""
        return self.path is ReusePath.FULL_RESET


FULL_RESET = ReusePlan(path=ReusePath.FULL_RESET, reuse_tokens=0)


def plan_reuse(request: AdmissionRequest, bundle: LaneBundle | None) -> ReusePlan:
    """The plan on one bundle, or on a lane without one.

    Appending needs the whole ledger, restoring needs the checkpoint's part of it; whatever else the
    prompt shares with the ledger counts for nothing.
    """
    if bundle is None or request.mode is CacheMode.DISABLED:
        return FULL_RESET
    prompt, recognised = request.prompt, bundle.fingerprint
    frontier, rewrite = bundle.frontier, bundle.rewrite
    if frontier is not None and recognised.agrees(prompt, len(recognised.ledger)):
        path, reuse_tokens = ReusePath.APPEND_AT_FRONTIER, frontier.frontier_tokens
        return ReusePlan(path=path, reuse_tokens=reuse_tokens)
    if rewrite is not None and recognised.agrees(prompt, rewrite.frontier_tokens):
        turn = rewrite.summary.kind is CheckpointKind.TURN_CLOSURE
        path = ReusePath.RESTORE_TURN_CHECKPOINT if turn else ReusePath.RESTORE_RESPONSE_CHECKPOINT
        return ReusePlan(path=path, reuse_tokens=rewrite.frontier_tokens)
    return FULL_RESET


class CheckpointAction(Enum):
    """What a request does to the rewrite checkpoint of the bundle it runs on."""

    KEEP = "keep"
    """It is the declared boundary already."""
    RELABEL = "relabel"
    """It is, under another kind."""
    DEFER = "defer"
    """The declared boundary is behind the reuse base, where no state can be had any more."""
    CAPTURE_NEW = "capture_new"
    """The declared boundary is ahead."""
    DROP = "drop"
    """None is declared."""
    PRESERVE_EXISTING = "preserve_existing"
    """The way out (RT-2): neither captures nor clears, and leaves the fingerprint alone."""

    @property
    def clears(self) -> bool:
        """The one condition under which the checkpoint goes (DES-2)."""
        return self in (CheckpointAction.DROP, CheckpointAction.CAPTURE_NEW)


def declared_boundary(request: AdmissionRequest) -> RewriteBoundary | None:
    """The boundary that a prompt asks to keep: its turn closure, else its response replay."""
    if request.mode is CacheMode.DISABLED:
        return None
    boundaries = {each.kind: each for each in request.prompt.rewrite_boundaries}
    return boundaries.get(RewriteKind.TURN_CLOSURE) or boundaries.get(RewriteKind.RESPONSE_REPLAY)


def checkpoint_action(
    request: AdmissionRequest, plan: ReusePlan, bundle: LaneBundle | None, switches: LaneSwitches
) -> CheckpointAction:
    """The action of a request on the bundle that it has claimed.

    Args:
        bundle: `None` after a full reset.
        switches: Whether side requests leave what they find alone (RT-2).
    """
    is_side = request.purpose is RequestPurpose.SIDE_REQUEST
    is_mute = is_side and not switches.side_requests_declare
    action = _action(None if is_mute else declared_boundary(request), plan, bundle)
    if switches.preserves_existing and is_side and action.clears:
        return CheckpointAction.PRESERVE_EXISTING
    return action


def kind_of(boundary: RewriteBoundary) -> CheckpointKind:
    """As what a boundary's state is kept."""
    if boundary.kind is RewriteKind.TURN_CLOSURE:
        return CheckpointKind.TURN_CLOSURE
    return CheckpointKind.RESPONSE_REPLAY


def _action(
    declared: RewriteBoundary | None, plan: ReusePlan, bundle: LaneBundle | None
) -> CheckpointAction:
    if declared is None:
        return CheckpointAction.DROP
    if declared.frontier_tokens > plan.reuse_tokens:
        return CheckpointAction.CAPTURE_NEW
    existing = None if bundle is None else bundle.rewrite
    if existing is None or existing.frontier_tokens != declared.frontier_tokens:
        return CheckpointAction.DEFER
    same_kind = existing.summary.kind is kind_of(declared)
    return CheckpointAction.KEEP if same_kind else CheckpointAction.RELABEL
