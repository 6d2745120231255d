"""How are many whole runs of memory moved in one launch, each from a numbered place to another?

Owns the one kernel behind page copies, packed extents and StateImages: on a GPU a copy of k pages
would otherwise be k calls. Bytes are moved as they are, in words, so that element types and NaN
mean nothing here. Does not know what a run holds, or who may write where.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from ninfer_kernels.jit import kernel
from ninfer_kernels.launch_form import LaunchForm, ShippedKernel

_WORDS = {4: torch.int32, 2: torch.int16, 1: torch.uint8}


@kernel
def copy_runs_kernel(
    source: tl.tensor,
    target: tl.tensor,
    source_ids: tl.tensor,
    target_ids: tl.tensor,
    source_stride: tl.tensor,
    target_stride: tl.tensor,
    run_words: tl.tensor,
    WORD_BLOCK: tl.constexpr,
) -> None:
    """Grid: runs, then blocks of a run."""
    run = tl.program_id(0)
    word = tl.program_id(1) * WORD_BLOCK + tl.arange(0, WORD_BLOCK)
    mask = word < run_words
    # A place's number times the words of a run may pass 2^31: numbers are int64.
    begin = source + tl.load(source_ids + run) * source_stride
    end = target + tl.load(target_ids + run) * target_stride
    tl.store(end + word, tl.load(begin + word, mask=mask), mask=mask)


def copy_runs(
    source: Tensor, target: Tensor, source_ids: Sequence[int], target_ids: Sequence[int]
) -> None:
    """`target[target_ids[i]]` becomes `source[source_ids[i]]`, for all i at once.

    Args:
        source: `[A, ...]`, contiguous behind its first dimension.
        target: `[B, ...]`, likewise, of the same type and shape behind the first dimension; may be
            `source`.
        source_ids: Below A.
        target_ids: Below B; each once, and where `target` is `source` none of the source ids.
    """
    assert source.shape[1:] == target.shape[1:], "runs of two shapes"
    assert source.dtype == target.dtype, "runs of two types"
    if not source_ids or source[0].numel() == 0:
        return
    source_words, target_words = _as_words(source), _as_words(target)
    run_words = source_words.shape[1]
    form = copy_form()
    blocks = triton.cdiv(run_words, int(form.constants["WORD_BLOCK"]))
    copy_runs_kernel[len(source_ids), blocks](
        source_words,
        target_words,
        torch.tensor(source_ids, dtype=torch.int64, device=source.device),
        torch.tensor(target_ids, dtype=torch.int64, device=source.device),
        source_words.stride(0),
        target_words.stride(0),
        run_words,
        **form.options,
    )


def copy_form() -> LaunchForm:
    """For runs of any length: 16 words a thread, in loads of 16 bytes where they are aligned."""
    return LaunchForm(constants={"WORD_BLOCK": 2048})


def shipped_copy(op: str) -> ShippedKernel:
    """The form of that op; the same for every geometry and type."""
    return ShippedKernel(
        op=op,
        kernel=copy_runs_kernel,
        geometry="any",
        dtype=torch.bfloat16,
        types={
            "source": "*i32",
            "target": "*i32",
            "source_ids": "*i64",
            "target_ids": "*i64",
            "source_stride": "i32",
            "target_stride": "i32",
            "run_words": "i32",
        },
        multiples_of_16=("source_stride", "target_stride", "run_words"),
        form=copy_form(),
    )


def _as_words(runs: Tensor) -> Tensor:
    """`[A, words]` in the widest word that divides a run and the place where runs begin."""
    assert runs[0].is_contiguous(), "runs with gaps"
    flat = runs.flatten(1)
    size = flat.element_size()
    steps = (flat.shape[1] * size, flat.stride(0) * size, flat.storage_offset() * size)
    word = next(width for width in _WORDS if all(step % width == 0 for step in steps))
    return flat.view(_WORDS[word])
