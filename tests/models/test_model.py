"""Law: a forward reads the slot and pages it was given and writes only its write slot and its new
positions; a row that cannot run is refused before anything is written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from ninfer_kernels.kernel_set import KernelSet
from ninfer_lab.contract.numerics import Numerics
from ninfer_lab.models.qwen3_5.forward_rows import DecodeRow, PrefillRow
from ninfer_lab.models.qwen3_5.model import PrefillLogits
from ninfer_lab.models.qwen3_5.weights import random_weights
from oracle.served_model import KERNEL_SETS, SMALL, ServedModel, token_ids

PROMPT = token_ids(SMALL, 70, seed=1)
PAGES = (5, 2)


def model(kernels: str | KernelSet = "cpu", numerics: Numerics = Numerics.FAST) -> ServedModel:
    return ServedModel(
        SMALL,
        random_weights(SMALL, seed=2),
        kernels=KERNEL_SETS[kernels] if isinstance(kernels, str) else kernels,
        numerics=numerics,
        sequence_count=4,
        sequence_tokens=128,
    )


def prompt_row(**changes: Any) -> PrefillRow:
    row = PrefillRow(
        token_ids=PROMPT,
        start_tokens=0,
        page_ids=PAGES,
        state_read_slot=None,
        state_write_slot=1,
    )
    return replace(row, **changes)


def decode_row(**changes: Any) -> DecodeRow:
    row = DecodeRow(
        token_id=7,
        position_tokens=70,
        page_ids=PAGES,
        state_read_slot=1,
        state_write_slot=1,
    )
    return replace(row, **changes)


def memory(served: ServedModel) -> list[Tensor]:
    tensors = served.tensors
    return [part.clone() for part in (tensors.conv_history, tensors.recurrent, tensors.kv_pages)]


def same(one: Tensor, other: Tensor) -> bool:
    """Bit for bit; NaN is what unused memory holds."""
    return torch.equal(one.nan_to_num(nan=1e30), other.nan_to_num(nan=1e30))


@pytest.mark.parametrize("kernels", KERNEL_SETS)
def test_prefill_writes_its_slot_and_its_positions_only(kernels: str) -> None:
    served = model(kernels)
    before = memory(served)
    served.model.prefill(served.tensors, prompt_row())
    history, recurrent, pages = memory(served)
    others = [0, 2, 3]
    assert same(history[others], before[0][others])
    assert same(recurrent[others], before[1][others])
    untouched = [page for page in range(served.tensors.page_count) if page not in PAGES]
    assert same(pages[untouched], before[2][untouched])
    # The first page is full, the second holds tokens 64 to 69.
    assert pages[5].isfinite().all()
    assert pages[2][:, :, :6].isfinite().all()
    assert pages[2][:, :, 6:].isnan().all()


@pytest.mark.parametrize("numerics", Numerics)
@pytest.mark.parametrize("kernels", KERNEL_SETS)
def test_a_fork_leaves_its_source_and_continues_like_it(kernels: str, numerics: Numerics) -> None:
    # spec: STATE-2
    served = model(kernels, numerics)
    served.model.prefill(served.tensors, prompt_row())
    source = [part.clone() for part in served.tensors.state_slice(1)]
    forked = served.model.decode(served.tensors, [decode_row(state_write_slot=3)])
    assert all(
        torch.equal(part, old)
        for part, old in zip(served.tensors.state_slice(1), source, strict=True)
    )
    in_place = served.model.decode(served.tensors, [decode_row()])
    assert torch.equal(forked, in_place)
    for one, other in zip(
        served.tensors.state_slice(1), served.tensors.state_slice(3), strict=True
    ):
        assert torch.equal(one, other)


@pytest.mark.parametrize("kernels", KERNEL_SETS)
def test_the_root_state_does_not_depend_on_what_the_slot_held(kernels: str) -> None:
    served = model(kernels)
    first = served.model.prefill(served.tensors, prompt_row())  # over NaN
    again = served.model.prefill(served.tensors, prompt_row())  # over a used image
    assert torch.equal(first, again)
    one = served.model.prefill(served.tensors, prompt_row(token_ids=PROMPT[:1]))
    row = decode_row(token_id=PROMPT[0], position_tokens=0, state_read_slot=None)
    assert torch.equal(one, served.model.decode(served.tensors, [row]))


def test_logits_are_none_or_the_last_row_or_all_of_them() -> None:
    served = model()
    rows = {
        wanted: served.model.prefill(served.tensors, prompt_row(), wanted)
        for wanted in PrefillLogits
    }
    vocabulary = SMALL.vocab_size
    assert rows[PrefillLogits.NONE].shape == (0, vocabulary)
    assert rows[PrefillLogits.LAST].shape == (1, vocabulary)
    assert rows[PrefillLogits.ALL].shape == (70, vocabulary)
    torch.testing.assert_close(rows[PrefillLogits.LAST][0], rows[PrefillLogits.ALL][-1])


def test_pages_behind_the_frontier_may_be_given_early() -> None:
    served = model()
    expected = served.model.prefill(served.tensors, prompt_row())
    assert torch.equal(
        served.model.prefill(served.tensors, prompt_row(page_ids=(*PAGES, 0, 1))), expected
    )


BAD_PREFILLS: list[tuple[dict[str, Any], str]] = [
    ({"token_ids": ()}, "no tokens"),
    ({"token_ids": (0, SMALL.vocab_size)}, "token id: found 320"),
    ({"token_ids": (0, -1)}, "token id: found -1"),
    ({"page_ids": (5,)}, "found 1; legal: >= 2 pages"),
    ({"page_ids": (5, 8)}, "page id: found 8"),
    ({"page_ids": (-1, 5)}, "page id: found -1"),
    ({"state_write_slot": 4}, "state slot: found 4"),
    ({"state_write_slot": -1}, "state slot: found -1"),
    ({"state_read_slot": 4, "start_tokens": 3}, "state slot: found 4"),
    ({"start_tokens": 3}, "a row at 3 tokens"),
    ({"start_tokens": -1}, "a row at -1 tokens"),
    ({"state_read_slot": 0}, "a row at 0 tokens"),
]


@pytest.mark.parametrize(("change", "message"), BAD_PREFILLS)
def test_a_prefill_that_cannot_run_is_refused_with_nothing_written(
    change: dict[str, Any], message: str
) -> None:
    served = model()
    before = memory(served)
    with pytest.raises(ValueError, match=message):
        served.model.prefill(served.tensors, prompt_row(**change))
    assert all(map(same, memory(served), before))


BAD_DECODES: list[tuple[list[dict[str, Any]], str]] = [
    ([], "decode rows: found 0"),
    ([{}] * 9, "decode rows: found 9"),
    ([{"token_id": 320}], "token id: found 320"),
    ([{"page_ids": (5,)}], "legal: >= 2 pages"),
    ([{"state_read_slot": None}], "a row at 70 tokens"),
    ([{}, {"page_ids": (0, 1)}], "state slot 1: found written by row 0 and used by row 1"),
    ([{}, {"state_write_slot": 2}], "state slot 1: found written by row 0 and used by row 1"),
    ([{"state_write_slot": 3}, {"state_read_slot": 0, "state_write_slot": 3}], "state slot 3"),
]


@pytest.mark.parametrize("numerics", Numerics)
@pytest.mark.parametrize(("changes", "message"), BAD_DECODES)
def test_a_decode_that_cannot_run_is_refused_with_nothing_written(
    changes: list[dict[str, Any]], message: str, numerics: Numerics
) -> None:
    served = model(numerics=numerics)
    served.model.prefill(served.tensors, prompt_row())
    before = memory(served)
    with pytest.raises(ValueError, match=message):
        served.model.decode(served.tensors, [decode_row(**change) for change in changes])
    assert all(map(same, memory(served), before))


class OutOfMemory(Exception):
    """What a device raises in the middle of a forward."""


@pytest.mark.parametrize("survived_calls", range(7))
def test_a_forward_that_fails_midway_spoils_no_more_than_it_may_write(survived_calls: int) -> None:
    calls = 0

    def failing(rows: Tensor, scale: Tensor, eps: float) -> Tensor:
        nonlocal calls
        calls += 1
        if calls > limit:
            raise OutOfMemory
        return KERNEL_SETS["cpu"].rms_norm(rows, scale, eps)

    limit = 10**6
    served = model(replace(KERNEL_SETS["cpu"], rms_norm=failing))
    served.model.prefill(served.tensors, prompt_row())
    expected = served.model.decode(served.tensors, [decode_row(state_write_slot=2)])
    before = memory(served)
    limit = calls + survived_calls
    with pytest.raises(OutOfMemory):
        served.model.decode(served.tensors, [decode_row(token_id=9, state_write_slot=3)])
    history, recurrent, pages = memory(served)
    kept = [0, 1, 2]
    assert same(history[kept], before[0][kept])
    assert same(recurrent[kept], before[1][kept])
    others = [page for page in range(served.tensors.page_count) if page != PAGES[1]]
    assert same(pages[others], before[2][others])
    assert same(pages[PAGES[1]][:, :, :6], before[2][PAGES[1]][:, :, :6])
    # The source is whole, so that the step can be taken again.
    limit = 10**6
    again = served.model.decode(served.tensors, [decode_row(state_write_slot=3)])
    assert torch.equal(again, expected)
