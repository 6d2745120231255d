"""What will an admission have left behind, replica by replica and stage by stage?

Owns the value that projection derives and the transaction carries out, so that what was proved is
what is done. A bare tuple of sets: a planner makes thousands of them. Does not know how it came
about, nor what it is worth.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import HostGranuleId
from ninfer_lab.contract.target import StateTransition


class Extent(NamedTuple):
    """A run of the Host arena for pages of one owner and pool, in the order of their ids.

    Attributes:
        first: `None` where no hole is large enough.
        pages: The logical pages, as a set.
    """

    pool: KvPool
    first: HostGranuleId | None
    run_granules: int
    pages: int


class PoolNeeds(NamedTuple):
    """What the new writer needs of one pool's Device pages.

    Attributes:
        immutable_pages: Leading pages of the address space that are frozen: the source's full ones.
        restored: Logical pages of the source that get a Device replica back, as a set.
        copied_tail_pages: 1 if the partial tail needs a copy.
        growth_pages: Reserved until completion (ACT-1), or for the lease (ACT-4).
    """

    immutable_pages: int
    restored: int
    copied_tail_pages: int
    growth_pages: int

    @property
    def destination_pages(self) -> int:
        """Device pages that must be found."""
        return self.restored.bit_count() + self.copied_tail_pages + self.growth_pages


class PostState(NamedTuple):
    """The complete end state of one target, and the stages towards it.

    Its sets are `ReplicaSet`s under the name of what they are made of: naming each anew in every
    target would cost as much as joining it. The stages are told by what comes and goes between
    them: where nothing of the source is touched, that is the same in all targets of a candidate.

    Attributes:
        state: Move, Fork, Restore or Root, by the references that survive (STATE-3).
        now: Replicas at NOW.
        demoted: Replicas at DEMOTED, without the granules of new extents.
        pending: Host replicas among them that demotion makes (their granules are in `extents`).
        copied: Device replicas that go once copies of them are published.
        leaving: The tail end of a consumed lineage, on which destinations come.
        extents: In the order in which they are placed.
        needs: Of every pool there is, Main first.
        stale: What goes once the sequence writes; restored and new Device places come.
        snapshot_slots: Host slots for a copy of an active image; no mark is among the sets.
    """

    state: StateTransition
    now: int
    demoted: int
    pending: int
    copied: int
    leaving: int
    extents: tuple[Extent, ...]
    needs: tuple[PoolNeeds, ...]
    stale: int
    snapshot_slots: int = 0

    @property
    def released(self) -> int:
        """Replicas at RELEASED. Those to be demoted are still on the Device alone."""
        return self.demoted ^ self.pending ^ self.copied

    @property
    def destined(self) -> int:
        """Replicas at DESTINATIONS_RESERVED."""
        return self.demoted ^ self.leaving

    @property
    def committed(self) -> int:
        """What is left of them at the commit."""
        return self.demoted ^ self.leaving ^ self.stale

    @property
    def destination_slots(self) -> int:
        """Device slots that must be found for the active image."""
        return 0 if self.state is StateTransition.MOVE else 1

    @property
    def is_placed(self) -> bool:
        """Whether every extent has found a hole."""
        for extent in self.extents:  # noqa: SIM110  (a planner asks for every target)
            if extent.first is None:
                return False
        return True

    @property
    def copied_tail_pages(self) -> int:
        """Partial tails to copy, over all pools."""
        return sum([needs.copied_tail_pages for needs in self.needs])


post_state_of = partial(tuple.__new__, PostState)
"""A post-state from the tuple of all its fields: a planner makes so many that a call of a call is
felt.
"""
