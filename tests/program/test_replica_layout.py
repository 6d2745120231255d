"""Law: every replica has one bit and every bit one meaning, so a union counts each replica once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.capacity import Capacity, HostArenaGeometry, KvPool
from ninfer_lab.program.storage.replica_layout import Field, Holdings, ReplicaLayout

MAIN, BACKEND = KvPool.MAIN, KvPool.BACKEND
CAPACITY = Capacity(
    device_state_slots=3,
    device_kv_pages=5,
    host_state_slots=2,
    device_backend_kv_pages=4,
    host_kv=HostArenaGeometry(
        granule_bytes=10, granules_count=9, main_page_granules=4, backend_page_granules=1
    ),
)
LAYOUT = ReplicaLayout(CAPACITY)


def fields(layout: ReplicaLayout) -> list[Field]:
    return [
        layout.device_images,
        layout.host_images,
        layout.granules,
        *layout.device_pages.values(),
        *layout.host_pages.values(),
    ]


def subsets(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << count) - 1)


HOLDINGS = st.builds(
    Holdings,
    subsets(LAYOUT.images_count),
    subsets(LAYOUT.pages_count[MAIN]),
    subsets(LAYOUT.pages_count[BACKEND]),
)


def test_there_are_as_many_contents_as_replicas_can_be() -> None:
    assert LAYOUT.images_count == 3 + 2
    assert LAYOUT.pages_count == {MAIN: 5 + 9 // 4, BACKEND: 4 + 9}


def test_no_bit_stands_for_two_things() -> None:
    together = 0
    for field in fields(LAYOUT):
        assert not together & field.mask
        assert field.mask.bit_count() == field.width
        together |= field.mask
    assert together == LAYOUT.everything == (1 << sum(f.width for f in fields(LAYOUT))) - 1


@given(st.sampled_from(fields(LAYOUT)), st.data())
def test_what_is_put_into_a_field_is_found_there_and_nowhere_else(
    field: Field, data: st.DataObject
) -> None:
    ordinals = data.draw(subsets(field.width))
    replicas = field.put(ordinals)
    assert (field.of(replicas), field.count(replicas)) == (ordinals, ordinals.bit_count())
    assert not any(each.of(replicas) for each in fields(LAYOUT) if each is not field)


@given(HOLDINGS)
def test_contents_are_the_same_in_either_tier(holdings: Holdings) -> None:
    device, host = LAYOUT.on_device(holdings), LAYOUT.on_host(holdings)
    assert not device & host
    for replicas in (device, host, device | host):
        assert LAYOUT.contents(replicas) == holdings


@given(HOLDINGS, HOLDINGS, subsets(CAPACITY.host_kv.granules_count))
def test_what_is_on_the_host_has_its_own_place_on_the_device(
    on_host: Holdings, on_device: Holdings, granules: int
) -> None:
    replicas = LAYOUT.on_host(on_host) | LAYOUT.on_device(on_device) | LAYOUT.granules.put(granules)
    assert LAYOUT.under_host(replicas) == LAYOUT.on_device(on_host)


@given(HOLDINGS, HOLDINGS)
def test_what_two_holders_want_together_counts_once(  # spec: ACC-2
    one: Holdings, other: Holdings
) -> None:
    joined = LAYOUT.on_device(one.joined(other))
    assert joined == LAYOUT.on_device(one) | LAYOUT.on_device(other)
    assert LAYOUT.device_images.count(joined) == (one.images | other.images).bit_count()
    for pool in KvPool:
        both = (one.of_pool(pool) | other.of_pool(pool)).bit_count()
        assert LAYOUT.device_pages[pool].count(joined) == both


def test_a_pool_that_is_not_there_takes_no_bit() -> None:
    layout = ReplicaLayout(Capacity(device_state_slots=1, device_kv_pages=2))
    assert [field.width for field in fields(layout)] == [1, 1, 0, 2, 0, 2, 0]
