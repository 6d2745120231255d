"""Why was each computed prompt token computed?

Owns the causes and their attribution: of every request the computed prompt tokens
`[reuse, reuse + computed)` are cut into runs, each with one cause, whose lengths add up to exactly
what was computed. A token is explained by the nearest of these that covers it: a deeper source that
was on offer; a checkpoint that once stood at or beyond it; an earlier computation without one;
else it is new. Reads events only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.events import Event, RequestAdmitted, RequestFinished, RequestSubmitted
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.options import CacheMode, ContextCache
from ninfer_lab.contract.search_report import TargetVerdict
from ninfer_lab.contract.seen_prefix import SeenPrefix
from ninfer_lab.lab.recording.fates import Fate, Fates


class MissCause(Enum):
    """Why a prompt token had a forward."""

    COLD = "cold"
    """No ended request had begun with the same token."""
    EXTENDED = "new after all that was known"
    """The prompt goes on where everything it shares had ended."""
    DIVERGED = "diverged"
    """An earlier history goes on differently from here."""
    NEVER_CAPTURED = "never captured"
    """It was computed before, and no checkpoint ever stood at or beyond it on this prefix."""
    IN_USE = "checkpoint in use by an active request"
    MOVED_ON = "checkpoint moved on with its lineage"
    REPLACED = "checkpoint replaced by a later one"
    STATE_EVICTED = "state evicted"
    KV_EVICTED = "KV evicted"
    SLOT_EVICTED = "catalog slot evicted"
    RESET = "its lane was reset"
    """By a request of another prefix, which needed nothing but the lane."""
    DROPPED = "checkpoint dropped"
    NOT_OFFERED = "checkpoint resident, not offered"
    """It differs in template or cuts, or leaves no prompt token to compute."""
    BLOCKED = "blocked by a reservation"
    """A deeper source was offered and did not fit beside what is held and promised."""
    RESTORE_NOT_WORTH = "restore not worth it"
    """A deeper source could have been copied back from the Host, and computing was cheaper."""
    CHOSE_OTHERWISE = "planner chose otherwise"
    """A deeper source could have been taken where it lay."""
    NOT_ALLOWED = "reuse was not allowed"
    """The request, or the engine, does without the cache."""
    NOT_RECORDED = "not recorded"
    """The admission was too old to be retained."""


_CAUSE_OF_FATE = {
    Fate.RESIDENT: MissCause.NOT_OFFERED,
    Fate.IN_USE: MissCause.IN_USE,
    Fate.MOVED_ON: MissCause.MOVED_ON,
    Fate.REPLACED: MissCause.REPLACED,
    Fate.STATE_EVICTED: MissCause.STATE_EVICTED,
    Fate.KV_EVICTED: MissCause.KV_EVICTED,
    Fate.SLOT_EVICTED: MissCause.SLOT_EVICTED,
    Fate.RESET: MissCause.RESET,
    Fate.DROPPED: MissCause.DROPPED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """The computed prompt tokens `[start_tokens, end_tokens)` of one request.

    Attributes:
        shared_tokens: How much of the prompt had been computed before: where it turned off, if the
            cause is DIVERGED.
    """

    request: RequestId
    cause: MissCause
    start_tokens: int
    end_tokens: int
    shared_tokens: int | None


def misses(events: Iterable[Event], context_cache: ContextCache) -> Iterator[Miss]:
    """The causes of every ended request, in the order of their ends.

    Args:
        events: Of one run, in order.
        context_cache: The engine's: whether anything could have been reused at all.
    """
    fates = Fates()
    modes: dict[RequestId, CacheMode] = {}
    explained: dict[RequestId, _Explanation] = {}
    for event in events:
        match event:
            case RequestSubmitted():
                modes[event.request] = event.mode
            case RequestAdmitted():
                mode = modes.get(event.request, CacheMode.READ_WRITE)
                allowed = context_cache is ContextCache.ENABLED and mode is CacheMode.READ_WRITE
                explained[event.request] = _explain(event, fates, allowed=allowed)
            case RequestFinished():
                modes.pop(event.request, None)
                yield from _told(event, explained.pop(event.request, None))
            case _:
                pass
        fates.read(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Explanation:
    """Causes of one prompt's tokens, known at its admission.

    Attributes:
        until: `(end_tokens, cause)`, ends not decreasing: a cause holds up to its end.
        beyond: The cause of everything after them.
    """

    until: tuple[tuple[int, MissCause], ...]
    beyond: MissCause
    shared_tokens: int | None


def _explain(event: RequestAdmitted, fates: Fates, *, allowed: bool) -> _Explanation:
    seen = event.seen
    if seen is None:
        return _Explanation(until=(), beyond=MissCause.NOT_RECORDED, shared_tokens=None)
    if allowed:
        until = [*_offered(event), *_lost(seen, fates), (seen.tokens, MissCause.NEVER_CAPTURED)]
    else:
        until = [(seen.tokens, MissCause.NOT_ALLOWED)]
    return _Explanation(until=tuple(until), beyond=_new(seen), shared_tokens=seen.tokens)


def _offered(event: RequestAdmitted) -> Iterator[tuple[int, MissCause]]:
    """The deepest source that was on offer and deeper than the one that was taken, for each reason
    not to take it.
    """
    # What a decision alone tells, so that the cause does not hang on how much was recorded.
    told = event.report.decision().verdicts
    deeper = [v for v in told if v.reuse_tokens > event.reuse_tokens]
    for wanted in (MissCause.CHOSE_OTHERWISE, MissCause.RESTORE_NOT_WORTH, MissCause.BLOCKED):
        depths = [v.reuse_tokens for v in deeper if _why_not(v) is wanted]
        if depths:
            yield max(depths), wanted


def _why_not(verdict: TargetVerdict) -> MissCause:
    """Why a source that was on offer was not taken."""
    if not verdict.is_adoptable:
        return MissCause.BLOCKED
    restored = (b.direction is TransferDirection.H2D for b in verdict.work.transfers)
    return MissCause.RESTORE_NOT_WORTH if any(restored) else MissCause.CHOSE_OTHERWISE


def _lost(seen: SeenPrefix, fates: Fates) -> Iterator[tuple[int, MissCause]]:
    """The deepest checkpoint that ever stood on this prefix, by what became of it."""
    fate = None if seen.deepest is None else fates.of(seen.deepest.ref.id)
    if seen.deepest is not None and fate is not None:
        yield seen.deepest.frontier_tokens, _CAUSE_OF_FATE[fate]


def _new(seen: SeenPrefix) -> MissCause:
    if seen.tokens == 0:
        return MissCause.COLD
    return MissCause.DIVERGED if seen.diverges else MissCause.EXTENDED


def _told(end: RequestFinished, explained: _Explanation | None) -> Iterator[Miss]:
    """Runs of `[hit, hit + computed)`; what is explained twice keeps the nearest cause."""
    start_tokens = end.prefix_cache_hit_tokens
    last_tokens = start_tokens + end.computed_prefill_tokens
    if explained is None:
        explained = _Explanation(until=(), beyond=MissCause.NOT_RECORDED, shared_tokens=None)
    for until_tokens, cause in (*explained.until, (last_tokens, explained.beyond)):
        end_tokens = min(until_tokens, last_tokens)
        if end_tokens > start_tokens:
            yield Miss(
                request=end.request,
                cause=cause,
                start_tokens=start_tokens,
                end_tokens=end_tokens,
                shared_tokens=explained.shared_tokens,
            )
            start_tokens = end_tokens
