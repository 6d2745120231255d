"""What lies in one place of a machine, as bytes?

Owns the half of the machine that only sessions on their way to and from a file ask for (PER-2,
PER-3): reading whole replicas, and writing them where nobody reads yet. Does not know whose they
are. A machine without tensors keeps no contents: its replicas are empty, and its signature says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import HostGranuleId, HostSlotId, LaneId, PageId, StateSlotId


class DeviceImage(NamedTuple):
    """A StateImage in a Device slot."""

    slot: StateSlotId


class HostImage(NamedTuple):
    """A StateImage in a Host slot."""

    slot: HostSlotId


class DevicePage(NamedTuple):
    """A page on the Device."""

    pool: KvPool
    page: PageId


class HostPage(NamedTuple):
    """A page in the Host arena, from its granule on."""

    pool: KvPool
    granule: HostGranuleId


ImagePlace = DeviceImage | HostImage
PagePlace = DevicePage | HostPage


class ContentsApi(Protocol):
    """Whole replicas, on the side of the machine. Nothing is in flight while it is asked."""

    @property
    def contents_signature(self) -> str:
        """Names what the bytes mean: equal only where one machine may read what another wrote,
        hence for the same weights, layout and element type.
        """
        ...

    def content_bytes(self, pool: KvPool | None) -> int:
        """Size of one page of a pool, or of a StateImage (`None`)."""
        ...

    def read_image(self, place: ImagePlace) -> bytes:
        """One whole StateImage. Reads only."""
        ...

    def read_page(self, place: PagePlace, cells_count: int) -> bytes:
        """One whole page. Reads only.

        Args:
            cells_count: Tokens from its start that are asked for; what lies behind them, which may
                be another request's, reads as zero.
        """
        ...

    def write_image(self, place: ImagePlace, content: bytes) -> None:
        """Fills a slot that is held for it.

        Raises:
            Exception: The machine's own; what the slot holds is undefined then.
        """
        ...

    def write_row(self, lane: LaneId, pool: KvPool, pages: Sequence[bytes]) -> None:
        """Fills the pages that a lane is bound to, in order, one content for each.

        Raises:
            Exception: As `write_image`.
        """
        ...
