"""What is copied between Device and Host, place by place?

Owns the value that crosses from Program to a machine: whole StateImages and whole pages, each from
one place to another. Does not know whose they are, nor what the copies cost; it counts bytes and
calls (COST-3).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

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

    def operation_count(self, page_granules: dict[KvPool, int]) -> int:
        """Copy calls: an image's components, and one per run of pages that lie one behind the
        other on both sides.
        """
        return STATE_IMAGE_COPIES_COUNT * len(self.states) + page_runs_count(
            tuple((p.pool, p.device_page, p.host_granule) for p in self.pages), page_granules
        )


def page_runs_count(
    places: tuple[tuple[KvPool, int, int], ...], page_granules: dict[KvPool, int]
) -> int:
    """Runs of (pool, Device page, Host granule) that one call can carry, in the order given."""
    breaks = sum(
        1
        for (pool, page, granule), (next_pool, next_page, next_granule) in pairwise(places)
        if (next_pool, next_page, next_granule) != (pool, page + 1, granule + page_granules[pool])
    )
    return breaks + 1 if places else 0
