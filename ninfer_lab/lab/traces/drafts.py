"""How do the requests of a file become a trace?

Owns the requests as a reader has them at first, and the last steps that all formats share: the
order of arrivals, and who is followed by whom. Does not know any format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ninfer_lab.lab.traces.trace import BlockIds, Trace, TraceRequest


@dataclass(slots=True, kw_only=True, eq=False)
class Draft:
    """A request while a trace is read.

    Attributes:
        arrival_ns: Since whatever the file counts from.
        follower: The request whose prompt begins with this one's.
    """

    line: int
    arrival_ns: int
    input_tokens: int
    output_tokens: int
    blocks: BlockIds
    conversation: str | None = None
    follower: Draft | None = None


def settled(name: str, block_tokens: int, drafts: Sequence[Draft]) -> Trace:
    """The trace of all drafts, its first arrival at 0."""
    ordered = sorted(drafts, key=lambda draft: draft.arrival_ns)  # stable: the file's order
    ordinals = {id(draft): ordinal for ordinal, draft in enumerate(ordered)}
    start_ns = ordered[0].arrival_ns if ordered else 0
    requests = tuple(
        TraceRequest(
            line=draft.line,
            arrival_ns=draft.arrival_ns - start_ns,
            input_tokens=draft.input_tokens,
            output_tokens=draft.output_tokens,
            blocks=draft.blocks,
            conversation=draft.conversation,
            followed_by=None if draft.follower is None else ordinals[id(draft.follower)],
        )
        for draft in ordered
    )
    return Trace(name=name, block_tokens=block_tokens, requests=requests)
