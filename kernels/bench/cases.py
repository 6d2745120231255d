"""What is measured of each op, and against what?

Owns the cases: an op of a `KernelSet` on tensors of one size, the bytes that it cannot avoid to
move and the operations that it cannot avoid to do, and the same work as the usual library does it,
on tensors in the form which that library likes. Does not know time, chips or tables.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right

from ninfer_kernels.family_shapes import FamilyShape
from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.kernel_set import KernelSet
from ninfer_kernels.kv_pages.rows import PAGE_TOKENS, PagedRows, RowPlacement
from ninfer_kernels.kv_pages.scratch import GatherMeter
from ninfer_kernels.state_image.rows import StateRows

EPS = 1e-6
FLOAT_BYTES = 4
"""Activations and recurrent state are float32 in every model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much of a model's work one table is about.

    Attributes:
        dtype: Of pages and convolution history.
        new_tokens: Of a prefill.
        history_tokens: Before a prefill, and of every row of a decode.
        rows: Of a decode.
        page_copies: Pages that one copy moves.
    """

    shape: FamilyShape
    dtype: torch.dtype
    device: torch.device
    new_tokens: int
    history_tokens: int
    rows: int
    page_copies: int

    @property
    def element_bytes(self) -> int:
        """Of a number in a page."""
        return self.dtype.itemsize

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Standard normal numbers where the kernels run."""
        return torch.randn(shape, device=self.device).to(dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line of the table.

    Attributes:
        run: The op.
        rival: The usual library's, and its name; `None` where no library has the op, or where it is
            not installed.
    """

    op: str
    work: str
    run: Callable[[], object]
    rival: tuple[str, Callable[[], object]] | None
    moved_bytes: int
    operations: int


def cases(kernels: KernelSet, size: Size) -> Iterator[Case]:
    """Every op of the set, on that size."""
    yield from _page_cases(kernels, size)
    yield from _attention_cases(kernels, size)
    yield from _convolution_cases(kernels, size)
    yield from _delta_cases(kernels, size)
    yield from _norm_cases(kernels, size)
    yield from _sampling_cases(kernels, size)


def _rows(size: Size, start: int, new: int, count: int) -> tuple[PagedRows, int]:
    """So many rows at one frontier, on pages of their own in random order; and the page count."""
    each = -(-(start + new) // PAGE_TOKENS)
    order = torch.randperm(each * count).tolist()
    placements = [
        RowPlacement(
            page_ids=order[row * each : (row + 1) * each], start_tokens=start, new_tokens=new
        )
        for row in range(count)
    ]
    return PagedRows.build(placements, size.device), each * count


def _page_cases(kernels: KernelSet, size: Size) -> Iterator[Case]:
    shape, copies = size.shape, size.page_copies
    rows, page_count = _rows(size, 0, size.new_tokens, 1)
    layer = (2, PAGE_TOKENS, shape.kv_heads, shape.head_dim)
    layer_pages = size.normal(page_count, *layer, dtype=size.dtype)
    keys, values = (size.normal(size.new_tokens, shape.kv_heads, shape.head_dim) for _ in range(2))
    numbers = 2 * size.new_tokens * shape.kv_width
    yield Case(
        op="kv_pages append",
        work=f"{size.new_tokens} tokens",
        run=lambda: kernels.append_kv(layer_pages, keys, values, rows),
        rival=None,
        moved_bytes=numbers * (FLOAT_BYTES + size.element_bytes),
        operations=0,
    )
    pages = size.normal(2 * copies, 4, *layer, dtype=size.dtype)
    sources, targets = list(range(copies)), list(range(copies, 2 * copies))
    index = torch.tensor(sources, device=size.device)
    extent = torch.empty_like(pages[:copies])
    apart = pages[:copies].clone()
    moved = 2 * extent.numel() * size.element_bytes
    work = f"{copies} pages of 4 layers"
    yield Case(
        op="kv_pages copy",
        work=work,
        run=lambda: kernels.copy_pages(pages, sources, targets),
        rival=("index_copy", lambda: pages.index_copy_(0, index + copies, apart)),
        moved_bytes=moved,
        operations=0,
    )
    yield Case(
        op="kv_pages pack",
        work=work,
        run=lambda: kernels.pack_extent(pages, sources, extent),
        rival=("index_select", lambda: torch.index_select(pages, 0, index, out=extent)),
        moved_bytes=moved,
        operations=0,
    )
    history = size.normal(2, 12, shape.conv_width - 1, shape.conv_channels, dtype=size.dtype)
    state = size.normal(2, 12, shape.value_heads, shape.key_dim, shape.value_dim)

    def copy_image() -> None:
        history[1].copy_(history[0])
        state[1].copy_(state[0])

    yield Case(
        op="state_image fork",
        work="12 layers",
        run=lambda: kernels.copy_slots(history, state, [0], [1]),
        rival=("two copies", copy_image),
        moved_bytes=history.numel() * size.element_bytes + state.numel() * FLOAT_BYTES,
        operations=0,
    )


def _attention_cases(kernels: KernelSet, size: Size) -> Iterator[Case]:
    shape, new, start = size.shape, size.new_tokens, size.history_tokens
    heads, dim, meter = shape.query_heads, shape.head_dim, GatherMeter()
    layer = (2, PAGE_TOKENS, shape.kv_heads, dim)
    for history in (0, start):
        rows, page_count = _rows(size, history, new, 1)
        pages = size.normal(page_count, *layer, dtype=size.dtype)
        query = size.normal(new, heads, dim)
        keys, values = _contiguous(pages, rows, 0)
        mask = causal_lower_right(new, history + new)
        yield Case(
            op="paged_attention prefill",
            work=f"{new} tokens behind {history}",
            run=partial(kernels.attention_prefill, query, pages, rows, meter),
            rival=("SDPA", partial(_sdpa, query.to(size.dtype), keys, values, mask)),
            moved_bytes=2 * new * heads * dim * FLOAT_BYTES
            + 2 * (history + new) * shape.kv_width * size.element_bytes,
            operations=4 * heads * dim * (new * history + new * (new + 1) // 2),
        )
    rows, page_count = _rows(size, start - 1, 1, size.rows)
    pages = size.normal(page_count, *layer, dtype=size.dtype)
    query = size.normal(size.rows, heads, dim)
    sides = [_contiguous(pages, rows, row) for row in range(size.rows)]
    keys, values = (torch.cat(side) for side in zip(*sides, strict=True))
    asked = query.to(size.dtype)[:, :, None]
    yield Case(
        op="paged_attention decode",
        work=f"{size.rows} rows at {start}",
        run=lambda: kernels.attention_decode(query, pages, rows, meter),
        rival=(
            "SDPA",
            lambda: F.scaled_dot_product_attention(asked, keys, values, enable_gqa=True),
        ),
        moved_bytes=2 * size.rows * heads * dim * FLOAT_BYTES
        + 2 * size.rows * start * shape.kv_width * size.element_bytes,
        operations=4 * size.rows * heads * dim * start,
    )


def _sdpa(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """The queries `[T, H, D]` of one row against `[1, HKV, L, D]`."""
    heads_first = query.transpose(0, 1)[None]
    return F.scaled_dot_product_attention(
        heads_first, keys, values, attn_mask=mask, enable_gqa=True
    )


def _contiguous(pages: Tensor, rows: PagedRows, row: int) -> tuple[Tensor, Tensor]:
    """A row's keys and values as SDPA likes them, `[1, HKV, L, D]`."""
    gathered = pages[rows.row_page_ids[row]]
    length = rows.length_tokens[row]
    keys, values = (
        gathered[:, side].flatten(0, 1)[:length].transpose(0, 1)[None].contiguous()
        for side in (0, 1)
    )
    return keys, values


def _convolution_cases(kernels: KernelSet, size: Size) -> Iterator[Case]:
    shape = size.shape
    channels, width = shape.conv_channels, shape.conv_width
    taps = size.normal(width, channels)
    history = size.normal(size.rows + 1, width - 1, channels, dtype=size.dtype)
    for count, row_count, run in (
        (size.new_tokens, 1, kernels.conv_prefill),
        (size.rows, size.rows, kernels.conv_decode),
    ):
        inputs = size.normal(count, channels)
        slots = list(range(row_count))
        rows = StateRows.build(slots, slots, size.device)
        wide = F.pad(inputs.t()[None], (width - 1, 0))
        weight = taps.t()[:, None].contiguous()
        yield Case(
            op=f"causal_conv {'prefill' if row_count == 1 else 'decode'}",
            work=f"{count} {'tokens' if row_count == 1 else 'rows'}",
            run=partial(run, inputs, taps, history, rows),
            rival=("conv1d, silu", partial(_conv1d, wide, weight)) if row_count == 1 else None,
            moved_bytes=2 * count * channels * FLOAT_BYTES
            + 2 * row_count * (width - 1) * channels * size.element_bytes,
            operations=2 * width * count * channels,
        )


def _conv1d(wide: Tensor, weight: Tensor) -> Tensor:
    """One row's channels `[1, C, K-1+T]` with their taps `[C, 1, K]`."""
    return F.silu(F.conv1d(wide, weight, groups=len(weight)), inplace=True)


def _delta_cases(kernels: KernelSet, size: Size) -> Iterator[Case]:
    shape = size.shape
    heads, key, value = shape.value_heads, shape.key_dim, shape.value_dim
    state = size.normal(size.rows + 1, heads, key, value)
    for count, row_count, run, rival_name in (
        (size.new_tokens, 1, kernels.delta_prefill, "chunk_gated_delta_rule"),
        (size.rows, size.rows, kernels.delta_decode, "fused_recurrent_gated_delta_rule"),
    ):
        inputs = DeltaInputs(
            query_and_key=size.normal(count, 2, shape.key_heads, key),
            value=size.normal(count, heads, value),
            log_decay=-torch.rand(count, heads, device=size.device),
            beta=torch.rand(count, heads, device=size.device),
        )
        slots = list(range(row_count))
        rows = StateRows.build(slots, slots, size.device)
        numbers = count * (2 * shape.key_heads * key + 2 * heads * value + 2 * heads)
        yield Case(
            op=f"gated_delta_rule {'prefill' if row_count == 1 else 'decode'}",
            work=f"{count} {'tokens' if row_count == 1 else 'rows'}",
            run=partial(run, inputs, state, rows),
            rival=_flash_linear_attention(rival_name, inputs, state[:row_count], row_count),
            moved_bytes=FLOAT_BYTES * (numbers + 2 * row_count * heads * key * value),
            # Read, write and query of the state, whatever form they take.
            operations=6 * count * heads * key * value,
        )


def _flash_linear_attention(
    name: str, inputs: DeltaInputs, state: Tensor, row_count: int
) -> tuple[str, Callable[[], object]] | None:
    """The op of that library on `[rows, tokens, heads, dim]`; heads of a key are repeated first."""
    try:
        library: Any = importlib.import_module("fla.ops.gated_delta_rule")
    except ImportError:
        return None
    repeats = inputs.value.shape[1] // inputs.query_and_key.shape[2]
    query, keys = inputs.query_and_key.repeat_interleave(repeats, 2).bfloat16().unbind(1)
    tokens = (query, keys, inputs.value.bfloat16(), inputs.log_decay, inputs.beta)
    rows = [part.unflatten(0, (row_count, -1)).contiguous() for part in tokens]  # type: ignore[no-untyped-call]
    run = getattr(library, name)
    keep = {"output_final_state": True, "use_qk_l2norm_in_kernel": True}
    return f"fla {name}", lambda: run(*rows, initial_state=state, **keep)


def _norm_cases(kernels: KernelSet, size: Size) -> Iterator[Case]:
    shape, count, width = size.shape, size.new_tokens, size.shape.hidden_sizes[-1]
    hidden, scale = size.normal(count, width), size.normal(width)
    yield Case(
        op="norm_rope rms_norm",
        work=f"{count} x {width}",
        run=lambda: kernels.rms_norm(hidden, scale, EPS),
        rival=("rms_norm", lambda: F.rms_norm(hidden, (width,), scale, EPS)),
        moved_bytes=2 * hidden.numel() * FLOAT_BYTES,
        operations=4 * hidden.numel(),
    )
    read = size.normal(count, shape.value_heads, shape.value_dim)
    gate, head_scale = torch.randn_like(read), size.normal(shape.value_dim)
    yield Case(
        op="norm_rope gated_rms_norm",
        work=f"{count} x {shape.value_heads} x {shape.value_dim}",
        run=lambda: kernels.gated_rms_norm(read, gate, head_scale, EPS),
        rival=None,
        moved_bytes=3 * read.numel() * FLOAT_BYTES,
        operations=8 * read.numel(),
    )
    heads = size.normal(count, shape.query_heads + shape.kv_heads, shape.head_dim)
    scales = size.normal(*heads.shape[1:])
    cosine, sine = (size.normal(count, shape.rotary_dim // 2) for _ in range(2))
    yield Case(
        op="norm_rope head_norm_rope",
        work=f"{count} x {heads.shape[1]} x {heads.shape[2]}",
        run=lambda: kernels.head_norm_rope(heads, scales, cosine, sine, EPS),
        rival=None,
        moved_bytes=2 * heads.numel() * FLOAT_BYTES,
        operations=7 * heads.numel(),
    )
    decay, beta = (size.normal(count, shape.value_heads) for _ in range(2))
    rate, bias = (torch.rand(shape.value_heads, device=size.device) for _ in range(2))
    yield Case(
        op="norm_rope delta_gates",
        work=f"{count} x {shape.value_heads}",
        run=lambda: kernels.delta_gates(decay, beta, rate, bias),
        rival=None,
        moved_bytes=4 * decay.numel() * FLOAT_BYTES,
        operations=10 * decay.numel(),
    )


def _sampling_cases(kernels: KernelSet, size: Size) -> Iterator[Case]:
    logits = size.normal(size.rows, size.shape.vocab)
    yield Case(
        op="sampling greedy",
        work=f"{size.rows} x {size.shape.vocab}",
        run=lambda: kernels.greedy(logits),
        rival=("argmax", lambda: logits.argmax(dim=-1)),
        moved_bytes=logits.numel() * FLOAT_BYTES,
        operations=logits.numel(),
    )
    yield Case(
        op="sampling draw",
        work=f"1 x {size.shape.vocab}",
        run=lambda: kernels.draw(logits[0], 0.8, 40, 0.95, 0.5),
        rival=None,
        moved_bytes=logits[0].numel() * FLOAT_BYTES,
        operations=logits[0].numel(),
    )
