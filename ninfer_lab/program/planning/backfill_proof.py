"""Would the head find room as early as without the borrower, counted in ends of its donors? (BKF-1)

Owns the hypothetical states and their one inequality per axis: of the donors some have ended, all
inactive cache that nobody leans on is gone, the head starts from root; and the borrower holds all
it may ever take, or was never there. Whatever ends would let the head in without the borrower must
let it in beside the borrower; all of them do so in any case. Uses nobody's predicted time. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from ninfer_lab.contract.backfill import BackfillQuestion
from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.options import ResolvedOptions, pages_of_tokens
from ninfer_lab.contract.planned_capture import PlannedCapture
from ninfer_lab.program.planning.resource_projection import CandidateProjector, entitled_tokens
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.address_space import snapshot_shape
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import PostState


class _Share(NamedTuple):
    """What some holders have, and what they may still take, together.

    Attributes:
        replicas: There already; what two of them have counts once.
        slots: Device slots to come.
        pages: Device pages to come, by pool.
    """

    lanes: int
    replicas: int
    slots: int
    pages: tuple[int, ...]

    def joined(self, other: _Share) -> _Share:
        """Both."""
        pages = tuple([one + two for one, two in zip(self.pages, other.pages, strict=True)])
        return _Share(
            self.lanes + other.lanes,
            self.replicas | other.replicas,
            self.slots + other.slots,
            pages,
        )


def head_keeps_its_room(
    ledger: Ledger,
    options: ResolvedOptions,
    question: BackfillQuestion,
    borrower: CandidateProjector,
    post: PostState,
) -> bool:
    """Whether the head comes in at the same ends of its donors, if not before.

    Args:
        borrower: The candidate that would be admitted, with `post` as its end state: it keeps its
            lineage and what it borrows until its own end.
    """
    shares = _Shares(ledger, options)
    donors = [shares.of_donor(ledger.sequence(handle)) for handle in question.donors]
    without = shares.of_others(question)
    beside = without.joined(shares.of_borrower(question, borrower, post))
    root = shares.of_root(question.head)
    if not shares.fit(beside.joined(root)):
        return False
    return all(
        shares.fit(_all(beside, running).joined(root))
        or not shares.fit(_all(without, running).joined(root))
        for running in _subsets(donors)
    )


class _Shares:
    """Makes shares of one ledger."""

    def __init__(self, ledger: Ledger, options: ResolvedOptions) -> None:
        self._ledger = ledger
        self._options = options

    def fit(self, share: _Share) -> bool:
        """Whether there is as much on every axis that a root needs."""
        layout, capacity = self._ledger.layout, self._ledger.capacity
        slots = layout.device_images.count(share.replicas) + share.slots
        if share.lanes > self._ledger.lanes_count or slots > capacity.device_state_slots:
            return False
        return all(
            layout.device_pages[pool].count(share.replicas) + pages <= capacity.device_pages(pool)
            for pool, pages in zip(self._ledger.kv, share.pages, strict=True)
        )

    def of_donor(self, donor: ActiveSequence) -> _Share:
        """Until its end it has its guarantee, and the owner it leans on stays (ROLE-5)."""
        replicas: int = self._ledger.replicas_of(donor.holdings)
        source = donor.candidate.source
        owner = None if source is None else self._ledger.continuations.get(source.owner.id)
        if owner is not None:
            replicas |= self._ledger.replicas_of(owner.holdings)
        return _Share(1, replicas, 0, tuple([space.reserved_pages for space in donor.spaces]))

    def of_others(self, question: BackfillQuestion) -> _Share:
        """Earlier borrowers, with all that they may still take, and owners that they lean on."""
        donors = {handle.id for handle in question.donors}
        share = self._of_nobody()
        for sequence in self._ledger.sequences.values():
            if sequence.handle.id not in donors:
                share = share.joined(self._of_earlier(sequence))
        for ref in question.protected:
            owner = self._ledger.continuations.require(ref)
            kept = self._ledger.replicas_of(owner.holdings)
            share = share._replace(replicas=share.replicas | kept)
        return share

    def _of_nobody(self) -> _Share:
        return _Share(0, 0, 0, (0,) * len(self._ledger.kv))

    def _of_earlier(self, sequence: ActiveSequence) -> _Share:
        mapped = [space.pages_count for space in sequence.spaces]
        wanted = self._longest_pages(sequence.candidate.request)
        ahead = [c for c in sequence.captures if c.frontier_tokens > sequence.frontier_tokens]
        growing = _Share(
            1,
            self._ledger.replicas_of(sequence.holdings),
            0,
            tuple([max(0, all_ - there) for all_, there in zip(wanted, mapped, strict=True)]),
        )
        return growing.joined(self._of_captures(ahead))

    def of_borrower(
        self, question: BackfillQuestion, borrower: CandidateProjector, post: PostState
    ) -> _Share:
        """All it may ever take: growth to its longest answer, and checkpoints on its way."""
        request = question.borrower.target.candidate.request
        leased = self._longest_pages(request)
        granted = self._pages(entitled_tokens(request, self._options))
        destinations = [needs.destination_pages for needs in post.needs]
        share = _Share(
            1,
            borrower.replicas_held(post),
            post.destination_slots,
            tuple(
                [
                    held + longest - entitled
                    for held, longest, entitled in zip(destinations, leased, granted, strict=True)
                ]
            ),
        )
        return share.joined(self._of_captures(question.captures))

    def of_root(self, head: AdmissionRequest) -> _Share:
        """The head's guarantee, from root."""
        pages = self._pages(entitled_tokens(head, self._options))
        return _Share(1, 0, 1, pages)

    def _of_captures(self, captures: Iterable[PlannedCapture]) -> _Share:
        """A slot for the writer that goes on, and a copy of each tail."""
        share = self._of_nobody()
        for planned in captures:
            shapes = [
                snapshot_shape(self._options.coverage_tokens(pool, planned.frontier_tokens))
                for pool in self._ledger.kv
            ]
            share = share.joined(_Share(0, 0, 1, tuple([s.copied_pages for s in shapes])))
        return share

    def _longest_pages(self, request: AdmissionRequest) -> tuple[int, ...]:
        tokens = len(request.prompt.tokens) + request.max_output_tokens
        return self._pages(tokens)

    def _pages(self, tokens: int) -> tuple[int, ...]:
        """Of every pool, at a frontier."""
        return tuple(
            [pages_of_tokens(self._options.coverage_tokens(p, tokens)) for p in self._ledger.kv]
        )


def _subsets(donors: Sequence[_Share]) -> Iterator[tuple[_Share, ...]]:
    """Every set of donors that may still run when others have ended; there are 7 at the most."""
    for running_count in range(len(donors) + 1):
        yield from combinations(donors, running_count)


def _all(share: _Share, others: Iterable[_Share]) -> _Share:
    for other in others:
        share = share.joined(other)
    return share
