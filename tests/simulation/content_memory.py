"""What lies in every slot, page and granule of a machine without tensors.

An image is the exact token history it has consumed; a page is, cell by cell, the digest of the
history that wrote the cell. A place that nobody has written, that a copy is on its way into, or
that a failed copy was on its way into, holds nothing that may be read, as NaN in real memory. While
a transfer is in flight nobody may write what it reads or touch what it writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ninfer_lab.contract.capacity import Axis, Capacity, KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import HostGranuleId, HostSlotId, PageId, StateSlotId
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.token_span import DIGEST_BYTES, TOKEN_BYTES, TokenSpan
from ninfer_lab.contract.transfer import PageTransfer, StateTransfer, Transfer

NEVER = b"never written"
"""A cell of a page that somebody wrote elsewhere."""


@dataclass(frozen=True, slots=True)
class Consumed:
    """Tokens a state has consumed, and the digest of the history after each of them."""

    tokens: tuple[int, ...] = ()
    digests: tuple[bytes, ...] = ()
    hasher: hashlib.blake2b = field(
        default_factory=lambda: hashlib.blake2b(digest_size=DIGEST_BYTES), compare=False, repr=False
    )

    def then(self, token_ids: Iterable[int]) -> Consumed:
        """The state after some more tokens."""
        span, hasher, digests = TokenSpan(token_ids), self.hasher.copy(), []
        for position in range(len(span)):
            hasher.update(span.to_bytes()[position * TOKEN_BYTES : (position + 1) * TOKEN_BYTES])
            digests.append(hasher.copy().digest())
        return Consumed((*self.tokens, *span), (*self.digests, *digests), hasher)


Cells = tuple[bytes, ...]
"""One whole page."""


class Place(NamedTuple):
    """One slot, page or granule."""

    axis: Axis
    number: int

    def __str__(self) -> str:
        return f"number {self.number} of the {self.axis.value}"


@dataclass(frozen=True, slots=True)
class Undefined:
    """What may not be read."""

    why: str


@dataclass(frozen=True, slots=True)
class Stored:
    """One granule of a page's Host replica. All parts of one writing share `cells`."""

    pool: KvPool
    part: int
    cells: Cells


@dataclass(frozen=True, slots=True)
class _Copy:
    """One image or page on its way."""

    sources: tuple[Place, ...]
    destinations: tuple[Place, ...]
    contents: tuple[object, ...]


UNWRITTEN = Undefined("was never written")
IN_FLIGHT = Undefined("is still being copied into")
FAILED = Undefined("was being copied into when a copy failed")


class ContentMemory:
    """Both tiers of one machine."""

    def __init__(self, capacity: Capacity) -> None:
        self._arena = capacity.host_kv
        self._held: dict[Axis, list[object]] = {
            axis: [UNWRITTEN] * capacity.of(axis) for axis in Axis if axis is not Axis.HOST_KV
        }
        self._held[Axis.HOST_KV] = [UNWRITTEN] * self._arena.granules_count
        self._flight: tuple[_Copy, ...] = ()
        self._read_by_flight: frozenset[Place] = frozenset()
        self._written_by_flight: frozenset[Place] = frozenset()

    # ── reading and writing ─────────────────────────────────────────────────────────────────────

    def image(self, slot: StateSlotId) -> Consumed:
        """A Device image."""
        return self._image(Place(Axis.DEVICE_STATE, slot))

    def host_image(self, slot: HostSlotId) -> Consumed:
        """A Host image."""
        return self._image(Place(Axis.HOST_STATE, slot))

    def put_image(self, slot: StateSlotId, image: Consumed) -> None:
        """A forward has written a state."""
        self._write(Place(Axis.DEVICE_STATE, slot), image)

    def put_host_image(self, slot: HostSlotId, image: Consumed) -> None:
        """A saved session has come in."""
        self._write(Place(Axis.HOST_STATE, slot), image)

    def page(self, pool: KvPool, page: PageId) -> Cells:
        """A Device page."""
        cells = self._read(Place(Axis.of_device_pool(pool), page))
        assert isinstance(cells, tuple)
        return cells

    def put_page(self, pool: KvPool, page: PageId, cells: Cells) -> None:
        """A copy within the Device has written a page."""
        self._write(Place(Axis.of_device_pool(pool), page), cells)

    def put_cells(self, pool: KvPool, page: PageId, start: int, digests: Sequence[bytes]) -> None:
        """A forward has written cells `[start, start + len(digests))` of a page."""
        place = Place(Axis.of_device_pool(pool), page)
        held = self._at(place)
        cells = held if isinstance(held, tuple) else (NEVER,) * PAGE_TOKENS
        self._write(place, (*cells[:start], *digests, *cells[start + len(digests) :]))

    def host_page(self, pool: KvPool, granule: HostGranuleId) -> Cells:
        """A page's Host replica, which must be whole."""
        parts = [self._read(place) for place in self._extent(pool, granule)]
        first = parts[0]
        assert isinstance(first, Stored)
        if parts != [Stored(pool, part, first.cells) for part in range(len(parts))]:
            raise InvariantBroken(
                "CONTENT host KV", f"granule {granule} does not begin a whole {pool.value} page"
            )
        return first.cells

    def _image(self, place: Place) -> Consumed:
        image = self._read(place)
        assert isinstance(image, Consumed)
        return image

    def _read(self, place: Place) -> object:
        held = self._at(place)
        if isinstance(held, Undefined):
            raise InvariantBroken("CONTENT undefined", f"{place} is read, and {held.why}")
        return held

    def _write(self, place: Place, content: object) -> None:
        if place in self._read_by_flight or place in self._written_by_flight:
            raise InvariantBroken(
                "CONTENT transfer",
                f"{place} is written, and a transfer in flight needs it",
            )
        self._at(place)
        self._held[place.axis][place.number] = content

    def _at(self, place: Place) -> object:
        places = self._held[place.axis]
        if not 0 <= place.number < len(places):
            raise InvariantBroken("CONTENT place", f"{place}, and there are {len(places)}")
        return places[place.number]

    def _extent(self, pool: KvPool, granule: HostGranuleId) -> tuple[Place, ...]:
        granules = self._arena.page_granules(pool)
        return tuple(Place(Axis.HOST_KV, granule + part) for part in range(granules))

    # ── a transfer ──────────────────────────────────────────────────────────────────────────────

    def begin(self, transfer: Transfer) -> None:
        """Copies are on their way: what they read stays, what they write is undefined.

        Raises:
            InvariantBroken: A source is undefined, or a destination is named twice or read, too.
        """
        assert not self._flight
        flight = (
            *(self._state_copy(transfer.direction, state) for state in transfer.states),
            *(self._page_copy(transfer.direction, page) for page in transfer.pages),
        )
        written = [place for copy in flight for place in copy.destinations]
        read = {place for copy in flight for place in copy.sources}
        if len(set(written)) < len(written) or read & set(written):
            raise InvariantBroken("CONTENT transfer", f"destinations meet in {transfer}")
        self._settle(written, [IN_FLIGHT] * len(written))
        self._flight = flight
        self._read_by_flight, self._written_by_flight = frozenset(read), frozenset(written)

    def end(self) -> None:
        """Every copy has arrived."""
        for copy in self._landed():
            self._settle(copy.destinations, copy.contents)

    def fail(self) -> None:
        """Nobody knows what has arrived."""
        for copy in self._landed():
            self._settle(copy.destinations, [FAILED] * len(copy.destinations))

    def _landed(self) -> tuple[_Copy, ...]:
        flight, self._flight = self._flight, ()
        self._read_by_flight = self._written_by_flight = frozenset()
        return flight

    def _settle(self, places: Sequence[Place], contents: Sequence[object]) -> None:
        for place, content in zip(places, contents, strict=True):
            self._write(place, content)

    def _state_copy(self, direction: TransferDirection, state: StateTransfer) -> _Copy:
        on_device = Place(Axis.DEVICE_STATE, state.device_slot)
        on_host = Place(Axis.HOST_STATE, state.host_slot)
        demotes = direction is TransferDirection.D2H
        source, destination = (on_device, on_host) if demotes else (on_host, on_device)
        return _Copy((source,), (destination,), (self._read(source),))

    def _page_copy(self, direction: TransferDirection, page: PageTransfer) -> _Copy:
        on_device = (Place(Axis.of_device_pool(page.pool), page.device_page),)
        on_host = self._extent(page.pool, page.host_granule)
        if direction is TransferDirection.D2H:
            cells = self.page(page.pool, page.device_page)
            parts = tuple(Stored(page.pool, part, cells) for part in range(len(on_host)))
            return _Copy(on_device, on_host, parts)
        return _Copy(on_host, on_device, (self.host_page(page.pool, page.host_granule),))
