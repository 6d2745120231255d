"""In which compiled forms does a kernel ship?

Owns `LaunchForm`, what a launch fixes at compile time, and `ShippedKernel`, one form together with
all that a compiler must be told when no tensor is at hand. A kernel's launch and its declaration
take their form from the same function, so that what is compiled ahead of time is what runs.
Does not know Triton, chips or any kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from ninfer_kernels.jit import Kernel

Constant = int | float | bool | str
"""A value that a kernel is compiled for."""

ELEMENT_TYPES = {torch.float32: "fp32", torch.bfloat16: "bf16"}
"""Triton's names of the element types that weights and pages may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchForm:
    """What is fixed when a kernel is compiled.

    Attributes:
        constants: Value of every `tl.constexpr` argument, by name.
        warps: 32 threads each.
        stages: How many iterations of a loop have their loads in flight.
    """

    constants: Mapping[str, Constant]
    warps: int = 4
    stages: int = 1

    @property
    def options(self) -> dict[str, Constant]:
        """As a launch takes it: `kernel[grid](*arguments, **form.options)`."""
        return {**self.constants, "num_warps": self.warps, "num_stages": self.stages}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedKernel:
    """One form that ships.

    Attributes:
        op: Folder and phase, as the table names it: `paged_attention decode`.
        kernel: What is compiled.
        geometry: The model sizes whose shapes these are.
        dtype: Of the tensors whose type the model chooses.
        types: Triton's type of each argument that is no constant: `*fp32`, `*bf16`, `*i64`, `i32`,
            `fp32`. Pointers are declared as multiples of 16 bytes, as allocations are.
        multiples_of_16: The integer arguments that are so for these shapes; a launch sees that in
            the values and compiles for it.
        form: As the launch chooses it.
    """

    op: str
    kernel: Kernel
    geometry: str
    dtype: torch.dtype
    types: Mapping[str, str]
    multiples_of_16: tuple[str, ...] = ()
    form: LaunchForm
