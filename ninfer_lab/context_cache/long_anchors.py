"""Which earlier points of a private history are kept, and may one of them be taken over?

Owns the retention of long anchors (at most L of one owner, the one whose loss costs least goes
first), the endpoint that becomes an anchor when it is continued (ANC-3), and the source rule of
anchors (ANC-4). Pure but for the questions put to Program; knows no placement. Source: spec ANC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ninfer_lab.context_cache.catalog import PrivateOwner
from ninfer_lab.contract.candidate import AdmissionCandidate, SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.target import TargetSketch


def select_long_anchor_replacement(lineage: Sequence[CheckpointSummary]) -> CheckpointSummary:
    """The long anchor whose loss leaves the smallest gap; of equals the shallowest.

    What an anchor covers are the tokens between it and the next lower recovery point of the same
    owner, of whatever kind, or the root: so many more would be computed again without it.

    Args:
        lineage: One owner's checkpoints, ascending by frontier; a long anchor among them.

    Example:
        Anchors at 1,000, 4,000 and 4,600, and a turn closure at 3,800: they cover 1,000, 200 and
        600 tokens, so the one at 4,000 goes. Without the closure it would cover 3,000, and the one
        at 4,600 would go.
    """
    anchors = [c for c in lineage if c.kind is CheckpointKind.LONG_ANCHOR]
    return min(
        anchors,
        key=lambda anchor: (coverage_loss_tokens(anchor, lineage), anchor.frontier_tokens),
    )


def coverage_loss_tokens(anchor: CheckpointSummary, lineage: Sequence[CheckpointSummary]) -> int:
    """Tokens between a checkpoint and the next lower recovery point of its owner."""
    frontier = anchor.frontier_tokens
    lower = (c.frontier_tokens for c in lineage if c.frontier_tokens < frontier)
    return frontier - max(lower, default=0)


def endpoint_to_keep(
    verified: Sequence[AdmissionCandidate],
    owners: Sequence[PrivateOwner],
    *,
    minimum_gain_tokens: int,
) -> int | None:
    """The frontier of the deepest endpoint that the prompt continues exactly, if it lies far enough
    above its owner's long anchors to be kept as one (ANC-3).

    Whatever the request will start from: on other ways the anchor is captured where prefill comes
    by, or lies behind the start and is dropped.

    Args:
        verified: Candidates of the request: Program has found each equal, token for token and in
            identity.
        owners: Catalogued.
        minimum_gain_tokens: Above the deepest of the owner's anchors, or above the root.
    """
    ends = [
        (each.reuse_tokens, source.owner.id)
        for each in verified
        if (source := each.source) is not None and source.kind is CheckpointKind.SESSION_ENDPOINT
    ]
    if not ends:
        return None
    frontier, owner_id = max(ends, key=lambda end: end[0])
    owner = next(owner for owner in owners if owner.id == owner_id)
    gain = frontier - _deepest_anchor_tokens(owner.checkpoints)
    return frontier if gain >= minimum_gain_tokens else None


def candidate_at_anchor(
    program: ProgramApi, rewriting: AdmissionCandidate, *, has_vacant_slot: bool
) -> AdmissionCandidate:
    """How a request that may rewrite the conversation at one of its anchors starts there (ANC-4).

    It leaves the conversation alone where the branch fits beside it with the cache as it is: its
    identity target is feasible, and there is a vacant place to publish it. Else the conversation
    becomes the branch: what lies above the anchor ends, the anchor itself goes on. Reads only.

    Args:
        program: Judges the identity target.
        rewriting: The anchor as a source that is consumed.
        has_vacant_slot: Of the private catalog.
    """
    source = rewriting.source
    assert source is not None
    retained = replace(source, disposition=SourceDisposition.RETAIN)
    beside = replace(rewriting, source=retained)
    fits = has_vacant_slot and program.assess(TargetSketch(candidate=beside)).is_feasible
    return beside if fits else rewriting


def _deepest_anchor_tokens(checkpoints: Sequence[CheckpointSummary]) -> int:
    anchors = (c.frontier_tokens for c in checkpoints if c.kind is CheckpointKind.LONG_ANCHOR)
    return max(anchors, default=0)
