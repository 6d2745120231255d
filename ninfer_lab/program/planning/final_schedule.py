"""Where is the prefill of a plan cut, for good? (CPT-4)

Owns the look at what logical policy has chosen last, and Program's own account of it: the cuts that
execution will make, counted once. Pure. Does not know what the cuts are good for.
"""

from __future__ import annotations

from collections.abc import Sequence

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.plan import ActivationIntent, FinalSchedule
from ninfer_lab.program.planning.transfer_work import prefill_between


def final_schedule(
    options: ResolvedOptions, candidate: AdmissionCandidate, intent: ActivationIntent
) -> FinalSchedule:
    """Verifies the final choice of a fixed candidate, and counts its forwards.

    Raises:
        PlanRefused: Captures other than those the candidate was priced with, or where nothing may
            be left behind; terms without an anchor at the start, or an anchor without terms;
            frontiers out of order, or outside the part that is computed.
    """
    chosen = intent.schedule
    if chosen.captures not in ((), candidate.captures):
        raise PlanRefused(
            "intent.schedule.captures",
            found=chosen.captures,
            legal=f"none, or those the candidate was priced with: {candidate.captures}",
        )
    if chosen.captures and intent.destination is None:
        raise PlanRefused(
            "intent.schedule.captures",
            found=chosen.captures,
            legal="none, for the request may leave nothing behind",
        )
    anchors_start = bool(chosen.captures) and candidate.anchors_its_start
    if (chosen.terms_at_start is not None) != anchors_start:
        raise PlanRefused(
            "intent.schedule.terms_at_start",
            found=chosen.terms_at_start,
            legal="terms where a consumed endpoint is to stay as an anchor, and None elsewhere",
        )
    captured_tokens = [capture.frontier_tokens for capture in chosen.captures]
    _require_on_the_way("captures", captured_tokens, candidate)
    _require_on_the_way("offers_tokens", chosen.offers_tokens, candidate)
    start_tokens, end_tokens = candidate.reuse_tokens, len(candidate.request.prompt.tokens)
    wanted = (*captured_tokens, *chosen.offers_tokens)
    cuts_tokens = {*candidate.request.prompt.rewrite_execution_frontiers, *wanted}
    return FinalSchedule(
        cuts_tokens=tuple(sorted(at for at in cuts_tokens if start_tokens < at < end_tokens)),
        prefill=prefill_between(options, candidate.request, start_tokens, end_tokens, wanted),
    )


def _require_on_the_way(
    what: str, frontiers_tokens: Sequence[int], candidate: AdmissionCandidate
) -> None:
    """From where the request starts to the end of its prompt, each once, ascending."""
    start_tokens, end_tokens = candidate.reuse_tokens, len(candidate.request.prompt.tokens)
    is_ascending = list(frontiers_tokens) == sorted(set(frontiers_tokens))
    if is_ascending and all(start_tokens <= at <= end_tokens for at in frontiers_tokens):
        return
    raise PlanRefused(
        f"intent.schedule.{what}",
        found=tuple(frontiers_tokens),
        legal=f"ascending frontiers in [{start_tokens}, {end_tokens}]",
    )
