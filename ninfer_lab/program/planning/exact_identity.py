"""Is this checkpoint the exact beginning of that prompt? (IDN-1, IDN-3)

Owns the comparison that proves a hit: identity, every token below the frontier, and the execution
cuts. A digest or a session key never gets here as an argument (IDN-4).
"""

from __future__ import annotations

from ninfer_lab.contract.candidate import (
    AdmissionCandidate,
    AdmissionRequest,
    CheckpointSource,
    NotReusable,
    SourceDisposition,
)
from ninfer_lab.contract.ids import CheckpointRef
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.continuation_store import Continuation


def verified(
    request: AdmissionRequest,
    owner: Continuation | None,
    checkpoint: CheckpointRef,
    disposition: SourceDisposition,
) -> AdmissionCandidate | NotReusable:
    """The candidate that a shortlisted checkpoint is for a request (CAND-2).

    Args:
        owner: What is inactive under the checkpoint's owner now, if anything.
    """
    found = None if owner is None else owner.checkpoint(checkpoint)
    if owner is None or found is None:
        return NotReusable.STALE
    frontier_tokens = found.summary.frontier_tokens
    difference = compare(request.prompt, owner, frontier_tokens)
    if difference is not None:
        return difference
    return AdmissionCandidate(
        request=request,
        source=CheckpointSource(
            owner=owner.ref,
            checkpoint=checkpoint,
            kind=found.summary.kind,
            disposition=disposition,
        ),
        reuse_tokens=frontier_tokens,
        prefill_tokens=len(request.prompt.tokens) - frontier_tokens,
    )


def compare(
    prompt: PreparedPrompt, owner: Continuation, frontier_tokens: int
) -> NotReusable | None:
    """The first difference, or `None` if the checkpoint may be reused.

    The last prompt token is always computed anew, since its logits give the first output token.
    """
    if owner.identity != prompt.identity:
        return NotReusable.IDENTITY_DIFFERS
    tokens_count = len(prompt.tokens)
    shared_tokens = owner.history.common_prefix_tokens(prompt.tokens)
    if shared_tokens < min(frontier_tokens, tokens_count):
        return NotReusable.TOKENS_DIFFER
    if frontier_tokens >= tokens_count:
        return NotReusable.FRONTIER_TOO_DEEP
    if _below(owner.execution_frontiers_tokens, frontier_tokens) != _below(
        prompt.rewrite_execution_frontiers, frontier_tokens
    ):
        return NotReusable.EXECUTION_CUTS_DIFFER
    return None


def is_same_prefix(
    owner: Continuation, checkpoint: CheckpointRef, sequence: ActiveSequence
) -> bool:
    """Whether a checkpoint is the very state that a sequence has at its frontier (SHR-6)."""
    found, frontier = owner.checkpoint(checkpoint), sequence.frontier_tokens
    return (
        found is not None
        and found.summary.frontier_tokens == frontier
        and owner.identity == sequence.prompt.identity
        and owner.history.common_prefix_tokens(sequence.consumed(frontier)) >= frontier
        and _below(owner.execution_frontiers_tokens, frontier)
        == sequence.execution_frontiers(frontier)
    )


def _below(frontiers_tokens: tuple[int, ...], frontier_tokens: int) -> tuple[int, ...]:
    return tuple(f for f in frontiers_tokens if f < frontier_tokens)
