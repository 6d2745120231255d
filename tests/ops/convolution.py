"""The causal convolution in float64, tap by tap."""

from __future__ import annotations

import torch
from torch import Tensor


def convolved(inputs: Tensor, taps: Tensor, carried: Tensor) -> Tensor:
    """`[T, C]` of inputs `[T, C]`, taps `[K, C]` and carried columns `[K-1, C]`."""
    padded = torch.cat([carried.double(), inputs.double()])
    outputs = []
    for token in range(len(inputs)):
        summed = (padded[token : token + len(taps)] * taps.double()).sum(0)
        outputs.append(summed / (1.0 + torch.exp(-summed)))
    return torch.stack(outputs)
