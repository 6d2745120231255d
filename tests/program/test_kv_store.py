"""Law: a logical page exists while it has a replica; pools share the arena and nothing else."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.ids import HostGranuleId, KvPageId, PageId
from ninfer_lab.program.storage.bitset import mask_of
from ninfer_lab.program.storage.host_arena import HostArena
from ninfer_lab.program.storage.kv_store import KvStore


def store_of(device: int = 3, *, granules: int = 8, page_granules: int = 2) -> KvStore:
    return KvStore(device, granules // page_granules, page_granules, HostArena(granules))


def demoted(store: KvStore, page: KvPageId, granule: int, arena: HostArena) -> None:
    arena.take(HostGranuleId(granule), store.page_granules)
    store.publish_host(page, HostGranuleId(granule))
    store.drop(device_pages=1 << page, host_pages=0)


def test_a_page_moves_between_tiers_under_one_name() -> None:  # spec: KV-5
    arena = HostArena(8)
    store = KvStore(3, 4, 2, arena)
    first, second = store.create(store.device_places.take(2))
    demoted(store, first, 4, arena)
    assert store.replicas() == ((first, None, 4), (second, 1, None))
    assert (store.on_device, store.on_host) == (1 << second, 1 << first)
    assert arena.taken == 0b110000
    store.publish_device(first, store.device_places.take(1)[0])
    store.drop(device_pages=0, host_pages=1 << first)
    assert store.device_pages((first, second)) == (0, 1)
    assert arena.taken == 0


def test_pages_of_one_extent_are_given_back_one_by_one() -> None:
    arena = HostArena(8)
    store = KvStore(3, 4, 2, arena)
    pages = store.create(store.device_places.take(3))
    for ordinal, page in enumerate(pages):
        demoted(store, page, 2 * ordinal, arena)
    store.drop(device_pages=0, host_pages=1 << pages[1])
    assert arena.taken == 0b110011
    assert store.granules_of(mask_of((pages[0], pages[2]))) == 0b110011
    assert store.host_granule(pages[1]) is None


def test_pools_have_pages_of_their_own_and_one_arena() -> None:  # spec: KV-1
    arena = HostArena(8)
    main, backend = KvStore(2, 2, 4, arena), KvStore(2, 8, 1, arena)
    (big,), (small,) = (store.create(store.device_places.take(1)) for store in (main, backend))
    assert (main.device_page(big), backend.device_page(small)) == (0, 0)
    demoted(main, big, 0, arena)
    demoted(backend, small, 4, arena)
    assert arena.taken == 0b11111
    assert (main.granules_of(1 << big), backend.granules_of(1 << small)) == (0b1111, 0b10000)


def test_every_change_of_a_host_replica_is_counted() -> None:
    arena = HostArena(4)
    store = KvStore(2, 2, 2, arena)
    one, other = store.create(store.device_places.take(2))
    seen = [store.host_changes_count]
    demoted(store, one, 0, arena)
    seen.append(store.host_changes_count)
    store.drop(device_pages=1 << other, host_pages=0)
    seen.append(store.host_changes_count)
    store.drop(device_pages=0, host_pages=1 << one)
    seen.append(store.host_changes_count)
    assert seen == [0, 1, 1, 2]


def test_a_replica_is_made_from_the_other_tier_and_only_once() -> None:
    store = store_of()
    (page,) = store.create(store.device_places.take(1))
    with pytest.raises(AssertionError):
        store.publish_device(page, PageId(1))
    store.publish_host(page, HostGranuleId(0))
    with pytest.raises(AssertionError):
        store.publish_host(page, HostGranuleId(2))
    with pytest.raises(AssertionError):
        store.publish_host(KvPageId(2), HostGranuleId(2))


def test_an_address_space_lies_where_its_pages_do() -> None:
    store = store_of()
    first, second, third = store.create(store.device_places.take(3))
    store.drop(device_pages=1 << second, host_pages=0)
    assert store.device_pages((third, first)) == (2, 0)
    (again,) = store.create(store.device_places.take(1))
    assert (again, store.device_page(again)) == (second, 1)
