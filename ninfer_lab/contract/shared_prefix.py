"""Where might a prompt share its beginning with others, and who says so? (SHR, EVD-1)

Owns the words in which a boundary, resolved to a token frontier, becomes a candidate: a chance to
write that proves nothing (SHR-6). Does not know what a prefix is worth (`context_cache`), nor
whether one exists (`program`).
Source: spec SHR-1..4, EVD-1; the numbers of the flags are the original engine's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, Flag

MAX_MARKERS = 4
"""Explicit markers of one request, private anchors that its caller marks among them (SHR-2)."""

MAX_PREPARED_CANDIDATES = 7
"""Markers and the three engine candidates (SHR-2)."""

MAX_GRID_POINTS = 8
"""Of one prompt (SHR-4)."""

GRID_STEP_TOKENS = 256
"""The finest grid (SHR-4)."""


class Evidence(Flag):
    """Why a frontier is thought to be shared (EVD-1). Several reasons may meet on one frontier."""

    EXPLICIT_BOUNDARY = 1
    """The caller says so."""
    REQUESTED_AUTOMATIC = 2
    """The caller asked its protocol to place a boundary."""
    DEFAULT_AUTOMATIC = 4
    """The protocol places one by its own policy, mostly at the prompt's end (EVD-5)."""
    ENGINE_STRUCTURAL = 8
    """The prompt's own structure ends something there: tools, the leading instructions."""
    ENGINE_OBSERVED = 16
    """Nothing but that the engine looks there: the full prompt, a point of the grid."""

    @property
    def is_declared(self) -> bool:
        """Whether it brings credit and may compete under pressure at first sight (EVD-1)."""
        return bool(self & (Evidence.EXPLICIT_BOUNDARY | Evidence.REQUESTED_AUTOMATIC))


MARKER_EVIDENCE = (
    Evidence.EXPLICIT_BOUNDARY,
    Evidence.REQUESTED_AUTOMATIC,
    Evidence.DEFAULT_AUTOMATIC,
)
"""What a marker can be; the other two are the engine's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCandidate:
    """An exact token frontier at which a shared prefix may be written.

    Attributes:
        frontier_tokens: In `(0, prompt]`.
    """

    frontier_tokens: int
    evidence: Evidence

    def __str__(self) -> str:
        named = "+".join(str(each.name).lower() for each in self.evidence)
        return f"{named}@{self.frontier_tokens}"


class PlacedAfter(Enum):
    """A boundary of a chat that is no message's end."""

    TOOLS = "tools"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMarker:
    """A boundary that a chat's caller or protocol points at.

    Args:
        after: Ordinal of the message that ends there, negative ones from the last; or the tools.
        evidence: One of `MARKER_EVIDENCE`.
    """

    after: int | PlacedAfter
    evidence: Evidence = Evidence.EXPLICIT_BOUNDARY


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenMarker:
    """A boundary in a prompt of token ids.

    Args:
        frontier_tokens: In `(0, prompt]`.
        evidence: One of `MARKER_EVIDENCE`, or ENGINE_STRUCTURAL where the caller rendered a prompt
            whose tools or leading instructions end there.
    """

    frontier_tokens: int
    evidence: Evidence = Evidence.EXPLICIT_BOUNDARY


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPrefixHints:
    """What a request's protocol says about candidates of the engine's own.

    Attributes:
        allow_engine_automatic_shared_prefixes: Whether the three engine candidates are made. A
            protocol with its own write policy may say no, but only if its markers fall where
            other requests can match (SHR-3).
        allow_engine_prefix_grid: Whether the points of the grid are, too (SHR-4).
    """

    allow_engine_automatic_shared_prefixes: bool = True
    allow_engine_prefix_grid: bool = False


NO_HINTS = SharedPrefixHints()
"""A protocol that says nothing: the engine adds its own candidates, without the grid."""


def merged(candidates: Iterable[SharedCandidate]) -> tuple[SharedCandidate, ...]:
    """One candidate for each frontier, ascending, with all the reasons for it (SHR-2).

    >>> at_end = SharedCandidate(frontier_tokens=90, evidence=Evidence.ENGINE_OBSERVED)
    >>> marker = SharedCandidate(frontier_tokens=90, evidence=Evidence.DEFAULT_AUTOMATIC)
    >>> head = SharedCandidate(frontier_tokens=40, evidence=Evidence.ENGINE_STRUCTURAL)
    >>> [str(each) for each in merged([at_end, head, marker])]
    ['engine_structural@40', 'default_automatic+engine_observed@90']
    """
    evidence: dict[int, Evidence] = {}
    for each in candidates:
        before = evidence.get(each.frontier_tokens, Evidence(0))
        evidence[each.frontier_tokens] = before | each.evidence
    return tuple(
        SharedCandidate(frontier_tokens=frontier, evidence=evidence[frontier])
        for frontier in sorted(evidence)
    )
