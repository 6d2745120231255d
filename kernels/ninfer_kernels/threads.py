"""When is work too small to be shared between threads?

Owns the one place that changes how many threads torch computes with, for the length of a block.
Waking a sleeping thread takes some 30 us; an op that is over sooner is faster alone. Does not know
what is computed; who calls it has measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread(*, when: bool) -> Iterator[None]:
    """Inside the block torch computes with one thread, if `when`; afterwards as before.

    Effects: the count is the process's own while the block is open.
    """
    before = torch.get_num_threads()
    if not when or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
