"""For which shapes do kernels ship?

Owns the heads and widths of the dense Qwen3.5 sizes, two of which have the same mixers. A kernel
runs on other shapes as well; these are the ones that are compiled ahead of time and listed.
Does not know layers, weights or kernels. Source: what decides State and KV is checked against the
geometries of the public family; query heads and hidden sizes below 27B are as public pages tell
them, for want of a configuration to read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyShape:
    """What a kernel of one size is compiled for.

    Attributes:
        name: The sizes that have these mixers.
        hidden_sizes: Channels of the residual stream, one per size.
        rotary_dim: How much of a head is rotated.
    """

    name: str
    hidden_sizes: tuple[int, ...]
    query_heads: int
    kv_heads: int
    head_dim: int = 256
    rotary_dim: int = 64
    key_heads: int = 16
    value_heads: int
    key_dim: int = 128
    value_dim: int = 128
    conv_width: int = 4
    vocab: int = 248_320

    @property
    def kv_width(self) -> int:
        """Numbers of one side of one token in one layer's page."""
        return self.kv_heads * self.head_dim

    @property
    def conv_channels(self) -> int:
        """Queries, keys and values of a linear layer."""
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim


SMALL = FamilyShape(
    name="0.8B 2B", hidden_sizes=(1024, 2048), query_heads=8, kv_heads=2, value_heads=16
)
MIDDLE = FamilyShape(
    name="4B 9B", hidden_sizes=(2560, 4096), query_heads=16, kv_heads=4, value_heads=32
)
LARGE = FamilyShape(name="27B", hidden_sizes=(5120,), query_heads=24, kv_heads=4, value_heads=48)

FAMILY = (SMALL, MIDDLE, LARGE)
"""Smallest first."""
