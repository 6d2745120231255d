"""How did a run go, request by request, in four numbers? (issue of the workbench: dashboard)

Owns what a dashboard shows of each ended request, in the order of their ends: its prompt tokens by
what became of them, the hit rate so far, the time to its first token, and the highest use of every
axis since the end before. Reads a recording only, draws nothing (`dashboard_figures`).
Source: spec RCD-1; the causes are `recording.misses`'.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ninfer_lab.contract.capacity import Axis, Occupancy
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.events import ForwardRan, LedgerChanged, RequestFinished
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.lab.recording.misses import MissCause, misses
from ninfer_lab.lab.recording.recording import Recording

GROUP_OF_CAUSE: Mapping[MissCause, str] = MappingProxyType(
    {
        **dict.fromkeys((MissCause.COLD, MissCause.EXTENDED, MissCause.DIVERGED), "new text"),
        **dict.fromkeys(
            (
                MissCause.NEVER_CAPTURED,
                MissCause.NOT_OFFERED,
                MissCause.IN_USE,
                MissCause.MOVED_ON,
                MissCause.REPLACED,
            ),
            "no checkpoint stood there",
        ),
        **dict.fromkeys(
            (
                MissCause.STATE_EVICTED,
                MissCause.KV_EVICTED,
                MissCause.SLOT_EVICTED,
                MissCause.RESET,
                MissCause.DROPPED,
            ),
            "given up for room",
        ),
        **dict.fromkeys(
            (
                MissCause.BLOCKED,
                MissCause.RESTORE_NOT_WORTH,
                MissCause.CHOSE_OTHERWISE,
                MissCause.NOT_ALLOWED,
            ),
            "on offer, not taken",
        ),
        MissCause.NOT_RECORDED: "not recorded",
    }
)
"""Few enough to be told apart by colour; a request's own causes stand in words."""

GROUPS = tuple(dict.fromkeys(GROUP_OF_CAUSE.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """One request.

    Attributes:
        event: Ordinal of its end in the recording.
        groups_tokens: Computed prompt tokens by `GROUPS`.
        causes: Computed tokens by cause, in the order of the prompt.
        hit_share: Of all prompt tokens so far, 0 to 1.
        ttft_ms: `None` if it never drew a token.
        use_shares: Highest use since the end before, of every axis, 0 to 1; 0 where there is none.
    """

    request: RequestId
    event: int
    reused_tokens: int
    groups_tokens: tuple[int, ...]
    causes: tuple[tuple[MissCause, int], ...]
    hit_share: float
    ttft_ms: float | None
    use_shares: tuple[float, ...]

    @property
    def words(self) -> str:
        """In one line."""
        computed = "; ".join(f"{cause.value} {tokens:,}" for cause, tokens in self.causes)
        ttft = "no token" if self.ttft_ms is None else f"first token after {self.ttft_ms:,.1f} ms"
        return (
            f"request {self.request}: {self.reused_tokens:,} reused,"
            f" computed: {computed or 'none'}; {ttft}; hit rate so far {self.hit_share:.1%}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDashboard:
    """All of them.

    Attributes:
        axes: Those that the engine has.
    """

    name: str
    ended: tuple[Ended, ...]
    axes: tuple[Axis, ...]

    def __str__(self) -> str:
        last = self.ended[-1]
        totals = [sum(each.groups_tokens[i] for each in self.ended) for i in range(len(GROUPS))]
        reused_tokens = sum(each.reused_tokens for each in self.ended)
        groups = "; ".join(f"{n} {t:,}" for n, t in zip(GROUPS, totals, strict=True) if t)
        times = sorted(each.ttft_ms for each in self.ended if each.ttft_ms is not None)
        middle = f"{times[len(times) // 2]:,.1f} ms" if times else "none"
        return (
            f"{self.name}: {len(self.ended):,} requests, hit rate {last.hit_share:.1%}\n"
            f"prompt tokens: reused {reused_tokens:,}; {groups}\n"
            f"time to the first token, median: {middle}"
        )


def dashboard_of(recording: Recording) -> RunDashboard:
    """Reads a recording once.

    Raises:
        OptionsError: No request has ended in it.
    """
    causes: dict[RequestId, list[tuple[MissCause, int]]] = {}
    for miss in misses(recording.events, recording.facts.options.context_cache):
        tokens = miss.end_tokens - miss.start_tokens
        causes.setdefault(miss.request, []).append((miss.cause, tokens))
    ended: list[Ended] = []
    prompt_tokens = hit_tokens = 0
    highest = [0.0] * len(Axis)
    there = [False] * len(Axis)
    for i, event in enumerate(recording.events):
        occupancy = _occupancy(event)
        if occupancy is not None:
            for axis, use in enumerate(occupancy.axes):
                there[axis] |= use.capacity_count > 0
                share = use.used_count / max(1, use.capacity_count)
                highest[axis] = max(highest[axis], share)
        if isinstance(event, RequestFinished):
            prompt_tokens += event.prompt_tokens
            hit_tokens += event.prefix_cache_hit_tokens
            mine = tuple(causes.get(event.request, ()))
            ended.append(
                Ended(
                    request=event.request,
                    event=i,
                    reused_tokens=event.prefix_cache_hit_tokens,
                    groups_tokens=_by_group(mine),
                    causes=mine,
                    hit_share=hit_tokens / max(1, prompt_tokens),
                    ttft_ms=None if event.ttft_ns is None else event.ttft_ns / 1e6,
                    use_shares=tuple(highest),
                )
            )
            highest = [0.0] * len(Axis)
    if not ended:
        raise OptionsError("recording", found="no request that ended", legal="one or more")
    axes = tuple(axis for axis, is_there in zip(Axis, there, strict=True) if is_there)
    return RunDashboard(name=recording.facts.world, ended=tuple(ended), axes=axes)


def _occupancy(event: object) -> Occupancy | None:
    match event:
        case ForwardRan() | RequestFinished():
            return event.occupancy
        case LedgerChanged():
            return event.change.occupancy
        case _:
            return None


def _by_group(causes: tuple[tuple[MissCause, int], ...]) -> tuple[int, ...]:
    return tuple(
        sum(tokens for cause, tokens in causes if GROUP_OF_CAUSE[cause] == group)
        for group in GROUPS
    )
