"""How far is it?

Owns the one bar of the room: what takes longer than two seconds shows it (NB-2). Does not know what
is waited for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ninfer_lab.lab.calibration.samples import Tick


@contextmanager
def progress(name: str, total: int, *, is_shown: bool) -> Iterator[Tick]:
    """A bar that goes on by one with each tick, and is gone when it is full."""
    if not is_shown:
        yield lambda: None
        return
    from tqdm import tqdm  # an extra

    with tqdm(total=total, desc=name, leave=False, mininterval=0.5) as bar:

        def tick() -> None:
            bar.update()

        yield tick
