"""Law: a product with a bfloat16 weight rounds its rows and nothing else; with a float32 weight it
rounds nothing.
"""

from __future__ import annotations

import pytest
import torch

from ninfer_kernels.product.gpu import prepare
from ops.rows import normal, relative_rms

TOLERANCE = {torch.float32: 1e-6, torch.bfloat16: 4e-3}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("count", [0, 1, 3, 65])
def test_rows_times_a_weight(count: int, dtype: torch.dtype, device: torch.device) -> None:
    rows, weight = normal(count, 96, seed=1).to(device), normal(40, 96, seed=2).to(device, dtype)
    found = prepare(weight)(rows)
    assert (found.shape, found.dtype) == ((count, 40), torch.float32)
    if count == 0:
        return
    exact = rows.double() @ weight.double().t()
    assert relative_rms(found, exact) < TOLERANCE[dtype]
    if dtype is torch.bfloat16:
        rounded = rows.bfloat16().double() @ weight.double().t()
        assert relative_rms(found, rounded) < TOLERANCE[torch.float32]
