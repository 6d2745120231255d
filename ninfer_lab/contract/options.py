"""What may a caller choose, and what follows from it? Options of an engine and of one request.

Owns the option values and their resolution into one fixed capacity vector (CFG-1, CAP-1): an option
is checked where it is resolved, once, before anything is allocated. Does not know who allocates,
nor what a cache keeps. Source: spec CFG, MODE; defaults that the seed does not give: the original
engine's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.capacity import Capacity
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.ids import SessionKey

PAGE_TOKENS = 64
"""Tokens of one KV page (KV-6). A page edge is neither an attention boundary nor a hit boundary."""

MAX_CONCURRENCY = 8
"""CFG-2: 1..8 active requests on one device."""


class CacheMode(Enum):
    """Fixed before the request enters the engine (MODE-1, MODE-2)."""

    READ_WRITE = "read_write"
    """May read exact candidates, capture checkpoints, publish a continuation at its end."""
    DISABLED = "disabled"
    """Root only; leaves no catalog entry, session binding or checkpoint behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the next token is drawn from the logits. Temperature 0 is greedy.

    Attributes:
        temperature: Divides the logits; 0 takes the largest (ties: the smallest token id).
        top_k: Keep the k most probable tokens; `None` keeps all.
        top_p: Keep the smallest set of most probable tokens that reaches this mass.
        seed: Key of the counter-based generator. The absolute position of the drawn token is the
            counter, so a resumed request draws what the uninterrupted one would have drawn.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.temperature >= 0.0 or self.temperature == float("inf"):
            raise OptionsError(
                "sampling.temperature", found=self.temperature, legal="a finite number >= 0"
            )
        if self.top_k is not None and self.top_k < 1:
            raise OptionsError("sampling.top_k", found=self.top_k, legal="None or >= 1")
        if not 0.0 < self.top_p <= 1.0:
            raise OptionsError("sampling.top_p", found=self.top_p, legal="0 < top_p <= 1")
        if not 0 <= self.seed < 2**64:
            raise OptionsError("sampling.seed", found=self.seed, legal="0 <= seed < 2**64")


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
    sampling: Sampling = Sampling()
    stop_strings: tuple[str, ...] = ()
    mode: CacheMode = CacheMode.READ_WRITE
    session_key: SessionKey | None = None
    stop_at_end_token: bool = True

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
class EngineOptions:
    """What an engine is built with; `None` stands for a default that depends on other options.

    Attributes:
        max_concurrency: Active lanes C, 1..8 (CFG-2).
        max_context_tokens: Longest prompt plus output of one request.
        kv_capacity_tokens: Device KV, rounded up to whole 64-token pages; default C contexts, each
            in pages of its own, so that C longest requests fit at once.
        prefill_chunk_tokens: Most prompt tokens of one forward.
        device_state_slots: Device StateImages H beyond the C of the active guarantee; default C.
        max_private_continuations: Private catalog slots P; default 2C.
        context_cache: DISABLED means root-only semantics and no checkpoint capacity (MODE-3).
        max_pending_requests: Length of the waiting queue.
    """

    max_concurrency: int = 1
    max_context_tokens: int = 2048
    kv_capacity_tokens: int | None = None
    prefill_chunk_tokens: int = 1024
    device_state_slots: int | None = None
    max_private_continuations: int | None = None
    context_cache: ContextCache = ContextCache.ENABLED
    max_pending_requests: int = 16

    def resolve(self) -> ResolvedOptions:
        """Checks every option against the others and fixes the capacities.

        Raises:
            OptionsError: Naming the option, its value and what would be legal.
        """
        self._check_ranges()
        lanes = self.max_concurrency
        enabled = self.context_cache is ContextCache.ENABLED
        extra_slots = _given(self.device_state_slots, lanes if enabled else 0)
        private_slots = _given(self.max_private_continuations, 2 * lanes if enabled else lanes)
        if not enabled and extra_slots != 0:
            raise OptionsError(
                "options.device_state_slots",
                found=extra_slots,
                legal="None or 0 while context_cache is DISABLED",
            )
        if private_slots < lanes:
            raise OptionsError(
                "options.max_private_continuations",
                found=private_slots,
                legal=f">= max_concurrency = {lanes}",
            )
        needed_pages = pages_of_tokens(self.max_context_tokens)
        kv_tokens = _given(self.kv_capacity_tokens, lanes * needed_pages * PAGE_TOKENS)
        pages = pages_of_tokens(kv_tokens)
        if pages < needed_pages:
            raise OptionsError(
                "options.kv_capacity_tokens",
                found=kv_tokens,
                legal=f">= {needed_pages * PAGE_TOKENS}, to hold one request of"
                f" max_context_tokens = {self.max_context_tokens}",
            )
        return ResolvedOptions(
            capacity=Capacity(device_state_slots=lanes + extra_slots, device_kv_pages=pages),
            max_concurrency=lanes,
            max_context_tokens=self.max_context_tokens,
            prefill_chunk_tokens=self.prefill_chunk_tokens,
            max_private_continuations=private_slots,
            context_cache=self.context_cache,
            max_pending_requests=self.max_pending_requests,
        )

    def _check_ranges(self) -> None:
        _require("max_concurrency", self.max_concurrency, 1, MAX_CONCURRENCY)
        _require("max_context_tokens", self.max_context_tokens, 2, 2**31 - 1)
        _require("prefill_chunk_tokens", self.prefill_chunk_tokens, 1, 2**31 - 1)
        _require("max_pending_requests", self.max_pending_requests, 1, 2**20)
        _require("device_state_slots", self.device_state_slots, 0, 2**20)
        _require("max_private_continuations", self.max_private_continuations, 1, 2**20)
        _require("kv_capacity_tokens", self.kv_capacity_tokens, 1, 2**40)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedOptions:
    """Options after resolution: nothing left open, every capacity a number."""

    capacity: Capacity
    max_concurrency: int
    max_context_tokens: int
    prefill_chunk_tokens: int
    max_private_continuations: int
    context_cache: ContextCache
    max_pending_requests: int


def pages_of_tokens(tokens: int) -> int:
    """Pages that hold `tokens` tokens from the start of an address space."""
    return -(-tokens // PAGE_TOKENS)


def _given(value: int | None, default: int) -> int:
    return default if value is None else value


def _require(name: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise OptionsError(f"options.{name}", found=value, legal=f"{least} <= {name} <= {most}")
