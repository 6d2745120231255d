"""Which of two targets is better? (SRCH-8)

Owns the total order of judged targets: J first, then what is given up, then what is moved, then the
rest, and last stable ordinals, so that no two targets are ever equal. Pure.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.context_cache.valuation import WorthOf
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.planning import PlanningSession, TargetHandle, Verdict
from ninfer_lab.contract.target_cost import TargetCost

_STAYS = (0, 0)


class TargetKey(NamedTuple):
    """Smaller is better, field by field.

    Attributes:
        affected_hits_count: Checkpoints that were hit before and end here.
        newest_affected_hit: When the one of them that was hit last was; smaller keeps the newer.
        is_other_session: Whether the source is not what the request's session is bound to.
        given: For every owner, negated, its checkpoints that end and the number of its outcome:
            where nothing else tells two targets apart, the owner with the smaller id, which is the
            older one, gives way.
    """

    total_ns: int
    affected_hits_count: int
    newest_affected_hit: int
    evictions_count: int
    deletions_count: int
    copies_count: int
    copied_bytes: int
    prefill_tokens: int
    vision_patches_count: int
    missed_tokens: int
    is_other_session: bool
    candidate: int
    given: tuple[tuple[int, int], ...]


def target_key(
    session: PlanningSession,
    worth: WorthOf,
    session_owner: OwnerId | None,
    target: TargetHandle,
    verdict: Verdict,
    cost: TargetCost,
) -> TargetKey:
    """The place of a judged target in the order."""
    affected = evictions = deletions = newest = 0
    given = [_STAYS] * len(target.choices)
    for owner, facts in () if target.is_identity else session.facts(target):
        given[owner] = -len(facts.deleted), -target.choices[owner]
        evictions += facts.is_eviction
        deletions += len(facts.deleted)
        for checkpoint in facts.deleted:
            hits, last = worth(session.owners[owner].id).hits_of(checkpoint)
            if hits:
                affected, newest = affected + 1, max(newest, last)
    candidate = session.candidates[target.candidate]
    source = candidate.source
    return TargetKey(
        total_ns=cost.total_ns,
        affected_hits_count=affected,
        newest_affected_hit=newest,
        evictions_count=evictions,
        deletions_count=deletions,
        copies_count=_copies(verdict.work),
        copied_bytes=sum(batch.payload_bytes for batch in verdict.work.transfers),
        prefill_tokens=candidate.prefill_tokens,
        vision_patches_count=(
            0 if verdict.work.prefill is None else verdict.work.prefill.vision_patch_count
        ),
        missed_tokens=-candidate.reuse_tokens,
        is_other_session=source is None or source.owner.id != session_owner,
        candidate=target.candidate,
        given=tuple(given),
    )


def _copies(work: MachineWork) -> int:
    return sum(batch.operation_count for batch in work.transfers)
