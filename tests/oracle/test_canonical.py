"""Law: in canonical mode the bits of a row's logits, state and pages depend on its own tokens and
cuts alone: not on the rows beside it, and not on which slots and pages hold its context.
"""

# spec: IDN-6

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ninfer_lab.contract.numerics import ModelDtype, Numerics
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.models.qwen3_5.geometries import BENCH_12M
from ninfer_lab.models.qwen3_5.model import PrefillLogits
from ninfer_lab.models.qwen3_5.weights import random_weights
from oracle.served_model import GEOMETRIES, KERNEL_SETS, F, L, ServedModel, token_ids

WIDE = replace(BENCH_12M, vocab_size=1024, layer_kinds=(L, F))
"""Products as wide as a served model's: which product a library picks depends on the sizes."""

CASES = {
    "wide": WIDE,
    "narrow": GEOMETRIES["3:1, untied, wide heads"],
    "odd": GEOMETRIES["full layer first, narrow keys and wide values"],
}
PREFIX_CUTS = ((1,), (37,), (64, 97), (63, 64, 65, 66), (1, 2, 3, 5))


def model(case: str, kernels: str, dtype: ModelDtype = ModelDtype.FLOAT32) -> ServedModel:
    geometry = CASES[case]
    return ServedModel(
        geometry,
        random_weights(geometry, seed=31),
        kernels=KERNEL_SETS[kernels],
        numerics=Numerics.CANONICAL,
        dtype=dtype,
        sequence_tokens=256,
    )


def assert_same_memory(served: ServedModel, one: int, other: int) -> None:
    """State bit for bit, and pages up to the frontier."""
    first, second = served.sequences[one], served.sequences[other]
    for part, its_copy in zip(
        served.tensors.state_slice(first.slot), served.tensors.state_slice(second.slot), strict=True
    ):
        assert torch.equal(part, its_copy)
    for page in range(-(-first.frontier_tokens // PAGE_TOKENS)):
        used = min(first.frontier_tokens - page * PAGE_TOKENS, PAGE_TOKENS)
        assert torch.equal(
            served.tensors.page_slice(first.pages[page])[:, :, :used],
            served.tensors.page_slice(second.pages[page])[:, :, :used],
        )


@pytest.mark.parametrize("dtype", ModelDtype)
@pytest.mark.parametrize("kernels", KERNEL_SETS)
@pytest.mark.parametrize("case", CASES)
def test_a_row_has_the_same_bits_alone_and_in_every_batch(
    case: str, kernels: str, dtype: ModelDtype
) -> None:
    served = model(case, kernels, dtype)
    prompt = token_ids(CASES[case], 70, seed=32)
    observed = 0
    reference: list[torch.Tensor] = []
    served.prefill(observed, prompt)
    steps = token_ids(CASES[case], 7, seed=33)
    for token in steps:
        reference.append(served.decode({observed: token})[0])
    # The same row again, now beside 1 to 7 others at frontiers of their own, at every place.
    for others in range(1, 8):
        served.sequences[observed].frontier_tokens = 0
        served.prefill(observed, prompt)
        for lane in range(1, others + 1):
            if served.sequences[lane].frontier_tokens == 0:
                served.prefill(lane, token_ids(CASES[case], 5 * lane, seed=lane))
        for step, token in enumerate(steps):
            rows = {lane: (token + lane) % 300 for lane in range(1, others + 1)}
            place = step % (others + 1)
            order = [*list(rows)[:place], observed, *list(rows)[place:]]
            logits = served.decode({lane: rows.get(lane, token) for lane in order})
            assert torch.equal(logits[place], reference[step]), f"{others} others, step {step}"


@pytest.mark.parametrize("dtype", ModelDtype)
@pytest.mark.parametrize("kernels", KERNEL_SETS)
@pytest.mark.parametrize("case", CASES)
def test_a_restored_sequence_continues_with_the_bits_of_the_uninterrupted_one(
    case: str, kernels: str, dtype: ModelDtype
) -> None:
    served = model(case, kernels, dtype)
    tokens = token_ids(CASES[case], 130, seed=34)
    tail = token_ids(CASES[case], 60, seed=35)
    tail_cuts = (1, 3, 40)
    for cuts in PREFIX_CUTS:
        for lane in served.sequences:
            lane.frontier_tokens = 0
        served.prefill(0, tokens, cuts=cuts)
        served.restore(0, 1)
        assert_same_memory(served, 0, 1)
        uninterrupted = served.prefill(0, tail, cuts=tail_cuts)
        restored = served.prefill(1, tail, cuts=tail_cuts)
        assert torch.equal(uninterrupted, restored), f"cuts {cuts}"
        assert_same_memory(served, 0, 1)
        # A third sequence computes all of it from nothing, with the same cuts.
        served.prefill(2, tokens, cuts=cuts)
        assert torch.equal(served.prefill(2, tail, cuts=tail_cuts), uninterrupted)
        assert_same_memory(served, 0, 2)


@pytest.mark.parametrize("kernels", KERNEL_SETS)
def test_one_token_has_the_same_bits_as_prefill_and_as_a_decode_row(kernels: str) -> None:
    served = model("wide", kernels)
    for lane in range(5):
        served.prefill(lane, token_ids(WIDE, 50, seed=36))
    for token in token_ids(WIDE, 20, seed=37):
        as_prefill = served.prefill(0, (token,), logits=PrefillLogits.LAST)[0]
        as_rows = served.decode(dict.fromkeys(range(1, 5), token))
        assert all(torch.equal(as_prefill, row) for row in as_rows)
    assert_same_memory(served, 0, 4)


@pytest.mark.parametrize("kernels", KERNEL_SETS)
def test_one_thread_and_two_give_the_same_bits(kernels: str) -> None:
    tokens = token_ids(WIDE, 150, seed=38)
    found: list[torch.Tensor] = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            served = model("wide", kernels)
            logits = served.prefill(0, tokens, cuts=(64, 65))
            found.append(torch.cat([logits, served.decode({0: 5})]))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1])
