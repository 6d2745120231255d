"""Which outcomes has an inactive owner, and which of them lie below which? (TGT-5)

Owns one owner's outcomes, each an absolute value met once and numbered; 0 is staying as it is. A
step drops a redundant replica, moves Device contents to the Host, as many pages as are missing or
by halves, ends a checkpoint (and with it the coverage that only it needed), or evicts. Steps never
bring anything back, so the numbers form a graph without cycles. Knows no other owner, no price and
no candidate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import CheckpointId, CheckpointRef, KvPageId
from ninfer_lab.contract.planning import STAYS, DegradationStep, OutcomeFacts
from ninfer_lab.contract.replicas import NOTHING, ReplicaSet
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.storage.bitset import mask_of, ordinals_of
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord, holdings_of
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.replica_layout import Holdings


class _Node(NamedTuple):
    outcome: OwnerOutcome
    surviving: tuple[CheckpointRecord, ...]
    facts: OutcomeFacts


class OwnerDomain:
    """Grows as it is asked; the numbers given out stay.

    Args:
        missing_pages: Device pages that are missing somewhere, by pool: as many may leave together.

    Attributes:
        marks: Replicas of anything the owner refers to, in both tiers.
        evicted: The number of its end.
    """

    def __init__(
        self,
        ledger: Ledger,
        owner: Continuation,
        missing_pages: Mapping[KvPool, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        self._ledger = ledger
        self._missing_pages = missing_pages
        self._layout = ledger.layout
        self.owner = owner
        stays = OwnerOutcome(
            owner=owner.ref, deleted=frozenset(), keeps=ledger.replicas_of(owner.holdings)
        )
        self._nodes = [_Node(stays, owner.checkpoints, OutcomeFacts(frozenset(), False, 0))]
        self._numbers = {(stays.deleted, stays.keeps): STAYS}
        self.marks = self._layout.on_device(owner.holdings) | self._layout.on_host(owner.holdings)
        self._below: dict[int, tuple[int, ...]] = {}
        self._steps_from: dict[int, tuple[DegradationStep, ...]] = {}
        self._given_up: dict[tuple[int, int], int] = {}
        self._above: dict[int, set[int]] = {STAYS: set()}
        self._orders: dict[tuple[KvPool, tuple[CheckpointId, ...]], tuple[KvPageId, ...]] = {}
        self.evicted = self._number(owner.checkpoint_refs, NOTHING, (), STAYS)

    def outcome(self, number: int) -> OwnerOutcome:
        return self._nodes[number].outcome

    def surviving(self, number: int) -> tuple[CheckpointRecord, ...]:
        """Checkpoints that are left, ascending."""
        return self._nodes[number].surviving

    def facts(self, number: int) -> OutcomeFacts:
        """What logical policy may know of it."""
        return self._nodes[number].facts

    def below(self, number: int) -> tuple[int, ...]:
        """One step down, in the order of the steps."""
        known = self._below.get(number)
        if known is None:
            found = [] if number == self.evicted else [*self._lower(number)]
            known = self._below[number] = tuple(dict.fromkeys(found))
        return known

    def steps(self, owner: int, number: int) -> tuple[DegradationStep, ...]:
        """The same as steps of a session's owner."""
        known = self._steps_from.get(number)
        if known is None:
            known = tuple(
                DegradationStep(owner, number, lower, self.facts(lower))
                for lower in self.below(number)
            )
            self._steps_from[number] = known
        return known

    def given_up(self, before: int, after: int) -> int:
        """Replicas that the one outcome keeps and the other does not."""
        known = self._given_up.get((before, after))
        if known is None:
            known = self._nodes[before].outcome.keeps & ~self._nodes[after].outcome.keeps
            self._given_up[before, after] = known
        return known

    def above(self, number: int) -> tuple[int, ...]:
        """Every outcome met so far that this one was reached from, least degraded first."""
        seen: set[int] = set()
        waiting = [number]
        while waiting:
            for higher in self._above[waiting.pop()] - seen:
                seen.add(higher)
                waiting.append(higher)
        return tuple(sorted(seen, key=lambda n: (self._nodes[n].facts.steps_count, n)))

    def off_device(self) -> int:
        """Every checkpoint kept, and nothing on the Device that the Host can carry."""
        number = STAYS
        while True:
            node = self._nodes[number]
            lower = [n for n in self.below(number) if not self._nodes[n].outcome.deleted]
            leaving = [n for n in lower if self._device_count(n) < self._device_count(number)]
            if not leaving:
                return number
            number = min(leaving, key=lambda n: (self._device_count(n), n))
            assert self._nodes[number].surviving == node.surviving

    def _device_count(self, number: int) -> int:
        keeps = self._nodes[number].outcome.keeps
        contents = self._layout.on_device(self.owner.holdings)
        return (keeps & contents).bit_count()

    # ── the steps ───────────────────────────────────────────────────────────────────────────────

    def _lower(self, number: int) -> Iterator[int]:
        """Endings of checkpoints, relief of replicas, and last the owner's own end."""
        node = self._nodes[number]
        deleted, keeps = node.outcome.deleted, node.outcome.keeps
        for relieved in self._relieved(node):
            if relieved != keeps:
                yield self._number(deleted, relieved, node.surviving, number)
        if len(node.surviving) > 1:
            for ended in node.surviving:
                left = tuple(c for c in node.surviving if c is not ended)
                refs: frozenset[CheckpointRef] = deleted | {ended.summary.ref}
                yield self._number(refs, self._limited(left, keeps), left, number)
        self._link(number, self.evicted)
        yield self.evicted

    def _relieved(self, node: _Node) -> Iterator[ReplicaSet]:
        """Redundant Device replicas, redundant Host ones, each image to the Host, then the pages of
        a pool, later ones first: as many as are missing, half of what is left on the Device, all of
        it. What has given a Host replica up does not get it back.
        """
        layout, keeps = self._layout, node.outcome.keeps
        held = holdings_of(node.surviving)
        device = layout.contents(keeps & layout.on_device(held))
        host = layout.contents(keeps & layout.on_host(held))
        both = Holdings(*(d & h for d, h in zip(device, host, strict=True)))
        yield self._without_device(keeps, both)
        yield self._without_host(keeps, both)
        if self._ledger.capacity.host_state_slots:
            for image in ordinals_of(device.images & ~self._ledger.states.on_host):
                yield self._demoted(keeps, Holdings(images=1 << image))
        for pool, store in self._ledger.kv.items():
            lone = device.of_pool(pool) & ~store.on_host
            if not lone or not store.page_granules or not self._ledger.arena.granules_count:
                continue
            made_count = (host.of_pool(pool) & ~store.on_host).bit_count()
            for pages in self._leaving(node, pool, lone, made_count):
                moved = (
                    Holdings(pages=pages) if pool is KvPool.MAIN else Holdings(backend_pages=pages)
                )
                yield self._demoted(keeps, moved)

    def _leaving(self, node: _Node, pool: KvPool, lone: int, made_count: int) -> Iterator[int]:
        """Sets of pages that may leave together, from those that the Device alone has.

        What is missing leaves at once or not at all, and what is left behind it as a whole: an
        amount that is taken twice is nobody's need.

        Args:
            lone: On the Device alone.
            made_count: Pages that have left already.
        """
        missing = self._missing_pages.get(pool, ())
        ordered = [page for page in self._in_order(node, pool) if lone >> page & 1]
        counts = [len(ordered)]
        if made_count not in missing:
            counts.insert(0, len(ordered) - len(ordered) // 2)
        if not made_count:
            counts = [*(count for count in missing if count < len(ordered)), *counts]
        for count in dict.fromkeys(counts):
            yield mask_of(ordered[len(ordered) - count :])

    def _in_order(self, node: _Node, pool: KvPool) -> tuple[KvPageId, ...]:
        """Every page of the checkpoints that are left, by its first place in any of them."""
        ids = tuple([checkpoint.summary.ref.id for checkpoint in node.surviving])
        known = self._orders.get((pool, ids))
        if known is None:
            spaces = [checkpoint.pages_of(pool) for checkpoint in node.surviving]
            known = self._orders[pool, ids] = tuple(dict.fromkeys(chain(*spaces)))
        return known

    def _without_device(self, keeps: ReplicaSet, contents: Holdings) -> ReplicaSet:
        return ReplicaSet(keeps & ~self._layout.on_device(contents))

    def _without_host(self, keeps: ReplicaSet, contents: Holdings) -> ReplicaSet:
        granules = self._ledger.replicas_of(contents) & self._layout.granules.mask
        return ReplicaSet(keeps & ~self._layout.on_host(contents) & ~granules)

    def _demoted(self, keeps: ReplicaSet, contents: Holdings) -> ReplicaSet:
        moved = keeps & ~self._layout.on_device(contents) | self._layout.on_host(contents)
        return ReplicaSet(moved)

    def _limited(self, left: tuple[CheckpointRecord, ...], keeps: ReplicaSet) -> ReplicaSet:
        """What still serves the checkpoints that are left; granules go with their pages."""
        layout, holdings = self._layout, holdings_of(left)
        marks = keeps & (layout.on_device(holdings) | layout.on_host(holdings))
        granules = self._ledger.replicas_of(holdings) & layout.granules.mask & keeps
        return ReplicaSet(marks | granules)

    # ── numbering ───────────────────────────────────────────────────────────────────────────────

    def _number(
        self,
        deleted: frozenset[CheckpointRef],
        keeps: ReplicaSet,
        surviving: tuple[CheckpointRecord, ...],
        reached_from: int,
    ) -> int:
        """The outcome's number, given out when it is first met."""
        number = self._numbers.get((deleted, keeps))
        if number is None:
            number = self._numbers[deleted, keeps] = len(self._nodes)
            outcome = OwnerOutcome(owner=self.owner.ref, deleted=deleted, keeps=keeps)
            steps = self._nodes[reached_from].facts.steps_count + 1
            facts = OutcomeFacts(deleted, not surviving, steps)
            self._nodes.append(_Node(outcome, surviving, facts))
        self._link(reached_from, number)
        return number

    def _link(self, higher: int, lower: int) -> None:
        self._above.setdefault(lower, set()).add(higher)
