"""How many bytes of contiguous keys and values did attention gather, and how many at once at most?

Owns three counters. A gather is one call's scratch: it is dropped when the call returns and never
kept (spec KV-6); ops that read pages in place count nothing.
Does not know pages.
"""

from __future__ import annotations


class GatherMeter:
    """Counts what `count` is told."""

    __slots__ = ("call_count", "largest_call_bytes", "total_bytes")

    def __init__(self) -> None:
        self.call_count = 0
        self.largest_call_bytes = 0
        self.total_bytes = 0

    def count(self, gathered_bytes: int) -> None:
        """One call gathered this many bytes."""
        self.call_count += 1
        self.largest_call_bytes = max(self.largest_call_bytes, gathered_bytes)
        self.total_bytes += gathered_bytes
