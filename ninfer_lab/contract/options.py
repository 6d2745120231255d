"""What may a caller choose, and what follows from it? Options of an engine and of one request.

Owns the option values and their resolution into one fixed capacity vector (CFG-1, CAP-1): an option
is checked where it is resolved, once, before anything is allocated. Does not know who allocates,
nor what a cache keeps. Source: spec CFG, MODE; defaults that the seed does not give: the original
engine's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.anchor_options import NO_PRIVATE_ANCHORS, PrivateAnchors
from ninfer_lab.contract.capacity import NO_HOST_ARENA, Capacity, HostArenaGeometry, KvPool
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.option_ranges import given_or, require_within
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.contract.sampling import GREEDY, Sampling
from ninfer_lab.contract.shared_prefix import MAX_PREPARED_CANDIDATES

PAGE_TOKENS = 64
"""Tokens of one KV page (KV-6). A page edge is neither an attention boundary nor a hit boundary."""

MAX_CONCURRENCY = 8
"""CFG-2: 1..8 active requests on one device."""

HOST_STATE_SLOTS = 8
"""Default Host StateImage slots: the original engine's."""

HOST_KV_CAPACITY_BYTES = 8 * 2**30
"""Default Host KV arena: the original engine's, where the catalog could fill it."""

LEASE_WINDOW_TOKENS = 4_096
"""Output tokens that a growth lease holds ahead, at least (ACT-4): the original engine's."""


class CacheMode(Enum):
    """Fixed before the request enters the engine (MODE-1, MODE-2)."""

    READ_WRITE = "read_write"
    """May read exact candidates, capture checkpoints, publish a continuation at its end."""
    DISABLED = "disabled"
    """Root only; leaves no catalog entry, session binding or checkpoint behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """What one request asks for beside its prompt.

    Attributes:
        max_output_tokens: Most tokens to generate; `None` takes what the context still holds.
        stop_strings: Generation ends before the first of these that appears in the text.
        mode: READ_WRITE or DISABLED.
        stop_at_end_token: Whether the checkpoint's own end tokens end the answer; benchmarks that
            want a fixed length say no.
        session_key: Binds the request to a conversation (SES-1). It narrows the search for a source
            and proves nothing (IDN-4).
    """

    max_output_tokens: int | None = None
    sampling: Sampling = GREEDY
    stop_strings: tuple[str, ...] = ()
    mode: CacheMode = CacheMode.READ_WRITE
    session_key: SessionKey | None = None
    stop_at_end_token: bool = True
    purpose: RequestPurpose = RequestPurpose.CONVERSATION

    def __post_init__(self) -> None:
        if self.max_output_tokens is not None and self.max_output_tokens < 1:
            raise OptionsError(
                "request.max_output_tokens", found=self.max_output_tokens, legal="None or >= 1"
            )
        if any(not stop for stop in self.stop_strings):
            raise OptionsError(
                "request.stop_strings", found=self.stop_strings, legal="non-empty strings"
            )


class ContextCache(Enum):
    """Whether the engine keeps anything between requests (MODE-3)."""

    ENABLED = "enabled"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class KvPageBytes:
    """How large one 64-token page is; follows from the served model.

    Attributes:
        backend: Of the speculative backend's pool; `None` without one.
    """

    main: int
    backend: int | None = None

    def of(self, pool: KvPool) -> int:
        """One page of a pool."""
        return self.main if pool is KvPool.MAIN else self.backend or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculativeBackend:
    """A second typed KV pool beside Main (KV-1).

    Attributes:
        kv_capacity_tokens: Its Device KV, rounded up to whole pages; default as for Main.
        lag_tokens: Its KV ends so many tokens before Main's frontier: a draft head that has
            consumed one token less lags by one.
    """

    kv_capacity_tokens: int | None = None
    lag_tokens: int = 1

    def coverage_tokens(self, frontier_tokens: int) -> int:
        """Tokens its KV must cover at a frontier of the continuation."""
        return max(0, frontier_tokens - self.lag_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What an engine is built with; `None` stands for a default that depends on other options.

    Attributes:
        max_concurrency: Active lanes C, 1..8 (CFG-2).
        max_context_tokens: Longest prompt plus output of one request.
        kv_capacity_tokens: Device KV, rounded up to whole 64-token pages; default C contexts, each
            in pages of its own, so that C longest requests fit at once.
        prefill_chunk_tokens: Most prompt tokens of one forward.
        device_state_slots: Device StateImages H beyond the C of the active guarantee; default C.
        host_state_slots: Whole StateImages on the Host; default 8.
        host_kv_capacity_bytes: The packed Host KV arena; default 8 GiB, or what P contexts take
            where that is less.
        max_private_continuations: Private catalog slots P; default 2C.
        max_long_anchors_per_continuation: Long anchors L that one history keeps; default 2.
        automatic_private_anchors: Proposed at the last N message boundaries; default L (ANC-1).
        endpoint_anchors: Whether a long endpoint stays an anchor once it is continued (ANC-3).
        max_shared_prefixes: Shared catalog slots S; default the larger of C and 7, what one request
            can prepare (SHR-5).
        automatic_markers_take_surplus: The rule before the one that is measured in EVD-4: a
            boundary that a protocol places by itself may take a vacant shared slot at first sight.
        recycles_shared_prefixes: Whether a full shared catalog gives up the least recently used
            entry that nobody declared (EVD-2); without it such a catalog stays full for good.
        rolling_retention: Whether a shared prefix inherits the demand of those that it goes on
            from, so that one growing history keeps its newest beginning. Without it they keep what
            they are wanted for, and one that many have wanted stays in its place.
        backend: A speculative backend's KV pool; `None` without one.
        kv_lease_growth: Whether output growth is leased in windows instead of reserved whole
            (ACT-4).
        backfill: Whether a later request may run while the head is blocked, if Program proves that
            the head is not delayed (BKF-1).
        recency_eviction: Whether owners are evicted in the order of their last use, and the rest is
            only demoted (SRCH-4).
        release_diverged: Whether a checkpoint that its own session's newest prompt has left below
            its frontier is worth nothing any more (VAL-4).
        context_cache: DISABLED means root-only semantics and no checkpoint capacity (MODE-3).
        max_pending_requests: Length of the waiting queue.
    """

    max_concurrency: int = 1
    max_context_tokens: int = 2048
    kv_capacity_tokens: int | None = None
    prefill_chunk_tokens: int = 1024
    device_state_slots: int | None = None
    host_state_slots: int | None = None
    host_kv_capacity_bytes: int | None = None
    max_private_continuations: int | None = None
    max_long_anchors_per_continuation: int | None = None
    automatic_private_anchors: int | None = None
    endpoint_anchors: bool = True
    max_shared_prefixes: int | None = None
    automatic_markers_take_surplus: bool = False
    recycles_shared_prefixes: bool = True
    rolling_retention: bool = False
    backend: SpeculativeBackend | None = None
    kv_lease_growth: bool = False
    backfill: bool = False
    recency_eviction: bool = False
    release_diverged: bool = False
    context_cache: ContextCache = ContextCache.ENABLED
    max_pending_requests: int = 16

    def resolve(
        self, page_bytes: KvPageBytes | None = None, *, state_image_bytes: int = 0
    ) -> ResolvedOptions:
        """Checks every option against the others and fixes the capacities.

        Args:
            page_bytes: Of the served model. Without it the Host KV arena cannot be laid out and
                is empty: enough to check options.
            state_image_bytes: Of the served model, for the size of copies.

        Raises:
            OptionsError: Naming the option, its value and what would be legal.
        """
        self._check_ranges()
        lanes = self.max_concurrency
        enabled = self.context_cache is ContextCache.ENABLED
        extra_slots = self._of_cache("device_state_slots", self.device_state_slots, lanes)
        private_slots = given_or(self.max_private_continuations, 2 * lanes if enabled else lanes)
        if private_slots < lanes:
            raise OptionsError(
                "options.max_private_continuations",
                found=private_slots,
                legal=f">= max_concurrency = {lanes}",
            )
        needed_pages = pages_of_tokens(self.max_context_tokens)
        pages = self._pool_pages(
            "kv_capacity_tokens", self.kv_capacity_tokens, lanes * needed_pages, needed_pages
        )
        backend_pages = 0
        if self.backend is not None:
            backend_pages = self._pool_pages(
                "backend.kv_capacity_tokens",
                self.backend.kv_capacity_tokens,
                lanes * needed_pages,
                needed_pages,
            )
        return ResolvedOptions(
            capacity=Capacity(
                device_state_slots=lanes + extra_slots,
                device_kv_pages=pages,
                host_state_slots=self._of_cache(
                    "host_state_slots", self.host_state_slots, HOST_STATE_SLOTS
                ),
                device_backend_kv_pages=backend_pages,
                host_kv=self._host_arena(page_bytes, private_slots * needed_pages),
            ),
            max_concurrency=lanes,
            max_context_tokens=self.max_context_tokens,
            prefill_chunk_tokens=self.prefill_chunk_tokens,
            max_private_continuations=private_slots,
            max_shared_prefixes=self._of_cache(
                "max_shared_prefixes",
                self.max_shared_prefixes,
                max(lanes, MAX_PREPARED_CANDIDATES),
            ),
            automatic_markers_take_surplus=self.automatic_markers_take_surplus,
            recycles_shared_prefixes=self.recycles_shared_prefixes,
            rolling_retention=self.rolling_retention,
            context_cache=self.context_cache,
            max_pending_requests=self.max_pending_requests,
            backend=self.backend,
            page_bytes=page_bytes or KvPageBytes(main=0),
            state_image_bytes=state_image_bytes,
            lease_window_tokens=self._lease_window(),
            backfill=self.backfill,
            recency_eviction=self.recency_eviction,
            release_diverged=self.release_diverged,
            anchors=PrivateAnchors.resolve(self, extra_slots, is_cache_enabled=enabled),
        )

    def _lease_window(self) -> int | None:
        if not self.kv_lease_growth:
            return None
        return max(LEASE_WINDOW_TOKENS, self.prefill_chunk_tokens)

    def _of_cache(self, name: str, given: int | None, default: int) -> int:
        """A capacity that only a cache fills; none without one (MODE-3)."""
        if self.context_cache is ContextCache.ENABLED:
            return given_or(given, default)
        if given:
            raise OptionsError(
                f"options.{name}",
                found=given,
                legal="None or 0 while context_cache is DISABLED",
            )
        return 0

    def _host_arena(self, page_bytes: KvPageBytes | None, catalog_pages: int) -> HostArenaGeometry:
        """By default no larger than what every private continuation at full length would fill."""
        default_bytes = HOST_KV_CAPACITY_BYTES
        if page_bytes is not None:
            self._check_pools(page_bytes)
            whole_bytes = catalog_pages * (page_bytes.main + (page_bytes.backend or 0))
            default_bytes = min(default_bytes, whole_bytes)
        capacity_bytes = self._of_cache(
            "host_kv_capacity_bytes", self.host_kv_capacity_bytes, default_bytes
        )
        if page_bytes is None or capacity_bytes == 0:
            return NO_HOST_ARENA
        return HostArenaGeometry.divide(
            capacity_bytes,
            main_page_bytes=page_bytes.main,
            backend_page_bytes=page_bytes.backend,
        )

    def _check_pools(self, page_bytes: KvPageBytes) -> None:
        if (page_bytes.backend is None) != (self.backend is None):
            raise OptionsError(
                "options.backend",
                found=self.backend,
                legal=(
                    "None: the served model has no backend pool"
                    if page_bytes.backend is None
                    else "a SpeculativeBackend: the served model has a backend pool"
                ),
            )

    def _pool_pages(
        self, option: str, given_tokens: int | None, default_pages: int, needed_pages: int
    ) -> int:
        tokens = given_or(given_tokens, default_pages * PAGE_TOKENS)
        pages = pages_of_tokens(tokens)
        if pages < needed_pages:
            raise OptionsError(
                f"options.{option}",
                found=tokens,
                legal=f">= {needed_pages * PAGE_TOKENS}, to hold one request of"
                f" max_context_tokens = {self.max_context_tokens}",
            )
        return pages

    def _check_ranges(self) -> None:
        require_within("max_concurrency", self.max_concurrency, 1, MAX_CONCURRENCY)
        require_within("max_context_tokens", self.max_context_tokens, 2, 2**31 - 1)
        require_within("prefill_chunk_tokens", self.prefill_chunk_tokens, 1, 2**31 - 1)
        require_within("max_pending_requests", self.max_pending_requests, 1, 2**20)
        require_within("device_state_slots", self.device_state_slots, 0, 2**20)
        require_within("max_private_continuations", self.max_private_continuations, 1, 2**20)
        require_within("max_shared_prefixes", self.max_shared_prefixes, 0, 2**20)
        require_within("kv_capacity_tokens", self.kv_capacity_tokens, 1, 2**40)
        require_within("host_state_slots", self.host_state_slots, 0, 2**20)
        require_within("host_kv_capacity_bytes", self.host_kv_capacity_bytes, 0, 2**50)
        if self.backend is not None:
            require_within("backend.kv_capacity_tokens", self.backend.kv_capacity_tokens, 1, 2**40)
            require_within("backend.lag_tokens", self.backend.lag_tokens, 0, 2**20)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedOptions:
    """Options after resolution: nothing left open, every capacity a number.

    Attributes:
        page_bytes: Of one page of each pool; 0 where only options were checked.
        state_image_bytes: Of one whole StateImage, likewise.
        lease_window_tokens: Output tokens that growth is leased ahead by; `None` reserves the
            whole output (ACT-4).
        anchors: What is kept and proposed of earlier points (ANC).
    """

    capacity: Capacity
    max_concurrency: int
    max_context_tokens: int
    prefill_chunk_tokens: int
    max_private_continuations: int
    max_shared_prefixes: int
    automatic_markers_take_surplus: bool
    recycles_shared_prefixes: bool
    context_cache: ContextCache
    max_pending_requests: int
    backend: SpeculativeBackend | None
    page_bytes: KvPageBytes
    state_image_bytes: int
    lease_window_tokens: int | None
    backfill: bool
    recency_eviction: bool
    anchors: PrivateAnchors = NO_PRIVATE_ANCHORS
    release_diverged: bool = False
    rolling_retention: bool = False

    def coverage_tokens(self, pool: KvPool, frontier_tokens: int) -> int:
        """Tokens that a pool's KV must cover at a frontier of a continuation."""
        if pool is KvPool.MAIN:
            return frontier_tokens
        assert self.backend is not None
        return self.backend.coverage_tokens(frontier_tokens)


def pages_of_tokens(tokens: int) -> int:
    """Pages that hold `tokens` tokens from the start of an address space."""
    return -(-tokens // PAGE_TOKENS)
