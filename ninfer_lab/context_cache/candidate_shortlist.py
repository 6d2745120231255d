"""Which checkpoints might this request start from, and may it take them over?

Owns the narrowing by prefix digest (which proves nothing, IDN-4) and the source rule, Retain or
Consume. Program verifies every entry afterwards (CAND-2). How the rule bends for long anchors is
`long_anchors`'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ninfer_lab.context_cache.catalog import Catalog, PrivateOwner
from ninfer_lab.context_cache.long_anchors import candidate_at_anchor
from ninfer_lab.context_cache.owner_edges import OwnerEdges
from ninfer_lab.context_cache.session_index import SessionIndex
from ninfer_lab.contract.candidate import (
    AdmissionCandidate,
    AdmissionRequest,
    SourceDisposition,
)
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.shared_prefix import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortlistEntry:
    """A checkpoint whose digest matches the prompt's prefix."""

    owner: PrivateOwner
    checkpoint: CheckpointSummary


def exact_candidates(
    program: ProgramApi,
    request: AdmissionRequest,
    catalog: Catalog,
    sessions: SessionIndex,
    edges: OwnerEdges,
) -> Iterator[AdmissionCandidate]:
    """Every shortlisted checkpoint that Program finds equal, with its source rule (CAND-2).

    Whoever declares a boundary where it starts, for everybody or for its own history, means to come
    back to it: the source stays (ANC-4).
    """
    declared = {
        each.frontier_tokens
        for each in request.prompt.shared_candidates
        if each.evidence & Evidence.EXPLICIT_BOUNDARY
    }
    declared |= request.prompt.marked_anchors_tokens
    for entry in shortlist(request, catalog.owners()):
        ref = entry.checkpoint.ref
        disposition = disposition_of(request, entry.owner, sessions, edges)
        if entry.checkpoint.frontier_tokens in declared:
            disposition = SourceDisposition.RETAIN
        found = program.verify(request, ref, disposition)
        if not isinstance(found, AdmissionCandidate):
            continue
        rewrites = disposition is SourceDisposition.CONSUME
        if rewrites and entry.checkpoint.kind is CheckpointKind.LONG_ANCHOR:
            has_vacant_slot = catalog.vacant_slot() is not None
            yield candidate_at_anchor(program, found, has_vacant_slot=has_vacant_slot)
        else:
            yield found


def shortlist(
    request: AdmissionRequest, owners: Sequence[PrivateOwner]
) -> tuple[ShortlistEntry, ...]:
    """Matching checkpoints, in slot order, then by frontier (CAND-1).

    One pass over the prompt gives the digests of all frontiers.
    """
    tokens = request.prompt.tokens
    tokens_count = len(tokens)
    reachable = [
        (owner, checkpoint)
        for owner in owners
        for checkpoint in owner.state.checkpoints
        if checkpoint.frontier_tokens < tokens_count
    ]
    frontiers = sorted({checkpoint.frontier_tokens for _, checkpoint in reachable})
    digests = dict(zip(frontiers, tokens.prefix_digests(frontiers), strict=True))
    return tuple(
        [
            ShortlistEntry(owner=owner, checkpoint=checkpoint)
            for owner, checkpoint in reachable
            if checkpoint.prefix_digest == digests[checkpoint.frontier_tokens]
        ]
    )


def disposition_of(
    request: AdmissionRequest, owner: PrivateOwner, sessions: SessionIndex, edges: OwnerEdges
) -> SourceDisposition:
    """Consume only what belongs to the request's own session and nobody else leans on.

    An entry of another session, or of none, must stay as it is: somebody may come back to it. So
    must one that a later request of the same session has published (SES-1).
    """
    own_session = (
        request.session_key is not None and sessions.key_of(owner.id) == request.session_key
    )
    newer = request.publication_order > owner.publication_order
    if own_session and newer and not edges.protects(owner.id):
        return SourceDisposition.CONSUME
    return SourceDisposition.RETAIN
