"""Pictures in which a law of contents, places or occupancy is broken, by the law's name."""

from __future__ import annotations

from collections.abc import Callable

from laws.pictures import (
    IN_FLIGHT,
    RESERVED,
    SOUND,
    with_image,
    with_ledger,
    with_page,
    with_transition,
    with_use,
)
from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.capacity import Axis, KvPool
from ninfer_lab.contract.ids import (
    HostGranuleId,
    HostSlotId,
    PageId,
    StateSlotId,
)

MAIN, BACKEND = KvPool.MAIN, KvPool.BACKEND

Break = Callable[[], ControllerSnapshot]


def one_too_many(axis: Axis) -> Break:
    return lambda: with_use(SOUND, axis, allocated_count=1)


def far_too_many(axis: Axis) -> Break:
    return lambda: with_use(SOUND, axis, reserved_count=10_000)


def without_image(image: int) -> ControllerSnapshot:
    kept = tuple(each for each in SOUND.ledger.images if each.image != image)
    return with_ledger(SOUND, images=kept)


def without_page(pool: KvPool, page: int) -> ControllerSnapshot:
    kept = tuple(each for each in SOUND.ledger.pages_of(pool) if each.page != page)
    return with_ledger(SOUND, **{"pages" if pool is MAIN else "backend_pages": kept})


BROKEN_CONTENTS: list[tuple[str, str, Break]] = [
    # ── contents ────────────────────────────────────────────────────────────────────────────────
    ("EverythingIsHeld", "an image leaked", lambda: with_image(SOUND, 9, 6)),
    ("EverythingIsHeld", "an image leaked on the Host", lambda: with_image(SOUND, 9, None, 2)),
    ("EverythingIsHeld", "a page leaked", lambda: with_page(SOUND, MAIN, 9, (19, None))),
    ("EverythingIsHeld", "a Host page leaked", lambda: with_page(SOUND, MAIN, 9, (None, 30))),
    ("EverythingIsHeld", "a backend page leaked", lambda: with_page(SOUND, BACKEND, 9, (1, None))),
    ("EverythingIsHeld", "a checkpoint's image was given back", lambda: without_image(2)),
    ("EverythingIsHeld", "an image that is written was given back", lambda: without_image(6)),
    ("EverythingIsHeld", "a checkpoint's page was given back", lambda: without_page(MAIN, 1)),
    ("EverythingIsHeld", "a mapped backend page was given back", lambda: without_page(BACKEND, 4)),
    (
        "EverythingIsHeld",
        "an image stands twice",
        lambda: with_ledger(SOUND, images=(*SOUND.ledger.images, SOUND.ledger.images[0])),
    ),
    # ── places ──────────────────────────────────────────────────────────────────────────────────
    ("PlacesAreUsedOnce", "two images in one slot", lambda: with_image(SOUND, 2, 5)),
    ("PlacesAreUsedOnce", "two images in one Host slot", lambda: with_image(SOUND, 2, 1, 3)),
    ("PlacesAreUsedOnce", "two pages in one place", lambda: with_page(SOUND, MAIN, 3, (12, None))),
    (
        "PlacesAreUsedOnce",
        "two backend pages in one place",
        lambda: with_page(SOUND, BACKEND, 3, (8, None)),
    ),
    ("PlacesAreUsedOnce", "a slot that is not there", lambda: with_image(SOUND, 2, 8)),
    (
        "PlacesAreUsedOnce",
        "a page that is not there",
        lambda: with_page(SOUND, MAIN, 3, (24, None)),
    ),
    (
        "PlacesAreUsedOnce",
        "a slot that is used is held for a copy",
        lambda: with_transition(RESERVED, device_slots=(StateSlotId(2),)),
    ),
    (
        "PlacesAreUsedOnce",
        "a Host slot that is used is held for a copy",
        lambda: with_transition(IN_FLIGHT, host_slots=(HostSlotId(3),)),
    ),
    (
        "PlacesAreUsedOnce",
        "a page that is used is held for a copy",
        lambda: with_transition(RESERVED, device_backend_pages=(PageId(8),)),
    ),
    (
        "HostPagesLieApart",
        "a Main page reaches into a backend page",
        lambda: with_page(SOUND, MAIN, 0, (10, 5)),
    ),
    (
        "HostPagesLieApart",
        "two pages in one extent",
        lambda: with_page(SOUND, MAIN, 2, (12, 4)),
    ),
    (
        "HostPagesLieApart",
        "a page beyond the end of the arena",
        lambda: with_page(SOUND, MAIN, 0, (10, 37)),
    ),
    (
        "HostPagesLieApart",
        "what is held for a demotion lies in a stored extent",
        lambda: with_transition(IN_FLIGHT, host_granules=tuple(map(HostGranuleId, range(4, 9)))),
    ),
    # ── occupancy ───────────────────────────────────────────────────────────────────────────────
    *(("OccupancyIsCounted", f"{axis.value}: one too many", one_too_many(axis)) for axis in Axis),
    (
        "OccupancyIsCounted",
        "a promise is not counted",
        lambda: with_use(SOUND, Axis.DEVICE_KV, reserved_count=-1),
    ),
    (
        "OccupancyIsCounted",
        "a backend promise is not counted",
        lambda: with_use(SOUND, Axis.DEVICE_BACKEND_KV, reserved_count=-1),
    ),
    (
        "OccupancyIsCounted",
        "a borrowed source is billed to its reader as well",
        lambda: with_use(SOUND, Axis.DEVICE_STATE, allocated_count=1),
    ),
    (
        "OccupancyIsCounted",
        "a held slot is not counted",
        lambda: with_use(RESERVED, Axis.DEVICE_STATE, reserved_count=-1),
    ),
    (
        "OccupancyIsCounted",
        "a held page counts as filled",
        lambda: with_use(RESERVED, Axis.DEVICE_KV, allocated_count=1, reserved_count=-1),
    ),
    (
        "OccupancyIsCounted",
        "a candidate's growth is not counted",
        lambda: with_transition(RESERVED, growth_pages=1),
    ),
    (
        "OccupancyIsCounted",
        "a candidate's backend growth is not counted",
        lambda: with_transition(RESERVED, backend_growth_pages=1),
    ),
    (
        "OccupancyIsCounted",
        "held Host bytes are not counted",
        lambda: with_use(IN_FLIGHT, Axis.HOST_KV, reserved_count=-100),
    ),
    (
        "OccupancyIsCounted",
        "a held Host slot is not counted",
        lambda: with_use(IN_FLIGHT, Axis.HOST_STATE, reserved_count=-1),
    ),
    *(("OccupancyFits", f"more than all {axis.value}", far_too_many(axis)) for axis in Axis),
    (
        "OccupancyFits",
        "a capacity that is not the fixed one",
        lambda: with_use(SOUND, Axis.HOST_STATE, capacity_count=1),
    ),
]
