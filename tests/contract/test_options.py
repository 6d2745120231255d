"""Law: options that cannot hold one longest request in every promised way are refused by name, with
what was found and what would be legal; all others become one fixed capacity vector.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.capacity import NO_HOST_ARENA, Axis, Capacity, KvPool
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.options import (
    ContextCache,
    EngineOptions,
    KvPageBytes,
    RequestOptions,
    SpeculativeBackend,
    pages_of_tokens,
)
from ninfer_lab.contract.sampling import Sampling

OFF = ContextCache.DISABLED


@pytest.mark.parametrize(
    ("options", "capacity", "private"),
    [
        (
            EngineOptions(max_context_tokens=256),
            Capacity(device_state_slots=2, device_kv_pages=4, host_state_slots=8),
            2,
        ),
        (
            EngineOptions(max_concurrency=3, max_context_tokens=65),
            Capacity(
                device_state_slots=6, device_kv_pages=6, host_state_slots=8
            ),  # whole pages for every lane
            6,
        ),
        (
            EngineOptions(max_concurrency=2, max_context_tokens=64, device_state_slots=0),
            Capacity(device_state_slots=2, device_kv_pages=2, host_state_slots=8),
            4,
        ),
        (
            EngineOptions(max_context_tokens=64, kv_capacity_tokens=130),
            Capacity(device_state_slots=2, device_kv_pages=3, host_state_slots=8),
            2,
        ),
        (
            EngineOptions(max_concurrency=4, max_context_tokens=64, context_cache=OFF),
            Capacity(device_state_slots=4, device_kv_pages=4),
            4,
        ),
    ],
)
def test_defaults_follow_from_the_other_options(  # spec: CFG-1, CAP-1, MODE-3
    options: EngineOptions, capacity: Capacity, private: int
) -> None:
    resolved = options.resolve()
    assert resolved.capacity == capacity
    assert resolved.max_private_continuations == private


PAGE_BYTES = KvPageBytes(main=4_000)
BOTH_PAGES = KvPageBytes(main=4_000, backend=500)


def test_the_arena_holds_what_the_catalog_could_fill_and_no_more_than_8_gib() -> None:
    # spec: CFG-1, CAP-1
    options = EngineOptions(max_context_tokens=256, max_private_continuations=3)
    assert options.resolve(PAGE_BYTES).capacity.host_kv.capacity_bytes == 3 * 4 * 4_000
    large = KvPageBytes(main=2**30)
    assert options.resolve(large).capacity.host_kv.granules_count == 8
    given = replace(options, host_kv_capacity_bytes=9_000).resolve(PAGE_BYTES)
    assert given.capacity.host_pages(KvPool.MAIN) == 2
    assert options.resolve().capacity.host_kv is NO_HOST_ARENA
    none = replace(options, host_kv_capacity_bytes=0, host_state_slots=0).resolve(PAGE_BYTES)
    assert [none.capacity.of(axis) for axis in (Axis.HOST_STATE, Axis.HOST_KV)] == [0, 0]


def test_a_backend_has_a_pool_of_its_own_and_shares_the_arena() -> None:  # spec: KV-1, CAP-1
    options = EngineOptions(
        max_concurrency=2,
        max_context_tokens=256,
        max_private_continuations=2,
        backend=SpeculativeBackend(lag_tokens=1),
    )
    resolved = options.resolve(BOTH_PAGES, state_image_bytes=70)
    capacity = resolved.capacity
    assert capacity.pools == tuple(KvPool)
    assert capacity.device_backend_kv_pages == 2 * 4
    assert capacity.host_kv.capacity_bytes == 2 * 4 * (4_000 + 500)
    assert (capacity.host_kv.granule_bytes, capacity.host_kv.main_page_granules) == (500, 8)
    assert (resolved.page_bytes, resolved.state_image_bytes) == (BOTH_PAGES, 70)
    coverage = [
        [resolved.coverage_tokens(pool, frontier) for frontier in (0, 1, 65)] for pool in KvPool
    ]
    assert coverage == [[0, 1, 65], [0, 0, 64]]
    smaller = replace(options, backend=SpeculativeBackend(kv_capacity_tokens=257, lag_tokens=0))
    assert smaller.resolve(BOTH_PAGES).capacity.device_backend_kv_pages == 5


def test_a_lease_holds_at_least_4096_tokens_and_a_chunk() -> None:  # spec: ACT-4
    assert EngineOptions().resolve().lease_window_tokens is None
    leased = EngineOptions(kv_lease_growth=True, prefill_chunk_tokens=1_024)
    assert leased.resolve().lease_window_tokens == 4_096
    chunked = replace(leased, prefill_chunk_tokens=5_000)
    assert chunked.resolve().lease_window_tokens == 5_000


@pytest.mark.parametrize(
    ("options", "page_bytes", "what", "legal"),
    [
        (EngineOptions(host_state_slots=-1), None, "host_state_slots", "0 <= host_state_slots"),
        (
            EngineOptions(host_kv_capacity_bytes=-1),
            None,
            "host_kv_capacity_bytes",
            "0 <= host_kv_capacity_bytes",
        ),
        (
            EngineOptions(host_state_slots=1, context_cache=OFF),
            None,
            "host_state_slots",
            "None or 0 while context_cache is DISABLED",
        ),
        (
            EngineOptions(host_kv_capacity_bytes=1, context_cache=OFF),
            PAGE_BYTES,
            "host_kv_capacity_bytes",
            "None or 0 while context_cache is DISABLED",
        ),
        (
            EngineOptions(backend=SpeculativeBackend(lag_tokens=-1)),
            None,
            "backend.lag_tokens",
            "0 <= backend.lag_tokens",
        ),
        (
            EngineOptions(backend=SpeculativeBackend(kv_capacity_tokens=64)),
            None,
            "backend.kv_capacity_tokens",
            "to hold one request of max_context_tokens",
        ),
        (EngineOptions(), BOTH_PAGES, "backend", "a SpeculativeBackend: the served model has"),
        (
            EngineOptions(backend=SpeculativeBackend()),
            PAGE_BYTES,
            "backend",
            "None: the served model has no backend pool",
        ),
    ],
)
def test_a_bad_host_or_backend_is_named_with_what_would_be_legal(  # spec: CFG-1, MODE-3
    options: EngineOptions, page_bytes: KvPageBytes | None, what: str, legal: str
) -> None:
    with pytest.raises(OptionsError) as caught:
        options.resolve(page_bytes)
    assert caught.value.what == f"options.{what}"
    assert legal in caught.value.legal


@pytest.mark.parametrize(
    ("options", "what", "legal"),
    [
        (EngineOptions(max_concurrency=0), "max_concurrency", "1 <= max_concurrency <= 8"),
        (EngineOptions(max_concurrency=9), "max_concurrency", "1 <= max_concurrency <= 8"),
        (EngineOptions(max_context_tokens=1), "max_context_tokens", "2 <= max_context_tokens"),
        (
            EngineOptions(prefill_chunk_tokens=0),
            "prefill_chunk_tokens",
            "1 <= prefill_chunk",
        ),
        (
            EngineOptions(max_pending_requests=0),
            "max_pending_requests",
            "1 <= max_pending",
        ),
        (EngineOptions(device_state_slots=-1), "device_state_slots", "0 <= device_state_slots"),
        (
            EngineOptions(device_state_slots=1, context_cache=OFF),
            "device_state_slots",
            "None or 0 while context_cache is DISABLED",
        ),
        (
            EngineOptions(max_concurrency=4, max_private_continuations=3),
            "max_private_continuations",
            ">= max_concurrency = 4",
        ),
        (
            EngineOptions(max_private_continuations=0),
            "max_private_continuations",
            "1 <= max_private_continuations",
        ),
        (
            EngineOptions(max_context_tokens=100, kv_capacity_tokens=64),
            "kv_capacity_tokens",
            ">= 128, to hold one request of max_context_tokens = 100",
        ),
        (EngineOptions(kv_capacity_tokens=0), "kv_capacity_tokens", "1 <= kv_capacity_tokens"),
    ],
)
def test_a_bad_option_is_named_with_what_would_be_legal(  # spec: CFG-1, CFG-2
    options: EngineOptions, what: str, legal: str
) -> None:
    with pytest.raises(OptionsError) as caught:
        options.resolve()
    assert caught.value.what == f"options.{what}"
    assert caught.value.found == getattr(options, what)
    assert legal in caught.value.legal


@given(
    lanes=st.integers(1, 8),
    context=st.integers(2, 1_000),
    kv=st.none() | st.integers(1, 4_000),
    extra=st.none() | st.integers(0, 9),
    private=st.none() | st.integers(1, 20),
    cache=st.sampled_from(ContextCache),
)
def test_whatever_resolves_can_hold_its_promises(
    lanes: int,
    context: int,
    kv: int | None,
    extra: int | None,
    private: int | None,
    cache: ContextCache,
) -> None:
    options = EngineOptions(
        max_concurrency=lanes,
        max_context_tokens=context,
        kv_capacity_tokens=kv,
        device_state_slots=extra,
        max_private_continuations=private,
        context_cache=cache,
    )
    try:
        resolved = options.resolve()
    except OptionsError:
        return  # the cases above say which and why
    assert resolved.capacity.device_state_slots >= lanes
    assert resolved.capacity.device_kv_pages * 64 >= context
    assert resolved.max_private_continuations >= lanes


@pytest.mark.parametrize(
    ("tokens", "pages"), [(0, 0), (1, 1), (63, 1), (64, 1), (65, 2), (128, 2), (129, 3)]
)
def test_a_started_page_is_a_page(tokens: int, pages: int) -> None:  # spec: KV-6
    assert pages_of_tokens(tokens) == pages


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", float("inf")),
        ("temperature", float("nan")),
        ("top_k", 0),
        ("top_p", 0.0),
        ("top_p", 1.5),
        ("seed", -1),
        ("seed", 2**64),
    ],
)
def test_sampling_that_means_nothing_is_refused(name: str, value: float) -> None:
    with pytest.raises(OptionsError, match=rf"sampling\.{name}"):
        Sampling(**{name: value})  # type: ignore[arg-type]


def test_a_request_says_at_least_one_token_and_no_empty_stop() -> None:
    with pytest.raises(OptionsError, match=r"request\.max_output_tokens: found 0; legal: None or"):
        RequestOptions(max_output_tokens=0)
    with pytest.raises(OptionsError, match=r"request\.stop_strings"):
        RequestOptions(stop_strings=("a", ""))


def test_the_shared_catalog_has_room_for_all_that_one_request_can_prepare() -> None:
    # spec: SHR-5
    assert EngineOptions().resolve().max_shared_prefixes == 7
    assert EngineOptions(max_concurrency=8).resolve().max_shared_prefixes == 8
    assert EngineOptions(max_shared_prefixes=4).resolve().max_shared_prefixes == 4
    assert EngineOptions(max_shared_prefixes=0).resolve().max_shared_prefixes == 0
    assert EngineOptions(context_cache=OFF).resolve().max_shared_prefixes == 0
    with pytest.raises(OptionsError, match=r"max_shared_prefixes.*DISABLED"):
        EngineOptions(context_cache=OFF, max_shared_prefixes=1).resolve()
    with pytest.raises(OptionsError, match=r"options\.max_shared_prefixes"):
        EngineOptions(max_shared_prefixes=-1).resolve()
