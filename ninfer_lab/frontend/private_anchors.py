"""At which earlier points of a prompt may its private history want to be kept?

Owns the proposals that a prompt's own structure gives: its last message boundaries (ANC-1), and the
place before the last token of a raw prompt (ANC-2), which are outside every marker limit; and the
places that the caller marks, which are markers. All are chances and no part of identity. Does not
know which of them is taken, or kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ninfer_lab.contract.errors import PromptError
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


def anchors_after_messages(
    ordinals: Sequence[int], message_ends_tokens: Sequence[int | None], prompt_tokens: int
) -> tuple[AnchorProposal, ...]:
    """Where the caller of a chat wants a point kept; one that no token frontier inside the prompt
    meets is left out.

    Args:
        ordinals: Of messages, negative ones from the last.
        message_ends_tokens: Where each message ends, in order; `None` where no frontier does.

    Raises:
        PromptError: An ordinal that names no message.
    """
    count = len(message_ends_tokens)
    for ordinal in ordinals:
        if not -count <= ordinal < count:
            raise PromptError(
                "anchors_after", found=f"message {ordinal}", legal=f"{-count} to {count - 1}"
            )
    ends = [message_ends_tokens[ordinal] for ordinal in ordinals]
    return _marked(end for end in ends if end and end < prompt_tokens)


def anchors_at_frontiers(
    frontiers_tokens: Sequence[int], prompt_tokens: int
) -> tuple[AnchorProposal, ...]:
    """Where the caller of a raw prompt wants a point kept.

    Raises:
        PromptError: A frontier that is not inside the prompt.
    """
    for frontier in frontiers_tokens:
        if not 0 < frontier < prompt_tokens:
            raise PromptError(
                "anchors_tokens",
                found=f"frontier {frontier}",
                legal=f"1 to {prompt_tokens - 1}, inside the prompt",
            )
    return _marked(frontiers_tokens)


def merged_anchors(proposals: Iterable[AnchorProposal]) -> tuple[AnchorProposal, ...]:
    """One proposal for each frontier, ascending, with all the reasons for it (ANC-1).

    >>> boundary = AnchorProposal(frontier_tokens=40, origin=AnchorOrigin.MESSAGE_BOUNDARY)
    >>> marked = AnchorProposal(frontier_tokens=40, origin=AnchorOrigin.CALLER)
    >>> [each.origin for each in merged_anchors([boundary, marked])]
    [<AnchorOrigin.MESSAGE_BOUNDARY|CALLER: 5>]
    """
    origins: dict[int, AnchorOrigin] = {}
    for each in proposals:
        before = origins.get(each.frontier_tokens, AnchorOrigin(0))
        origins[each.frontier_tokens] = before | each.origin
    return tuple(
        AnchorProposal(frontier_tokens=frontier, origin=origins[frontier])
        for frontier in sorted(origins)
    )


def _marked(frontiers_tokens: Iterable[int]) -> tuple[AnchorProposal, ...]:
    return tuple(
        AnchorProposal(frontier_tokens=each, origin=AnchorOrigin.CALLER)
        for each in frontiers_tokens
    )
