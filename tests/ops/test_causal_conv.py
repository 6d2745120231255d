"""Law: the convolution of a sequence does not depend on where it was cut, on whether it ran as
prefill or as decode, nor on other rows; its history is the last K-1 inputs.
"""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from ninfer_kernels.causal_conv import cpu, reference
from ops.convolution import convolved
from ops.rows import normal, relative_rms, state_rows

FORMS = [reference, cpu]
WIDTHS = (2, 3, 4)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("form", FORMS)
def test_prefill_reads_the_history_and_leaves_its_own(form: ModuleType, width: int) -> None:
    taps = normal(width, 10, seed=1)
    for token_count in (1, 2, 3, 4, 5, 40):
        # A view with a stride of its own, as the fused projection hands it over.
        inputs = normal(token_count, 16, seed=token_count)[:, 3:13]
        slots = normal(3, width - 1, 10, seed=2)
        before = slots.clone()
        found = form.prefill(inputs, taps, slots, state_rows([1], [2]))
        assert relative_rms(found, convolved(inputs, taps, before[1])) < 2e-6
        assert torch.equal(slots[2], torch.cat([before[1], inputs])[-(width - 1) :])
        assert torch.equal(slots[:2], before[:2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("read", "write"), [([5], [5]), ([0], [1]), ([5, 0, 2], [5, 1, 4])])
@pytest.mark.parametrize("form", FORMS)
def test_decode_advances_each_row_by_one(
    form: ModuleType, read: list[int], write: list[int], dtype: torch.dtype
) -> None:
    taps, inputs = normal(4, 10, seed=3), normal(len(read), 10, seed=4)
    slots = normal(6, 3, 10, seed=5).to(dtype)
    before = slots.clone()
    found = form.decode(inputs, taps, slots, state_rows(read, write))
    for row in range(len(read)):
        carried = before[read[row]].float()
        expected = convolved(inputs[row : row + 1], taps, carried)[0]
        assert relative_rms(found[row], expected) < 2e-6
        after = torch.cat([carried[1:], inputs[row : row + 1]]).to(dtype)
        assert torch.equal(slots[write[row]], after)
    untouched = [slot for slot in range(6) if slot not in write]
    assert torch.equal(slots[untouched], before[untouched])


@pytest.mark.parametrize("form", FORMS)
def test_a_cut_changes_nothing(form: ModuleType) -> None:
    taps, inputs = normal(4, 6, seed=6), normal(12, 6, seed=7)
    slots = torch.zeros(2, 3, 6)
    whole = form.prefill(inputs, taps, slots, state_rows([0], [0]))
    rows = state_rows([1], [1])
    pieces = [form.prefill(inputs[:1], taps, slots, rows)]
    pieces += [form.decode(inputs[token : token + 1], taps, slots, rows) for token in (1, 2)]
    pieces += [form.prefill(inputs[3:5], taps, slots, rows)]
    pieces += [form.prefill(inputs[5:], taps, slots, rows)]
    assert relative_rms(torch.cat(pieces), whole) < 2e-6
    assert torch.equal(slots[0], slots[1])


def test_outputs_have_the_type_of_the_inputs() -> None:
    taps, inputs = normal(4, 6, seed=6), normal(3, 6, seed=7).to(torch.bfloat16)
    slots = torch.zeros(1, 3, 6)
    for form in (reference.prefill, reference.decode):
        rows = state_rows([0] * 3, [0] * 3) if form is reference.decode else state_rows([0], [0])
        assert form(inputs, taps, slots, rows).dtype is torch.bfloat16
