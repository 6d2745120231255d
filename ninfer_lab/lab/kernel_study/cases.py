"""What is each op run on, when its kernels are compared with its reference?

Owns one small case per op: inputs from a seed, and everything the op returns or writes, as one
tuple of tensors. A case is a function of a `KernelSet`, so that reference and kernels are run by
the same code. What an op may write starts as NaN where nobody may read it.
Does not know how close is close enough, but for the bound that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.kernel_set import KernelSet
from ninfer_kernels.kv_pages.rows import PAGE_TOKENS, PagedRows, RowPlacement
from ninfer_kernels.kv_pages.scratch import GatherMeter
from ninfer_kernels.state_image.reference import packed_image_bytes
from ninfer_kernels.state_image.rows import StateRows

CPU = torch.device("cpu")
EPS = 1e-6
Outputs = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One op, and where its forms are.

    Attributes:
        folder: Of the op, below `ninfer_kernels`.
        reference: Functions of its `reference.py` that the case runs.
        kernels: Device functions that the case launches, as `module.name` below `ninfer_kernels`,
            in the order of their launches.
        parts: Device functions that those call, named alike.
        run: Runs the op on one `KernelSet`, pages and histories being of the given type.
        float32_bound: Relative RMS that two float32 forms may differ by; each may be half of it off
            from the exact result. 0 where nothing is rounded.
        bfloat16_bound: The same where what the op multiplies or returns is stored in bfloat16.
    """

    folder: str
    reference: tuple[str, ...]
    kernels: tuple[str, ...]
    run: Callable[[KernelSet, torch.dtype], Outputs]
    float32_bound: float
    bfloat16_bound: float
    parts: tuple[str, ...] = ()


def _normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _slots(read: Sequence[int], write: Sequence[int]) -> StateRows:
    return StateRows.build(read, write, CPU)


def _rows(spans: Sequence[tuple[int, int]]) -> tuple[PagedRows, int]:
    """Rows of `(start, new)` tokens on pages that lie in reverse; and how many pages there are."""
    counts = [-(-(start + new) // PAGE_TOKENS) for start, new in spans]
    free = list(range(sum(counts)))[::-1]
    placements = []
    for (start, new), count in zip(spans, counts, strict=True):
        ids, free = free[:count], free[count:]
        placements.append(RowPlacement(page_ids=ids, start_tokens=start, new_tokens=new))
    return PagedRows.build(placements, CPU), sum(counts)


def _append(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    rows, page_count = _rows([(60, 10), (3, 1)])
    pages = torch.full((page_count, 2, PAGE_TOKENS, 2, 32), torch.nan, dtype=dtype)
    kernels.append_kv(pages, _normal(11, 2, 32, seed=1), _normal(11, 2, 32, seed=2), rows)
    return (pages.nan_to_num(-1.0),)


def _pages(dtype: torch.dtype) -> Tensor:
    return _normal(5, 2, 2, PAGE_TOKENS, 2, 16, seed=3).to(dtype)


def _copy_pages(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    pages = _pages(dtype)
    kernels.copy_pages(pages, [0, 0, 4], [1, 2, 3])
    return (pages,)


def _extent(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    pages = _pages(dtype)
    extent = torch.full((3, *pages.shape[1:]), torch.nan, dtype=dtype)
    kernels.pack_extent(pages, [4, 1, 2], extent)
    kernels.unpack_extent(extent, pages, [0, 3, 1])
    return extent, pages


def _images(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    history = _normal(4, 2, 3, 40, seed=4).to(dtype)
    recurrent = _normal(4, 2, 2, 8, 8, seed=5)
    kernels.copy_slots(history, recurrent, [0], [1])
    images = torch.zeros(2, packed_image_bytes(history, recurrent), dtype=torch.uint8)
    kernels.snapshot(history, recurrent, [0, 2], images)
    kernels.restore(images, history, recurrent, [3, 1])
    return history, recurrent


def _attention(kernels: KernelSet, dtype: torch.dtype, spans: Sequence[tuple[int, int]]) -> Outputs:
    rows, page_count = _rows(spans)
    pages = torch.full((page_count, 2, PAGE_TOKENS, 2, 32), torch.nan, dtype=dtype)
    for row, (start, new) in enumerate(spans):
        filled, _ = _history(rows, row, start + new)
        count = start + new
        kernels.append_kv(
            pages, _normal(count, 2, 32, seed=row), _normal(count, 2, 32, seed=9 + row), filled
        )
    query = _normal(sum(new for _, new in spans), 8, 32, seed=20)
    attend = kernels.attention_decode if len(spans) > 1 else kernels.attention_prefill
    return (attend(query, pages, rows, GatherMeter()),)


def _history(rows: PagedRows, row: int, token_count: int) -> tuple[PagedRows, int]:
    ids = rows.row_page_ids[row].tolist()
    placement = RowPlacement(page_ids=ids, start_tokens=0, new_tokens=token_count)
    return PagedRows.build([placement], CPU), len(ids)


def _attention_prefill(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    return _attention(kernels, dtype, [(63, 40)])


def _attention_decode(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    return _attention(kernels, dtype, [(0, 1), (63, 1), (64, 1), (300, 1)])


def _convolution(
    kernels: KernelSet, dtype: torch.dtype, token_count: int, rows: StateRows
) -> Outputs:
    history = torch.full((4, 3, 96), torch.nan, dtype=dtype)
    for slot in set(rows.read_slots):
        history[slot] = _normal(3, 96, seed=slot)
    convolve = kernels.conv_prefill if len(rows.read_slots) == 1 else kernels.conv_decode
    output = convolve(_normal(token_count, 96, seed=6), _normal(4, 96, seed=7), history, rows)
    return output, history[list(rows.write_slots)]


def _conv_prefill(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    return _convolution(kernels, dtype, 37, _slots([0], [0]))


def _conv_decode(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    return _convolution(kernels, dtype, 3, _slots([0, 1, 1], [0, 2, 3]))


def _delta(kernels: KernelSet, dtype: torch.dtype, token_count: int, rows: StateRows) -> Outputs:
    state = torch.full((4, 4, 32, 32), torch.nan)
    for slot in set(rows.read_slots):
        state[slot] = _normal(4, 32, 32, seed=slot)
    # Keys with a direction in common: otherwise tokens would hardly touch each other.
    query_and_key = _normal(token_count, 2, 2, 32, seed=10) + _normal(32, seed=8)
    inputs = DeltaInputs(
        query_and_key=query_and_key.to(dtype),
        value=_normal(token_count, 4, 32, seed=11).to(dtype),
        log_decay=-_normal(token_count, 4, seed=12).exp() * 0.05,
        beta=_normal(token_count, 4, seed=13).sigmoid(),
    )
    advance = kernels.delta_prefill if len(rows.read_slots) == 1 else kernels.delta_decode
    return advance(inputs, state, rows), state[list(rows.write_slots)]


def _delta_prefill(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    return _delta(kernels, dtype, 50, _slots([1], [0]))


def _delta_decode(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    return _delta(kernels, dtype, 3, _slots([0, 1, 1], [0, 2, 3]))


def _norm(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    return (kernels.rms_norm(_normal(5, 128, seed=14).to(dtype), _normal(128, seed=15), EPS),)


def _gated_norm(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    rows, gate = _normal(5, 4, 32, seed=14).to(dtype), _normal(5, 4, 32, seed=16).to(dtype)
    return (kernels.gated_rms_norm(rows, gate, _normal(32, seed=15), EPS),)


def _head_norm(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    angle = torch.arange(5.0)[:, None] * torch.logspace(0, -2, 4)
    heads, scale = _normal(5, 6, 32, seed=17).to(dtype), _normal(6, 32, seed=18)
    return (kernels.head_norm_rope(heads, scale, angle.cos(), angle.sin(), EPS),)


def _gates(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    decay, beta = _normal(5, 4, seed=19).to(dtype), _normal(5, 4, seed=20).to(dtype)
    return kernels.delta_gates(decay, beta, _normal(4, seed=21).exp(), _normal(4, seed=22))


def _greedy(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    return (kernels.greedy(_normal(4, 512, seed=23).to(dtype)),)


def _draw(kernels: KernelSet, dtype: torch.dtype) -> Outputs:
    logits = (_normal(5000, seed=24) * 3.0).to(dtype)
    numbers = (0.0, 0.3, 0.7, 0.999)
    return (torch.tensor([kernels.draw(logits, 0.7, 100, 0.9, number) for number in numbers]),)


CASES = {
    "kv_pages append": Case(
        folder="kv_pages",
        reference=("append",),
        kernels=("kv_pages.triton.append_kernel",),
        run=_append,
        float32_bound=0.0,
        bfloat16_bound=0.0,
    ),
    "kv_pages copy": Case(
        folder="kv_pages",
        reference=("copy_pages",),
        kernels=("run_copy.copy_runs_kernel",),
        run=_copy_pages,
        float32_bound=0.0,
        bfloat16_bound=0.0,
    ),
    "kv_pages pack and unpack": Case(
        folder="kv_pages",
        reference=("pack_extent", "unpack_extent"),
        kernels=("run_copy.copy_runs_kernel",),
        run=_extent,
        float32_bound=0.0,
        bfloat16_bound=0.0,
    ),
    "state_image fork, snapshot, restore": Case(
        folder="state_image",
        reference=("copy_slots", "snapshot", "restore"),
        kernels=("run_copy.copy_runs_kernel",),
        run=_images,
        float32_bound=0.0,
        bfloat16_bound=0.0,
    ),
    "paged_attention prefill": Case(
        folder="paged_attention",
        reference=("prefill",),
        kernels=("paged_attention.triton.prefill_kernel",),
        parts=("paged_attention.softmax.scores_of", "paged_attention.softmax.softmax_step"),
        run=_attention_prefill,
        float32_bound=4e-6,
        bfloat16_bound=8e-3,
    ),
    "paged_attention decode": Case(
        folder="paged_attention",
        reference=("decode",),
        kernels=("paged_attention.triton.decode_kernel", "paged_attention.triton.merge_kernel"),
        parts=("paged_attention.softmax.scores_of", "paged_attention.softmax.softmax_step"),
        run=_attention_decode,
        float32_bound=4e-6,
        bfloat16_bound=8e-3,
    ),
    "causal_conv prefill": Case(
        folder="causal_conv",
        reference=("prefill",),
        kernels=("causal_conv.triton.prefill_kernel",),
        run=_conv_prefill,
        float32_bound=4e-6,
        bfloat16_bound=4e-6,
    ),
    "causal_conv decode": Case(
        folder="causal_conv",
        reference=("decode",),
        kernels=("causal_conv.triton.decode_kernel",),
        run=_conv_decode,
        float32_bound=4e-6,
        bfloat16_bound=4e-6,
    ),
    "gated_delta_rule prefill": Case(
        folder="gated_delta_rule",
        reference=("prefill", "_chunk"),
        kernels=(
            "gated_delta_rule.chunk_kernels.prepare_kernel",
            "gated_delta_rule.chunk_kernels.scan_kernel",
        ),
        parts=(
            "gated_delta_rule.chunk_kernels.chunk_products",
            "gated_delta_rule.chunk_kernels.unit_lower_inverse",
            "gated_delta_rule.chunk_kernels.store_keys",
            "gated_delta_rule.chunk_kernels.store_values",
        ),
        run=_delta_prefill,
        float32_bound=1e-5,
        bfloat16_bound=1e-5,
    ),
    "gated_delta_rule decode": Case(
        folder="gated_delta_rule",
        reference=("decode",),
        kernels=("gated_delta_rule.triton.step_kernel",),
        run=_delta_decode,
        float32_bound=1e-5,
        bfloat16_bound=1e-5,
    ),
    "norm_rope norm": Case(
        folder="norm_rope",
        reference=("rms_norm",),
        kernels=("norm_rope.triton.norm_kernel",),
        run=_norm,
        float32_bound=4e-6,
        bfloat16_bound=8e-3,
    ),
    "norm_rope gated norm": Case(
        folder="norm_rope",
        reference=("gated_rms_norm",),
        kernels=("norm_rope.triton.norm_kernel",),
        run=_gated_norm,
        float32_bound=4e-6,
        bfloat16_bound=8e-3,
    ),
    "norm_rope head norm and rotation": Case(
        folder="norm_rope",
        reference=("head_norm_rope",),
        kernels=("norm_rope.triton.head_kernel",),
        run=_head_norm,
        float32_bound=4e-6,
        bfloat16_bound=8e-3,
    ),
    "norm_rope delta gates": Case(
        folder="norm_rope",
        reference=("delta_gates",),
        kernels=("norm_rope.triton.gates_kernel",),
        run=_gates,
        float32_bound=4e-6,
        bfloat16_bound=4e-6,
    ),
    "sampling greedy": Case(
        folder="sampling",
        reference=("greedy",),
        kernels=("sampling.triton.greedy_kernel",),
        run=_greedy,
        float32_bound=0.0,
        bfloat16_bound=0.0,
    ),
    "sampling draw": Case(
        folder="sampling",
        reference=("draw",),
        kernels=("sampling.triton.weights_kernel", "sampling.triton.choose_kernel"),
        parts=("sampling.triton.running_in",),
        run=_draw,
        float32_bound=0.0,
        bfloat16_bound=0.0,
    ),
}
"""By the op's name in the compile table."""
