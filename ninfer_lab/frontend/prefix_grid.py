"""At which token counts would two prompts meet that share no boundary anybody named? (SHR-4)

Owns the grid: absolute multiples of a step, so that prompts of different lengths agree wherever
their tokens still do. Looks at no token.
"""

from __future__ import annotations

from ninfer_lab.contract.shared_prefix import GRID_STEP_TOKENS, MAX_GRID_POINTS


def grid_frontiers_tokens(prompt_tokens: int) -> tuple[int, ...]:
    """The grid's points inside a prompt, ascending.

    The step doubles until at most eight are left, so a longer prompt's points are among a shorter
    one's wherever both have them.

    Args:
        prompt_tokens: Length of the prompt; its end is no point of the grid.

    Example: 1,000 tokens have the points of the finest step, 5,000 need one of 1,024.

    >>> grid_frontiers_tokens(1_000)
    (256, 512, 768)
    >>> grid_frontiers_tokens(5_000)
    (1024, 2048, 3072, 4096)
    """
    step = GRID_STEP_TOKENS
    while (prompt_tokens - 1) // step > MAX_GRID_POINTS:
        step *= 2
    return tuple(range(step, prompt_tokens, step))
