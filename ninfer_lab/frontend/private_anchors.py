"""At which earlier points of a prompt may its private history want to be kept?

Owns the proposals that a prompt's own structure gives: its last message boundaries (ANC-1), and the
place before the last token of a raw prompt (ANC-2). They are chances, outside every marker limit,
and no part of identity. Does not know which of them is taken, or kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from ninfer_lab.contract.prompt import AnchorOrigin, AnchorProposal
from ninfer_lab.contract.token_span import TokenSpan


def anchors_at_message_boundaries(
    message_ends_tokens: Sequence[int | None], prompt_tokens: int, *, limit_count: int
) -> tuple[AnchorProposal, ...]:
    """The last boundaries that lie between two messages.

    The place before the first message is no end of one, and the place after the last is covered by
    the endpoint and the rewrite checkpoints: neither is proposed.

    Args:
        message_ends_tokens: Where each message ends, in order; `None` where no frontier does.
        prompt_tokens: Of the whole prompt: an end that nothing follows is none inside.
        limit_count: Most proposals, N.

    Example:
        >>> ends = [12, 40, None, 90]
        >>> [a.frontier_tokens for a in anchors_at_message_boundaries(ends, 95, limit_count=2)]
        [12, 40]
        >>> [a.frontier_tokens for a in anchors_at_message_boundaries(ends, 95, limit_count=1)]
        [40]
    """
    *between, last = message_ends_tokens
    end_tokens = prompt_tokens if last is None else last
    inside = sorted({end for end in between if end and end < end_tokens})
    return tuple(
        AnchorProposal(frontier_tokens=end, origin=AnchorOrigin.MESSAGE_BOUNDARY)
        for end in inside[max(0, len(inside) - limit_count) :]
    )


def anchor_before_last_token(tokens: TokenSpan) -> tuple[AnchorProposal, ...]:
    """Where the same prompt, coming again, has one token left to compute; none in a prompt of one
    token.

    Example:
        >>> [each.frontier_tokens for each in anchor_before_last_token(TokenSpan(range(600)))]
        [599]
    """
    if len(tokens) < 2:
        return ()
    return (AnchorProposal(frontier_tokens=len(tokens) - 1, origin=AnchorOrigin.PROMPT_END),)
