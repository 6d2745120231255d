"""Bundles and requests, in a line each."""

from __future__ import annotations

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    LaneId,
    OwnerId,
    OwnerRef,
    PageId,
    RequestId,
    StateSlotId,
)
from ninfer_lab.contract.options import CacheMode
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.policies.lane_owned.bundle import Fingerprint, LaneBundle, SavedState

CLOSURE, REPLAY = CheckpointKind.TURN_CLOSURE, CheckpointKind.RESPONSE_REPLAY


def saved(frontier_tokens: int, kind: CheckpointKind, slot: int) -> SavedState:
    ref = CheckpointRef(id=CheckpointId(slot), owner=OwnerId(1))
    summary = CheckpointSummary(
        ref=ref, kind=kind, frontier_tokens=frontier_tokens, prefix_digest=b""
    )
    return SavedState(summary=summary, slot=StateSlotId(slot))


def bundle(
    ledger: PreparedPrompt,
    *,
    rewrite: SavedState | None = None,
    has_frontier: bool = True,
) -> LaneBundle:
    frontier = saved(len(ledger.tokens), CheckpointKind.SESSION_ENDPOINT, 0)
    return LaneBundle(
        owner=OwnerRef(id=OwnerId(1), generation=1),
        fingerprint=Fingerprint.of(ledger, ledger.tokens),
        pages=tuple(map(PageId, range(2))),
        frontier=frontier if has_frontier else None,
        rewrite=rewrite,
        publication_order=1,
    )


def asking(
    prompt: PreparedPrompt,
    *,
    mode: CacheMode = CacheMode.READ_WRITE,
    purpose: RequestPurpose = RequestPurpose.CONVERSATION,
) -> AdmissionRequest:
    return AdmissionRequest(
        request=RequestId(1),
        prompt=prompt,
        max_output_tokens=5,
        mode=mode,
        session_key=None,
        publication_order=2,
        free_lanes=(LaneId(0),),
        purpose=purpose,
    )
