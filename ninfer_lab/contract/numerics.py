"""In which numbers does a model compute? The element type and the promise about bits.

Owns the two choices as values, so that options, events and presets can name them without tensors.
Does not know how either is carried out (`models` and `ninfer_kernels` do).
Source: spec IDN-6 (canonical mode).
"""

from __future__ import annotations

from enum import Enum


class Numerics(Enum):
    """What a forward promises about the bits of its result."""

    FAST = "fast"
    """Right within rounding. The bits of a row may depend on how many rows share the forward."""
    CANONICAL = "canonical"
    """A row's bits depend on its own tokens and on its own sequence of forward cuts, and on nothing
    else: neither on the other rows of the batch nor on which pages and slots hold its context. The
    rows of a batch are then computed one by one."""


class ModelDtype(Enum):
    """Element type of weights, KV pages and convolution history; recurrent state is float32."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return 4 if self is ModelDtype.FLOAT32 else 2
