"""How does growth that is leased in windows go on? (ACT-4)

Owns the size of the next window and the moment it is reserved: between forwards, whole where there
is room, at the least what the next forward needs. Does not know who could be evicted for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.program.execution.forward_step import missing_pages
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedGrowth:
    """Pages to reserve beyond what is, by space.

    Attributes:
        least_pages: Without these the next forward cannot run.
        window_pages: A whole window ahead, as far as the request may go.
    """

    least_pages: tuple[int, ...]
    window_pages: tuple[int, ...]


def wanted_lease(options: ResolvedOptions, sequence: ActiveSequence) -> WantedGrowth | None:
    """What the next forward of a sequence lacks; `None` if nothing."""
    if options.lease_window_tokens is None:
        return None
    end_tokens = sequence.next_end_tokens(options.prefill_chunk_tokens)
    longest = len(sequence.prompt.tokens) + sequence.candidate.request.max_output_tokens
    window_tokens = min(end_tokens + options.lease_window_tokens, longest)

    def beyond_reserved(frontier_tokens: int) -> tuple[int, ...]:
        missing = missing_pages(sequence, options, frontier_tokens)
        return tuple(
            max(0, pages - space.reserved_pages)
            for pages, space in zip(missing, sequence.spaces, strict=True)
        )

    least = beyond_reserved(end_tokens)
    if not any(least):
        return None
    return WantedGrowth(least_pages=least, window_pages=beyond_reserved(window_tokens))


def lease(ledger: Ledger, sequence: ActiveSequence, growth: WantedGrowth) -> bool:
    """Reserves the window, or as much of it as there is.

    Returns:
        Whether at least the next forward has its pages; otherwise nothing has changed.
    """
    free = [ledger.free_pages(space.pool) for space in sequence.spaces]
    if any(pages < least for pages, least in zip(free, growth.least_pages, strict=True)):
        return False
    for space, pages, wanted in zip(sequence.spaces, free, growth.window_pages, strict=True):
        space.lease(min(pages, wanted))
    return True
