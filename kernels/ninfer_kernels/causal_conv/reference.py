"""What does the causal convolution of a linear layer give, and which columns does it leave behind?

Owns the readable form: `y[t] = silu(sum_j w[j] x[t - (K-1) + j])`, where the K-1 columns before the
first token come from a state slot.
Does not know what the channels are. Source: Qwen3.5's linear layers (kernel 4, no bias).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ninfer_kernels.state_image.rows import StateRows


def prefill(inputs: Tensor, taps: Tensor, history: Tensor, rows: StateRows) -> Tensor:
    """T tokens of one row.

    Args:
        inputs: `[T, C]`, T >= 1.
        taps: `[K, C]`, oldest tap first.
        history: One layer's view of the slots, `[slots, K-1, C]`, oldest column first; the write
            slot is written in place.
        rows: One row.

    Returns:
        `[T, C]` in the type of `inputs`.
    """
    carried = history[rows.read_slots[0]].to(inputs.dtype)
    padded = torch.cat([carried, inputs])  # [K-1+T, C]
    history[rows.write_slots[0]] = padded[-len(carried) :].to(history.dtype)
    token_count = len(inputs)
    summed = sum(taps[j] * padded[j : j + token_count] for j in range(len(taps)))
    return F.silu(torch.as_tensor(summed)).to(inputs.dtype)


def decode(inputs: Tensor, taps: Tensor, history: Tensor, rows: StateRows) -> Tensor:
    """One token of each of B rows; arguments as `prefill`, with `inputs` `[B, C]`."""
    carried = history[rows.read_index].to(inputs.dtype)
    padded = torch.cat([carried, inputs[:, None]], dim=1)  # [B, K, C]
    history[rows.write_index] = padded[:, 1:].to(history.dtype)
    return F.silu((padded * taps).sum(dim=1)).to(inputs.dtype)
