"""Which checkpoints should an active request leave in its own lineage?

Owns the private-only baseline: what is captured at which frontier when nothing is shared. Whether
there is room is Program's to say when the frontier is reached (INV-17). Source: spec OWN-4, OWN-5;
one rewrite place per continuation is the original engine's rule.
"""

from __future__ import annotations

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.plan import PlannedCapture
from ninfer_lab.contract.prompt import RewriteKind

_KIND_OF_REWRITE = {
    RewriteKind.TURN_CLOSURE: CheckpointKind.TURN_CLOSURE,
    RewriteKind.RESPONSE_REPLAY: CheckpointKind.RESPONSE_REPLAY,
}


def wanted_captures(candidate: AdmissionCandidate) -> tuple[PlannedCapture, ...]:
    """The one rewrite checkpoint to take: the turn closure, which the next turn needs, if its
    frontier is still ahead (or is where the request starts); else the response replay.

    A turn closure behind the start was captured by an earlier request of this turn and goes on with
    the lineage; taking the replay would push it out, so nothing is taken then.

    Example:
        A prompt with a turn closure at 40, started from a checkpoint at 12, plans a capture at 40;
        the same prompt started from an endpoint at 55 plans none.
    """
    closure = candidate.request.prompt.rewrite_frontier_tokens(RewriteKind.TURN_CLOSURE)
    kind = RewriteKind.RESPONSE_REPLAY if closure is None else RewriteKind.TURN_CLOSURE
    frontier = candidate.request.prompt.rewrite_frontier_tokens(kind)
    if frontier is None or frontier < candidate.reuse_tokens:
        return ()
    return (PlannedCapture(kind=_KIND_OF_REWRITE[kind], frontier_tokens=frontier),)
