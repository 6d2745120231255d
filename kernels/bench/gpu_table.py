"""How fast is each kernel on this GPU, against what the GPU can do and against the usual library?

Owns the command, the measurement and the table. `python kernels/bench/gpu_table.py` measures; with
`--check` it runs every case once on a small shape wherever this process runs its kernels, a GPU or
the interpreter, and measures nothing. Flash-linear-attention is compared with where it is
installed.
Does not know what is measured (`cases`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
import triton
from cases import Case, Size, cases

from ninfer_kernels.family_shapes import FAMILY, FamilyShape
from ninfer_kernels.jit import interpreted
from ninfer_kernels.kernel_set import triton_kernels

SMALL = FamilyShape(
    name="check",
    hidden_sizes=(48,),
    query_heads=4,
    kv_heads=2,
    head_dim=32,
    rotary_dim=16,
    key_heads=2,
    value_heads=4,
    key_dim=16,
    value_dim=16,
    vocab=300,
)
"""A shape that the interpreter is through with in seconds."""

HEAD = (
    "op",
    "geometry",
    "dtype",
    "work",
    "time, us",
    "MB",
    "GFLOP",
    "GB/s",
    "TFLOP/s",
    "of the ceiling",
    "the usual library",
)

NO_GPU = (
    "kernels/bench: found no GPU that torch can use; legal: a machine with one. Without, "
    "`make kernels-table` shows what each kernel needs of a chip, and `--check` runs every case."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What this GPU does at best, measured on it.

    Attributes:
        bytes_per_s: Of a copy of 1 GiB, read and written.
        operations_per_s: Of a product of two square matrices of that element type.
    """

    bytes_per_s: float
    operations_per_s: float


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; exit code 2 where nothing can be measured."""
    parser = argparse.ArgumentParser(prog="python kernels/bench/gpu_table.py")
    parser.add_argument("--check", action="store_true", help="run every case once, measure nothing")
    parser.add_argument("--only", default="", help="ops whose name holds this")
    options = parser.parse_args(arguments)
    has_gpu = torch.cuda.is_available() and not interpreted()
    if options.check:
        return _check(torch.device("cuda" if has_gpu else "cpu"), options.only)
    if not has_gpu:
        sys.stderr.write(NO_GPU + "\n")
        return 2
    device = torch.device("cuda")
    sys.stdout.write(f"{torch.cuda.get_device_name(device)}, triton {triton.__version__}\n\n")
    sys.stdout.write(_line(HEAD) + _line(["---"] * len(HEAD)))
    for dtype in (torch.bfloat16, torch.float32):
        ceiling = _ceiling(dtype, device)
        for shape in FAMILY:
            for case in _family_cases(shape, dtype, device):
                if options.only in case.op:
                    sys.stdout.write(_line(_measured(case, shape.name, dtype, ceiling)))
                    sys.stdout.flush()
    return 0


def _family_cases(shape: FamilyShape, dtype: torch.dtype, device: torch.device) -> chain[Case]:
    """A prefill of 2,048 tokens; decodes of one row and of eight, behind 16,384."""
    sizes = [
        Size(
            shape=shape,
            dtype=dtype,
            device=device,
            new_tokens=2_048,
            history_tokens=16_384,
            rows=rows,
            page_copies=16,
        )
        for rows in (8, 1)
    ]
    every = cases(triton_kernels(), sizes[0])
    one_row = (case for case in cases(triton_kernels(), sizes[1]) if "decode" in case.op)
    return chain(every, one_row)


def _check(device: torch.device, only: str) -> int:
    """Runs every case once on the small shape."""
    for dtype in (torch.bfloat16, torch.float32):
        size = Size(
            shape=SMALL,
            dtype=dtype,
            device=device,
            new_tokens=70,
            history_tokens=100,
            rows=2,
            page_copies=2,
        )
        for case in cases(triton_kernels(), size):
            if only not in case.op:
                continue
            case.run()
            if case.rival is not None:
                case.rival[1]()
            sys.stdout.write(f"{case.op}, {case.work}, {dtype}: ran\n")
    return 0


def _ceiling(dtype: torch.dtype, device: torch.device) -> Ceiling:
    source = torch.empty(2**30, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    side = 8_192
    left, right = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
    return Ceiling(
        bytes_per_s=2 * source.numel() / _seconds(lambda: target.copy_(source)),
        operations_per_s=2 * side**3 / _seconds(lambda: left @ right),
    )


def _seconds(run: Callable[[], object]) -> float:
    """The median of many runs, each with a cold second-level cache."""
    return float(triton.testing.do_bench(run, return_mode="median")) / 1_000


def _measured(case: Case, geometry: str, dtype: torch.dtype, ceiling: Ceiling) -> list[str]:
    seconds = _seconds(case.run)
    least = max(case.moved_bytes / ceiling.bytes_per_s, case.operations / ceiling.operations_per_s)
    library = "–"
    if case.rival is not None:
        name, run = case.rival
        library = f"{_seconds(run) / seconds:.2f} times as fast as {name}"
    return [
        case.op,
        geometry,
        str(dtype).removeprefix("torch."),
        case.work,
        f"{seconds * 1e6:.1f}",
        f"{case.moved_bytes / 1e6:.2f}",
        f"{case.operations / 1e9:.3f}",
        f"{case.moved_bytes / seconds / 1e9:.0f}",
        f"{case.operations / seconds / 1e12:.2f}",
        f"{least / seconds:.0%}",
        library,
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    raise SystemExit(main())
