"""Does a stop string stand in the text, and which text is safe to show before that is known?

Owns the matching over text that arrives in pieces. What it decides depends on the text alone, never
on how tokens cut it: the stop string whose last character comes first ends the answer, and of those
that end together the longest.
Does not know tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StopMatch:
    """A stop string found.

    Args:
        stop_string: Which.
        start_chars: Where it begins in the whole text, which is where the kept text ends.
    """

    stop_string: str
    start_chars: int


class StopStrings:
    """Watches a growing text for stop strings.

    Args:
        stop_strings: None empty.
    """

    def __init__(self, stop_strings: Sequence[str]) -> None:
        self._stops = tuple(stop_strings)
        self._longest_chars = max((len(stop) for stop in self._stops), default=0)
        self._held = ""
        self._released_chars = 0

    def push(self, text: str) -> tuple[str, StopMatch | None]:
        """More text.

        Args:
            text: The next piece.

        Returns:
            The text that is certainly before any stop string, and the match that ended the text,
            if one is complete; after a match nothing more may be pushed.
        """
        if not text:
            return "", None
        if not self._stops:
            return self._release(text, held=""), None
        seen = self._held + text
        match = self._first_complete(seen)
        if match is not None:
            kept = seen[: match.start_chars]
            start_chars = self._released_chars + match.start_chars
            self._release(kept, held="")
            return kept, StopMatch(stop_string=match.stop_string, start_chars=start_chars)
        hold_chars = self._begun_chars(seen)
        cut = len(seen) - hold_chars
        return self._release(seen[:cut], held=seen[cut:]), None

    def flush(self) -> str:
        """The text held back for a stop string that did not come."""
        return self._release(self._held, held="")

    def _release(self, text: str, *, held: str) -> str:
        self._released_chars += len(text)
        self._held = held
        return text

    def _first_complete(self, seen: str) -> StopMatch | None:
        best: tuple[int, int, str] | None = None  # where it ends, where it starts, which
        for stop in self._stops:
            start = seen.find(stop)
            if start >= 0 and (best is None or (start + len(stop), start) < best[:2]):
                best = (start + len(stop), start, stop)
        return None if best is None else StopMatch(stop_string=best[2], start_chars=best[1])

    def _begun_chars(self, seen: str) -> int:
        """Length of the longest end of the text that begins some stop string."""
        for length in range(min(self._longest_chars - 1, len(seen)), 0, -1):
            tail = seen[-length:]
            if any(stop.startswith(tail) for stop in self._stops):
                return length
        return 0
