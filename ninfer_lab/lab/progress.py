"""How far along is something that takes a while?

Owns the one bar that notebooks show for it. Does not know what takes so long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def counted(things: Sequence[T], unit: str, *, is_shown: bool) -> Iterable[T]:
    """The same things, counted by a bar that is gone when the last one is done.

    Args:
        unit: What one of them is called.
        is_shown: Without it nothing is shown, and nothing is asked of an extra.
    """
    if not is_shown:
        return things
    from tqdm import tqdm  # an extra

    bar: Iterable[T] = tqdm(things, unit=unit, leave=False)
    return bar
