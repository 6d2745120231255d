"""Which token follows, given logits and a uniform number?

Owns greedy choice and the draw from a truncated distribution, in float64 and in one total order:
the larger logit first, the smaller token id among equals.
Does not know requests, seeds or positions. Source: top-p: Holtzman et al. 2019.
"""

from __future__ import annotations

import torch
from torch import Tensor

UNUSABLE_LOGITS = "logits: found NaN or no finite value; legal: at least one finite, none NaN"
"""What every form of `draw` says of them."""


def greedy(logits: Tensor) -> Tensor:
    """The largest logit of each row, the smallest id among equals; `[B, V]` to int64 `[B]`."""
    largest = logits.max(dim=-1, keepdim=True).values
    return (logits == largest).to(torch.uint8).argmax(dim=-1)


def draw(
    logits: Tensor, temperature: float, top_k: int | None, top_p: float, uniform: float
) -> int:
    """Draws one token.

    Kept are the `top_k` most probable tokens and of these the shortest leading part whose mass
    reaches `top_p` (at least one). The draw inverts the kept distribution, tokens in that same
    order.

    Args:
        logits: `[V]`.
        temperature: Divides the logits; above 0.
        top_k: Tokens to keep at most; `None` keeps all.
        top_p: Mass to keep, `0 < top_p <= 1`.
        uniform: In [0, 1).

    Raises:
        ValueError: A logit is NaN, or none is finite.
    """
    scaled = logits.double() / temperature
    if bool(scaled.isnan().any()) or not bool(scaled.isfinite().any()):
        raise ValueError(UNUSABLE_LOGITS)
    # A stable descending sort keeps equal logits in the order of their ids.
    ordered, token_ids = scaled.sort(descending=True, stable=True)
    if top_k is not None:
        ordered = ordered[:top_k]
    cumulated = ordered.softmax(dim=0).cumsum(dim=0)
    kept = len(ordered)
    if top_p < 1.0:
        kept = min(kept, int((cumulated < top_p).sum()) + 1)
    target = uniform * cumulated[kept - 1]
    chosen = int((cumulated[:kept] <= target).sum())
    return int(token_ids[min(chosen, kept - 1)])
