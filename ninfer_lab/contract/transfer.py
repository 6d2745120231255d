"""What is copied between Device and Host, place by place?

Owns the value that crosses from Program to a machine: whole StateImages and whole pages, each from
one place to another. Does not know whose they are, nor what the copies cost; it counts bytes and
calls (COST-3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import HostGranuleId, HostSlotId, PageId, StateSlotId
from ninfer_lab.contract.machine_work import TransferDirection

STATE_IMAGE_COPIES_COUNT = 2
"""Copy calls of one StateImage: its convolution history and its recurrent state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTransfer:
    """One whole image, between a Device and a Host slot."""

    device_slot: StateSlotId
    host_slot: HostSlotId


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTransfer:
    """One whole page, between the Device and the Host arena."""

    pool: KvPool
    device_page: PageId
    host_granule: HostGranuleId


class PageRun(NamedTuple):
    """Pages that lie one behind the other on both sides, so that one call carries them all.

    Attributes:
        device_page: The first.
        host_granule: Where the first begins.
    """

    pool: KvPool
    device_page: PageId
    host_granule: HostGranuleId
    pages_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Copies of one direction, issued together; all end before any of them is used.

    Attributes:
        direction: D2H or H2D.
    """

    direction: TransferDirection
    states: tuple[StateTransfer, ...]
    pages: tuple[PageTransfer, ...]

    def __post_init__(self) -> None:
        assert self.direction is not TransferDirection.D2D

    @property
    def is_empty(self) -> bool:
        """Nothing to copy."""
        return not self.states and not self.pages

    def page_runs(self, page_granules: Mapping[KvPool, int]) -> tuple[PageRun, ...]:
        """The pages as calls carry them, in the order given.

        Args:
            page_granules: What a page of each pool takes in the Host arena.
        """
        runs: list[PageRun] = []
        before: _Place | None = None
        for page in self.pages:
            place = (page.pool, page.device_page, page.host_granule)
            if before is not None and _follows(before, place, page_granules):
                runs[-1] = runs[-1]._replace(pages_count=runs[-1].pages_count + 1)
            else:
                runs.append(PageRun(page.pool, page.device_page, page.host_granule, 1))
            before = place
        return tuple(runs)

    def operation_count(self, page_granules: Mapping[KvPool, int]) -> int:
        """Copy calls: an image's components, and one per run of pages that lie one behind the
        other on both sides.
        """
        return STATE_IMAGE_COPIES_COUNT * len(self.states) + page_runs_count(
            tuple((p.pool, p.device_page, p.host_granule) for p in self.pages), page_granules
        )


_Place = tuple[KvPool, int, int]
"""(pool, Device page, Host granule)."""


def page_runs_count(places: tuple[_Place, ...], page_granules: Mapping[KvPool, int]) -> int:
    """Runs of (pool, Device page, Host granule) that one call can carry, in the order given.

    `Transfer.page_runs` without making them: a planner counts far more often than it copies.
    """
    breaks = sum(
        1 for before, place in pairwise(places) if not _follows(before, place, page_granules)
    )
    return breaks + 1 if places else 0


def _follows(before: _Place, place: _Place, page_granules: Mapping[KvPool, int]) -> bool:
    """Whether a page lies right behind another on both sides."""
    pool, page, granule = before
    return place == (pool, page + 1, granule + page_granules[pool])
