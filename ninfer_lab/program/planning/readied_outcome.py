"""What does one owner's outcome bring into any target it is part of?

Owns what can be told of an outcome before anything is known of the others: what it holds until its
copies are published, what it has made, how much that counts where nobody else keeps any of it, and
the runs its pages take in the arena then. Readied once for a revision, since a planner meets every
outcome in very many targets. Pure. Does not know a candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import NamedTuple

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.replicas import ReplicaSet
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.planning.stage_order import NONE, Counts, StageOrder, total
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.replica_layout import Holdings

READIED_OUTCOMES = 65_536
"""Remembered at one revision; a planner's arena of targets has met fewer by far."""


class ArenaRun(NamedTuple):
    """Pages of one pool that want to lie in the arena side by side.

    Attributes:
        pages: Logical pages, as a set.
    """

    pool: KvPool
    run_granules: int
    pages: int


class ReadiedOutcome(NamedTuple):
    """One outcome.

    Attributes:
        keeps: Replicas kept, and those made.
        moved: What comes or goes of that if the owner does not stay as it is.
        made: Host replicas among them that are not there yet.
        copied: Device replicas that stay until copies of them are published, and no longer.
        is_shared: Whether anybody else refers to any of the contents. If nobody does, the rest
            holds in every target.
        held_units: Of what is there of it at RELEASED.
        units: Of `keeps`, with the granules that what is made will lie on.
        places: What that takes.
        runs: Of `made`.
    """

    owner: OwnerId
    keeps: int
    moved: int
    made: int
    copied: int
    is_shared: bool
    held_units: Counts
    units: Counts
    places: Counts
    runs: tuple[ArenaRun, ...]

    @property
    def held(self) -> int:
        """What is there of it at RELEASED."""
        return self.keeps ^ self.made ^ self.copied


readied_of = partial(tuple.__new__, ReadiedOutcome)
"""One from the tuple of all its fields: a call less than by the class itself."""


class ReadiedOutcomes:
    """The outcomes met at one revision."""

    def __init__(
        self, ledger: Ledger, order: StageOrder, kept_by_owner: Mapping[OwnerId, ReplicaSet]
    ) -> None:
        self._ledger = ledger
        self._order = order
        self._kept_by_owner = kept_by_owner
        self._present = ledger.present
        self._absent = ledger.layout.everything ^ self._present
        self._known: dict[int, tuple[OwnerOutcome, ReadiedOutcome]] = {}

    def of(self, outcome: OwnerOutcome) -> ReadiedOutcome:
        """Made when the value is first met; it is kept, so that its identity stays its own."""
        try:
            return self._known[id(outcome)][1]
        except KeyError:
            if len(self._known) >= READIED_OUTCOMES:
                self._known.clear()
            readied = self.made(outcome.owner.id, outcome.keeps)
            self._known[id(outcome)] = outcome, readied
            return readied

    def made(self, owner: OwnerId, keeps: int) -> ReadiedOutcome:
        """Of what an owner keeps, not remembered."""
        order = self._order
        made, copied, places = keeps & self._absent, 0, NONE
        units = held_units = order.units(keeps)
        if made:
            copied = self._ledger.layout.under_host(made) & self._present & ~keeps
            held_units = order.units(keeps ^ made ^ copied)
            places = order.places(made)
            units = self.units(keeps)
        return ReadiedOutcome(
            owner=owner,
            keeps=keeps,
            moved=keeps ^ self._kept_by_owner[owner],
            made=made,
            copied=copied,
            is_shared=keeps & self.shared != 0,
            held_units=held_units,
            units=units,
            places=places,
            runs=self.runs(made) if made else (),
        )

    def units(self, keeps: int) -> Counts:
        """Of some replicas, with the granules that those to be made will lie on."""
        extent_bytes = self._order.places(keeps & self._absent)[4]
        return total(self._order.units(keeps), (0, 0, 0, 0, extent_bytes))

    def runs(self, made: int) -> tuple[ArenaRun, ...]:
        """Of Host replicas that one owner has made."""
        layout, host_kv = self._ledger.layout, self._ledger.capacity.host_kv
        runs = []
        for pool in self._ledger.kv:
            pages = layout.host_pages[pool].of(made)
            if pages:
                granules = pages.bit_count() * host_kv.page_granules(pool)
                runs.append(ArenaRun(pool, granules, pages))
        return tuple(runs)

    @cached_property
    def shared(self) -> int:
        """Replicas, there or yet to be made, of what more than one owner or sequence refers to."""
        met = twice = Holdings()
        for held in self._ledger.holders():
            twice = twice.joined(met.common(held))
            met = met.joined(held)
        return self._ledger.layout.anywhere(twice) | self._ledger.replicas_of(twice)
