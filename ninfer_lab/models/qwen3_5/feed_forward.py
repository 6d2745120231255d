"""What does the feed-forward half of a layer add?

Owns SwiGLU over a fused gate-and-value product. Does not know norms or residuals.
Source: Shazeer 2020, GLU variants.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from ninfer_kernels.kernel_set import KernelSet
from ninfer_lab.models.qwen3_5.weights import LayerWeights


class FeedForward:
    """The feed-forward half of one layer."""

    __slots__ = ("_down", "_gate_and_up")

    def __init__(self, weights: LayerWeights, kernels: KernelSet) -> None:
        self._gate_and_up = kernels.prepare_product(weights.gate_and_up)
        self._down = kernels.prepare_product(weights.down)

    def __call__(self, rows: Tensor) -> Tensor:
        """`[N, hidden]` to `[N, hidden]`."""
        gate, value = self._gate_and_up(rows).chunk(2, dim=-1)
        return self._down(F.silu(gate).mul_(value))
