"""Law: every form of a weight gives the same product, for any number of rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from ninfer_kernels.product import cpu, reference
from ops.rows import normal, relative_rms

Prepare = Callable[[Tensor], Callable[[Tensor], Tensor]]

ROW_COUNTS = (1, 2, 3, 7, 8, cpu.PACKED_ROWS, cpu.PACKED_ROWS + 1, 200)
SHAPES = ((96, 64), (1, 48), (50, 33), (2064, 256))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("prepare", [reference.prepare, cpu.prepare])
def test_float32_products_are_right_for_any_number_of_rows(
    prepare: Prepare, shape: tuple[int, int]
) -> None:
    weight = normal(*shape, seed=1)
    product = prepare(weight)
    for row_count in ROW_COUNTS:
        rows = normal(row_count, shape[1], seed=row_count)
        found = product(rows)
        assert found.shape == (row_count, shape[0])
        assert relative_rms(found, rows.double() @ weight.double().t()) < 1e-6


@pytest.mark.parametrize("prepare", [reference.prepare, cpu.prepare])
def test_bfloat16_weights_are_taken_at_their_stored_value(prepare: Prepare) -> None:
    weight = normal(80, 64, seed=2).bfloat16()
    product = prepare(weight)
    for row_count in ROW_COUNTS:
        rows = normal(row_count, 64, seed=row_count)
        found = product(rows)
        assert found.dtype == torch.float32
        # The rows themselves may be rounded to bfloat16 where the processor multiplies it.
        assert relative_rms(found, rows.double() @ weight.double().t()) < 2.0**-8


def test_the_packed_product_rounds_a_row_alike_in_any_company() -> None:
    # What the general product does not do, and why few rows go through the packed form.
    product = cpu.prepare(normal(2064, 256, seed=3))
    rows = normal(cpu.PACKED_ROWS, 256, seed=4)
    whole = product(rows)
    for count in range(2, 9):
        for first in range(0, 16, 3):
            assert torch.equal(product(rows[first : first + count]), whole[first : first + count])
