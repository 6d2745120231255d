"""How does a Triton kernel meet typed Python?

Owns the one seam: the decorator that makes a device function, and the type its launch has here. A
device function annotates what varies as `tl.tensor` (a pointer, a number or a block) and what it is
compiled for as `tl.constexpr`; its body may name no other type.
Importing this module imports Triton, which decides here and for the whole process whether kernels
are compiled for a GPU or interpreted on a CPU (`TRITON_INTERPRET=1`).
Does not know any kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import triton


class Kernel(Protocol):
    """A device function; `kernel[grid](...)` launches it, another device function calls it."""

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        """Its launch over `grid` programs."""
        ...

    def __call__(self, *arguments: Any) -> Any:
        """Its call from another device function."""
        ...


def kernel(function: Callable[..., Any]) -> Kernel:
    """Makes a device function of a Python one."""
    made: Kernel = triton.jit(function)
    return made


def interpreted() -> bool:
    """Whether this process interprets its kernels instead of compiling them."""
    return bool(triton.knobs.runtime.interpret)
