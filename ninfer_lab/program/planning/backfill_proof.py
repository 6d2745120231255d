"""Would the head still find room once its donors have ended, with a borrower running on? (BKF-1)

Owns the hypothetical state and its one inequality per axis: what the donors hold is gone, all
inactive cache that nobody leans on is gone, the borrower holds all it may ever need, and the head
starts from root. Uses nobody's predicted time. Pure.
"""

from __future__ import annotations

from ninfer_lab.contract.backfill import BackfillQuestion
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.options import ResolvedOptions, pages_of_tokens
from ninfer_lab.program.planning.resource_projection import CandidateProjector, entitled_tokens
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import PostState


def head_keeps_its_room(
    ledger: Ledger,
    options: ResolvedOptions,
    question: BackfillQuestion,
    borrower: CandidateProjector,
    post: PostState,
) -> bool:
    """Whether the whole hypothetical state fits.

    Args:
        borrower: The candidate that would be admitted, with `post` as its end state: it keeps its
            lineage, what it borrows and its full guarantee, until its own end.
    """
    layout = ledger.layout
    donors = {handle.id for handle in question.donors}
    stays: int = borrower.replicas_held(post)
    for sequence in ledger.sequences.values():
        if sequence.handle.id not in donors:
            stays |= ledger.replicas_of(sequence.holdings)
    for owner in question.protected:
        stays |= ledger.replicas_of(ledger.continuations.require(owner).holdings)

    lanes_left = ledger.lanes_count - len(ledger.sequences) + len(donors) - 1
    slots = layout.device_images.count(stays) + post.destination_slots + 1
    if lanes_left < 1 or slots > ledger.capacity.device_state_slots:
        return False
    for index, (pool, needs) in enumerate(zip(ledger.kv, post.needs, strict=True)):
        reserved = sum(
            sequence.spaces[index].reserved_pages
            for sequence in ledger.sequences.values()
            if sequence.handle.id not in donors
        )
        pages = layout.device_pages[pool].count(stays) + reserved + needs.destination_pages
        if pages + _root_pages(options, question, pool) > ledger.capacity.device_pages(pool):
            return False
    return True


def _root_pages(options: ResolvedOptions, question: BackfillQuestion, pool: KvPool) -> int:
    """The head's guarantee, from root."""
    tokens = entitled_tokens(question.head, options)
    return pages_of_tokens(options.coverage_tokens(pool, tokens))
