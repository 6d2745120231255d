"""How does a saved continuation become an inactive owner? (PER-1, PER-3)

Owns the way in: only into places that are free, through the row of a free lane, and published when
everything lies where it belongs. It takes nothing from anybody: what does not fit beside what is
there is dropped, down to the endpoint, which is required. Does not know sessions, nor files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.contents import DeviceImage, HostImage
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    HostSlotId,
    LaneId,
    OwnerRef,
    PageId,
    StateImageId,
    StateSlotId,
)
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions, pages_of_tokens
from ninfer_lab.contract.session_snapshot import SavedCheckpoint, SessionError, SessionSnapshot
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Where the parts of a snapshot will lie, by their ordinals.

    Attributes:
        kept: The checkpoints that fit, ascending.
    """

    kept: tuple[SavedCheckpoint, ...]
    device_slots: dict[int, StateSlotId]
    host_slots: dict[int, HostSlotId]
    pages: dict[KvPool, dict[int, PageId]]


def require_fitting(saved: SessionSnapshot, machine: MachineApi, options: ResolvedOptions) -> None:
    """Refuses what another machine wrote, or what is no address space here.

    Raises:
        SessionError: Naming the part.
    """
    if saved.signature != machine.contents_signature:
        raise SessionError(
            "session.signature",
            found=saved.signature,
            legal=f"{machine.contents_signature}: what this engine serves",
        )
    sizes = {"images": (None, saved.images)} | {
        f"{pool.value}_pages": (pool, saved.contents_of(pool)) for pool in options.capacity.pools
    }
    for what, (pool, contents) in sizes.items():
        legal_bytes = machine.content_bytes(pool)
        for content in contents:
            if len(content) != legal_bytes:
                raise SessionError(
                    f"session.{what}", found=f"{len(content)} bytes", legal=f"{legal_bytes} each"
                )
    for pool in KvPool:
        _require_nested(saved, pool, options)


def _require_nested(saved: SessionSnapshot, pool: KvPool, options: ResolvedOptions) -> None:
    """Every checkpoint covers a prefix of one address space (OWN-3)."""
    endpoint = saved.checkpoints[-1].pages_of(pool)
    for each in saved.checkpoints:
        has_pool = pool in options.capacity.pools
        tokens = options.coverage_tokens(pool, each.frontier_tokens) if has_pool else 0
        held, full = each.pages_of(pool), tokens // PAGE_TOKENS
        if len(held) != pages_of_tokens(tokens) or held[:full] != endpoint[:full]:
            raise SessionError(
                f"session.checkpoints, {each.kind.value}@{each.frontier_tokens}",
                found=f"{pool.value} pages {held}",
                legal=f"{pages_of_tokens(tokens)} pages, the full ones the endpoint's own",
            )


def fitting_room(saved: SessionSnapshot, ledger: Ledger) -> Room:
    """Takes places for the endpoint, then for as many of the others as there are, deepest first.

    Raises:
        SessionError: None for the endpoint; nothing is taken then.
    """
    states = ledger.states
    free_slots = states.device_places.free_count, states.host_places.free_count
    free_pages = {pool: ledger.free_pages(pool) for pool in ledger.kv}
    kept: list[SavedCheckpoint] = []
    images: set[int] = set()
    pages: dict[KvPool, set[int]] = {pool: set() for pool in ledger.kv}
    for each in reversed(saved.checkpoints):
        more = {pool: pages[pool].union(each.pages_of(pool)) for pool in ledger.kv}
        fits = len(images | {each.image}) <= sum(free_slots) and all(
            len(more[pool]) <= free_pages[pool] for pool in ledger.kv
        )
        if fits:
            kept.insert(0, each)
            images.add(each.image)
            pages = more
        elif each is saved.checkpoints[-1]:
            free = ", ".join(f"{count} {pool.value} pages" for pool, count in free_pages.items())
            wanted = ", ".join(f"{len(some)} {pool.value} pages" for pool, some in more.items())
            raise SessionError(
                "session",
                found=f"{sum(free_slots)} free state slots, {free} on the Device",
                legal=f"1 slot, {wanted} for its endpoint; end or release something first",
            )
    return _taken(kept, pages, ledger)


def _taken(kept: list[SavedCheckpoint], pages: dict[KvPool, set[int]], ledger: Ledger) -> Room:
    states = ledger.states
    device_slots: dict[int, StateSlotId] = {}
    host_slots: dict[int, HostSlotId] = {}
    for each in reversed(kept):  # the endpoint has the first choice
        if states.device_places.free_count:
            (device_slots[each.image],) = states.device_places.take(1)
        else:
            (host_slots[each.image],) = states.host_places.take(1)
    places = {
        pool: dict(zip(sorted(some), ledger.kv[pool].device_places.take(len(some)), strict=True))
        for pool, some in pages.items()
    }
    return Room(kept=tuple(kept), device_slots=device_slots, host_slots=host_slots, pages=places)


def fill(saved: SessionSnapshot, room: Room, ledger: Ledger, machine: MachineApi) -> None:
    """Writes everything where it will lie.

    Raises:
        SessionError: No lane is free.
        Exception: The machine's own. Either way no place is taken any more.
    """
    with _given_back_on_failure(room, ledger):
        for image, slot in room.device_slots.items():
            machine.write_image(DeviceImage(slot), saved.images[image])
        for image, host_slot in room.host_slots.items():
            machine.write_image(HostImage(host_slot), saved.images[image])
        with _free_row(room, ledger, machine) as lane:
            for pool, places in room.pages.items():
                contents = saved.contents_of(pool)
                machine.write_row(lane, pool, [contents[ordinal] for ordinal in places])


@contextmanager
def _free_row(room: Room, ledger: Ledger, machine: MachineApi) -> Iterator[LaneId]:
    """A free lane's row, bound to the new pages for as long as they are written."""
    lanes = (LaneId(lane) for lane in range(ledger.lanes_count))
    lane = next((lane for lane in lanes if not ledger.lane_is_taken(lane)), None)
    if lane is None:
        raise SessionError(
            "session",
            found=f"{ledger.lanes_count} active requests",
            legal="a free lane, through whose row its pages are written",
        )
    for pool, places in room.pages.items():
        machine.bind(lane, pool, tuple(places.values()))
    try:
        yield lane
    finally:
        machine.unbind(lane)


@contextmanager
def _given_back_on_failure(room: Room, ledger: Ledger) -> Iterator[None]:
    try:
        yield
    except BaseException:
        ledger.states.device_places.give_back(room.device_slots.values())
        ledger.states.host_places.give_back(room.host_slots.values())
        for pool, places in room.pages.items():
            ledger.kv[pool].device_places.give_back(places.values())
        raise


def published(
    saved: SessionSnapshot, room: Room, ledger: Ledger, owner: OwnerRef, ids: Iterator[int]
) -> Continuation:
    """The owner, inactive from the start. Cannot fail: its contents are there."""
    images: dict[int, StateImageId] = {}
    for ordinal, slot in room.device_slots.items():
        images[ordinal] = ledger.states.create(slot)
    for ordinal, host_slot in room.host_slots.items():
        images[ordinal] = ledger.states.create_on_host(host_slot)
    pages = {
        pool: dict(zip(places, ledger.kv[pool].create(places.values()), strict=True))
        for pool, places in room.pages.items()
    }
    continuation = Continuation.of(
        owner,
        identity=saved.identity,
        history=saved.history,
        execution_frontiers_tokens=saved.execution_frontiers_tokens,
        checkpoints=tuple(
            CheckpointRecord.of(
                CheckpointSummary(
                    ref=CheckpointRef(id=CheckpointId(next(ids)), owner=owner.id),
                    kind=each.kind,
                    frontier_tokens=each.frontier_tokens,
                    prefix_digest=each.prefix_digest,
                ),
                images[each.image],
                {
                    pool: tuple(named[ordinal] for ordinal in each.pages_of(pool))
                    for pool, named in pages.items()
                },
            )
            for each in room.kept
        ),
    )
    ledger.continuations.publish(continuation)
    return continuation
