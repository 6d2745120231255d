"""How is the causal convolution computed with few passes over memory?

Owns the same forms as `reference`; float32 inputs only. Taps are added in the same order as there.
Does not know what the channels are.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ninfer_kernels.state_image.rows import StateRows


def prefill(inputs: Tensor, taps: Tensor, history: Tensor, rows: StateRows) -> Tensor:
    """See `reference.prefill`."""
    carried = history[rows.read_slots[0]].to(inputs.dtype)
    padded = torch.cat([carried, inputs])  # [K-1+T, C]
    history[rows.write_slots[0]] = padded[-len(carried) :]
    token_count = len(inputs)
    summed = padded[:token_count] * taps[0]
    for j in range(1, len(taps)):
        summed.addcmul_(padded[j : j + token_count], taps[j])
    return F.silu(summed, inplace=True)


def decode(inputs: Tensor, taps: Tensor, history: Tensor, rows: StateRows) -> Tensor:
    """See `reference.decode`."""
    if len(inputs) == 1:
        return _one_row(inputs, taps, history, rows)
    carried = history.index_select(0, rows.read_index).to(inputs.dtype)
    padded = torch.cat([carried, inputs[:, None]], dim=1)  # [B, K, C]
    history.index_copy_(0, rows.write_index, padded[:, 1:].to(history.dtype))
    return F.silu((padded * taps).sum(dim=1), inplace=True)


def _one_row(inputs: Tensor, taps: Tensor, history: Tensor, rows: StateRows) -> Tensor:
    """A single row needs no gather."""
    padded = torch.cat([history[rows.read_slots[0]].to(inputs.dtype), inputs])  # [K, C]
    history[rows.write_slots[0]] = padded[1:]
    return F.silu((padded * taps).sum(dim=0, keepdim=True), inplace=True)
