"""Which checkpoints should an active request leave in its own lineage, and what gives way to them?

Owns the private-only baseline: what is captured at which frontier when nothing is shared, and the
terms of each capture once its frontier is reached. Whether there is room is Program's to say then
(INV-17). Source: spec OWN-4, OWN-5, ANC; one rewrite place per continuation is the original
engine's rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ninfer_lab.context_cache.catalog import PrivateOwner
from ninfer_lab.context_cache.long_anchors import (
    endpoint_to_keep,
    select_long_anchor_replacement,
)
from ninfer_lab.contract.anchor_options import PrivateAnchors
from ninfer_lab.contract.candidate import AdmissionCandidate, SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import CheckpointRef
from ninfer_lab.contract.plan import CaptureOffer, FinalScheduleIntent
from ninfer_lab.contract.planned_capture import CaptureTerms, PlannedCapture
from ninfer_lab.contract.prompt import RewriteKind

_KIND_OF_REWRITE = {
    RewriteKind.TURN_CLOSURE: CheckpointKind.TURN_CLOSURE,
    RewriteKind.RESPONSE_REPLAY: CheckpointKind.RESPONSE_REPLAY,
}


def with_base_plans(
    verified: Sequence[AdmissionCandidate], owners: Sequence[PrivateOwner], anchors: PrivateAnchors
) -> tuple[AdmissionCandidate, ...]:
    """The candidates of a request, each with what its base plan wants to leave on its way, which is
    priced with it.

    Args:
        verified: All of them, root among them.
        owners: Catalogued.
        anchors: The engine's choice.
    """
    kept_tokens = None
    if anchors.at_endpoints:
        kept_tokens = endpoint_to_keep(
            verified, owners, minimum_gain_tokens=anchors.endpoint_gain_tokens
        )
    planned = [
        wanted_captures(
            candidate,
            limit_anchors=anchors.retained_count,
            limit_slots=anchors.slots_count,
            endpoint_to_keep_tokens=kept_tokens,
        )
        for candidate in verified
    ]
    return tuple(
        replace(candidate, captures=captures) if captures else candidate
        for candidate, captures in zip(verified, planned, strict=True)
    )


def wanted_captures(
    candidate: AdmissionCandidate,
    *,
    limit_anchors: int = 0,
    limit_slots: int = 0,
    endpoint_to_keep_tokens: int | None = None,
) -> tuple[PlannedCapture, ...]:
    """The one rewrite checkpoint to take, and the anchors on the way, ascending, one a frontier.

    Where both fall on one frontier the rewrite checkpoint stands for both: the same image twice
    would bring nothing back that once does not. No more anchors are planned on the way than there
    could be slots for, the rewrite checkpoint's left out; of more those that the caller marks, then
    the deepest: each costs a cut.

    Args:
        candidate: From where the request starts.
        limit_anchors: Long anchors one continuation may keep, L; with none, none is wanted.
        limit_slots: Device slots beside the lanes' own.
        endpoint_to_keep_tokens: The endpoint that is to be kept as an anchor (ANC-3).

    Example:
        A prompt with proposals at 20 and 35 and a turn closure at 40, started from a checkpoint at
        20, plans an anchor at 35 and the closure at 40; with one slot the closure alone.
    """
    rewrite = _wanted_rewrite(candidate)
    if not limit_anchors:
        return () if rewrite is None else (rewrite,)
    prompt = candidate.request.prompt
    proposed = {each.frontier_tokens for each in prompt.private_anchors}
    if endpoint_to_keep_tokens is not None:
        proposed.add(endpoint_to_keep_tokens)
    start_tokens = candidate.reuse_tokens
    rewritten = {rewrite.frontier_tokens} if rewrite is not None else set()
    marked = prompt.marked_anchors_tokens
    on_the_way = [at for at in proposed - rewritten if at > start_tokens]
    on_the_way.sort(key=lambda at: (at not in marked, -at))
    frontiers = sorted(on_the_way[: max(0, limit_slots - len(rewritten))])
    if start_tokens in proposed - rewritten and _starts_where_an_endpoint_was(candidate):
        frontiers.insert(0, start_tokens)
    anchors = [
        PlannedCapture(kind=CheckpointKind.LONG_ANCHOR, frontier_tokens=at) for at in frontiers
    ]
    planned = anchors if rewrite is None else [*anchors, rewrite]
    return tuple(sorted(planned, key=lambda capture: capture.frontier_tokens))


def capture_terms(offer: CaptureOffer, limit_anchors: int) -> CaptureTerms:
    """What gives way to a capture, and what it must leave for those that come after.

    A rewrite checkpoint takes the place of the lineage's older one; an anchor that would be one too
    many takes the place that `select_long_anchor_replacement` says. An anchor on the way leaves a
    slot for every later capture that brings none of its own: the deeper serve more, and the rewrite
    checkpoint is what the next turn needs. Where the request starts nothing is left for later: that
    image is about to be written over.

    Args:
        offer: The frontier that has been reached.
        limit_anchors: Long anchors one continuation may keep, L.
    """
    gives_way = _gives_way(offer, limit_anchors)
    if offer.planned.kind is not CheckpointKind.LONG_ANCHOR or offer.is_at_start:
        return CaptureTerms(gives_way=gives_way)
    leaves, anchors_count = 0, len(_anchors(offer.lineage)) + (gives_way is None)
    has_rewrite = offer.older_rewrite is not None
    for later in offer.later:
        is_anchor = later.kind is CheckpointKind.LONG_ANCHOR
        replaces = anchors_count >= limit_anchors if is_anchor else has_rewrite
        leaves += not replaces
        anchors_count += is_anchor and not replaces
    return CaptureTerms(gives_way=gives_way, leaves_slots_count=leaves)


def final_choice(
    candidate: AdmissionCandidate,
    owners: Sequence[PrivateOwner],
    limit_anchors: int,
    *,
    offers_tokens: tuple[int, ...],
    leaves_owner: bool,
) -> FinalScheduleIntent:
    """Where the prefill is cut, now that the candidate is fixed: the last word on it (CPT-4).

    Args:
        candidate: The selected one, with its base plan.
        owners: Catalogued, the candidate's among them.
        limit_anchors: As for `capture_terms`.
        offers_tokens: Frontiers at which a shared prefix is to be offered.
        leaves_owner: Whether the request may leave anything behind; nothing is captured else.
    """
    if not leaves_owner:
        return FinalScheduleIntent(offers_tokens=offers_tokens)
    return FinalScheduleIntent(
        captures=candidate.captures,
        terms_at_start=terms_at_start(candidate, owners, limit_anchors),
        offers_tokens=offers_tokens,
    )


def terms_at_start(
    candidate: AdmissionCandidate, owners: Sequence[PrivateOwner], limit_anchors: int
) -> CaptureTerms | None:
    """The terms of the anchor at the very frontier that a consumed endpoint leaves, as
    `capture_terms` will say them there; `None` where none is planned.

    Args:
        candidate: From where the request starts.
        owners: Catalogued, the candidate's among them.
        limit_anchors: As for `capture_terms`.
    """
    start_tokens, source = candidate.reuse_tokens, candidate.source
    if source is None or not candidate.anchors_its_start:
        return None
    consumed = next(owner for owner in owners if owner.id == source.owner.id)
    offer = CaptureOffer(
        planned=PlannedCapture(kind=CheckpointKind.LONG_ANCHOR, frontier_tokens=start_tokens),
        is_at_start=True,
        lineage=tuple(c for c in consumed.checkpoints if c.frontier_tokens < start_tokens),
        later=tuple(c for c in candidate.captures if c.frontier_tokens > start_tokens),
    )
    return capture_terms(offer, limit_anchors)


def _wanted_rewrite(candidate: AdmissionCandidate) -> PlannedCapture | None:
    """The turn closure, which the next turn needs, if its frontier is still ahead (or is where the
    request starts); else the response replay.

    A turn closure behind the start was captured by an earlier request of this turn and goes on with
    the lineage; taking the replay would push it out, so nothing is taken then.
    """
    closure = candidate.request.prompt.rewrite_frontier_tokens(RewriteKind.TURN_CLOSURE)
    kind = RewriteKind.RESPONSE_REPLAY if closure is None else RewriteKind.TURN_CLOSURE
    frontier = candidate.request.prompt.rewrite_frontier_tokens(kind)
    if frontier is None or frontier < candidate.reuse_tokens:
        return None
    return PlannedCapture(kind=_KIND_OF_REWRITE[kind], frontier_tokens=frontier)


def _starts_where_an_endpoint_was(candidate: AdmissionCandidate) -> bool:
    """Whether it goes on from an endpoint that would otherwise be gone: on any other way what lies
    at the start stays, or has gone on itself.
    """
    source = candidate.source
    return (
        source is not None
        and source.kind is CheckpointKind.SESSION_ENDPOINT
        and source.disposition is SourceDisposition.CONSUME
    )


def _gives_way(offer: CaptureOffer, limit_anchors: int) -> CheckpointRef | None:
    if offer.planned.kind.is_rewrite:
        return offer.older_rewrite
    if len(_anchors(offer.lineage)) < limit_anchors:
        return None
    return select_long_anchor_replacement(offer.lineage).ref


def _anchors(lineage: Sequence[CheckpointSummary]) -> list[CheckpointSummary]:
    return [c for c in lineage if c.kind is CheckpointKind.LONG_ANCHOR]
