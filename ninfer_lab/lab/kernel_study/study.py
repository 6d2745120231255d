"""How does a person study the kernels of this project on a laptop?

Owns `KernelStudy`, the one object of it: it sees to it that kernels are interpreted in this process
and compiled in another. Does not know what a case runs, nor how a walk is made.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import polars as pl
import torch
from torch import Tensor

from ninfer_kernels.kernel_set import reference_kernels, triton_kernels
from ninfer_lab.contract.errors import NinferLabError, OptionsError
from ninfer_lab.lab.kernel_study.beside import SideBySide
from ninfer_lab.lab.kernel_study.cases import CASES, Case
from ninfer_lab.lab.kernel_study.walk import Walk, watch

INTERPRET = "TRITON_INTERPRET"
TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class KernelStudy:
    """Every op beside its kernels, with no GPU at hand.

    Raises:
        NinferLabError: Triton is not installed, or was imported before and compiles here.

    Effects: from now on this process interprets its kernels.
    """

    __slots__ = ("_kernels", "_reference")

    def __init__(self) -> None:
        os.environ.setdefault(INTERPRET, "1")
        try:
            interpreted = import_module("ninfer_kernels.jit").interpreted()
        except ImportError as missing:
            raise NinferLabError(
                "triton", found=str(missing), legal="triton, on Linux: the extra `torch` brings it"
            ) from missing
        if not interpreted:
            raise NinferLabError(
                "a study of kernels",
                found="a process whose kernels are compiled",
                legal=f"{INTERPRET}=1 before Triton is imported; restart the kernel",
            )
        self._reference = reference_kernels()
        self._kernels = triton_kernels()

    @property
    def ops(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(CASES)

    def closeness(self, only: Sequence[str] | None = None) -> pl.DataFrame:
        """Every op run by its reference and by its kernels, in both types: how far they are apart.

        `distance` is the relative RMS of all that the op returns and writes; 0 is equality to the
        bit. `allowed` is twice what each may be off from the exact result.

        Raises:
            OptionsError: No such op.
        """
        cases = {op: _case(op) for op in (self.ops if only is None else only)}
        from tqdm import tqdm

        runs = [(op, case, name) for op, case in cases.items() for name in TYPES]
        rows = [
            {
                "op": op,
                "kernels": ", ".join(name.rpartition(".")[2] for name in case.kernels),
                "type": name,
                "distance": self._distance(case, TYPES[name]),
                "allowed": case.float32_bound if name == "float32" else case.bfloat16_bound,
            }
            for op, case, name in tqdm(runs, unit="run", leave=False)
        ]
        return pl.DataFrame(rows).with_columns(
            within=pl.col("distance") <= pl.col("allowed")  # equality where nothing is rounded
        )

    def beside(self, op: str) -> SideBySide:
        """An op's reference beside its kernels.

        Raises:
            OptionsError: No such op.
        """
        case = _case(op)
        reference = import_module(f"ninfer_kernels.{case.folder}.reference")
        written = (inspect.getsource(getattr(reference, name)) for name in case.reference)
        return SideBySide(
            op=op,
            reference="\n\n".join(each.rstrip() for each in written),
            kernels="\n\n".join(
                inspect.getsource(_function(name)).rstrip() for name in (*case.kernels, *case.parts)
            ),
        )

    def walk(self, op: str, *, kernel: str | None = None, program: int = 0) -> Walk:
        """One program of a kernel, statement by statement, in float32.

        Args:
            op: Which.
            kernel: Name of the device function; by default the op's first. It may be one that
                another calls: then calls are counted instead of programs.
            program: In the order in which the interpreter runs them.

        Raises:
            OptionsError: No such op, kernel or program.
        """
        case = _case(op)
        by_name = {name.rpartition(".")[2]: name for name in (*case.kernels, *case.parts)}
        chosen = next(iter(by_name)) if kernel is None else kernel
        if chosen not in by_name:
            raise OptionsError(f"kernel of {op}", found=chosen, legal=" or ".join(by_name))
        function = _function(by_name[chosen])
        return watch(function, program, lambda: case.run(self._kernels, torch.float32))

    def compiled(self, only: str = "") -> pl.DataFrame:
        """What kernels need of each chip: compiled in a process of its own, for no GPU is there.

        One row per kernel, in its largest form; registers are per thread, shared bytes per block of
        threads, beside the least that a chip has.

        Args:
            only: Ops whose folder holds this; all of them take a minute.

        Raises:
            NinferLabError: The compiler refused a kernel, or there is none.
        """
        lines = pl.DataFrame(list(_compiled(only)))
        kernel = ["op", "kernel", "geometry", "dtype", "warps"]
        by_chip = lines.pivot("chip", index=kernel, values="registers", sort_columns=False)
        chips = lines["chip"].unique(maintain_order=True).to_list()
        needs = lines.group_by(kernel, maintain_order=True).agg(
            pl.col("spilled_bytes").max(),
            pl.col("shared_bytes").max(),
            pl.col("shared_limit_bytes").min(),
            pl.col("cubin_bytes").min(),
        )
        named = by_chip.rename({chip: f"registers_{chip}" for chip in chips})
        return named.join(needs, on=kernel, maintain_order="left")

    def _distance(self, case: Case, dtype: torch.dtype) -> float:
        expected = case.run(self._reference, dtype)
        found = case.run(self._kernels, dtype)
        return _relative_rms(found, expected)


def _case(op: str) -> Case:
    if op not in CASES:
        raise OptionsError("op", found=op, legal=", ".join(CASES))
    return CASES[op]


def _function(name: str) -> Callable[..., Any]:
    """The device function of that name as it is written."""
    module, _, kernel = f"ninfer_kernels.{name}".rpartition(".")
    function: Callable[..., Any] = getattr(import_module(module), kernel).fn
    return function


def _relative_rms(found: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    """Over all tensors together; infinite where one holds NaN."""
    error = size = 0.0
    for left, right in zip(found, expected, strict=True):
        difference = left.double() - right.double()
        if left.shape != right.shape or bool(difference.isnan().any()):
            return float("inf")
        error += float(difference.square().sum())
        size += float(right.double().square().sum())
    return float((error / size) ** 0.5) if error else 0.0


def _compiled(only: str) -> Iterator[dict[str, object]]:
    """One answer per kernel and chip, as the compiling process gives them."""
    from tqdm import tqdm

    environment = {name: value for name, value in os.environ.items() if name != INTERPRET}
    command = [sys.executable, "-m", "ninfer_lab.lab.kernel_study.compiling", only]
    with subprocess.Popen(  # noqa: S603 - this project's own module
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        total = int(child.stdout.readline() or 0)
        answers = tqdm(child.stdout, total=total, unit="cubin", leave=False)
        yield from (json.loads(line) for line in answers)
        said = child.stderr.read().strip()
    if child.returncode or not total:
        raise NinferLabError(
            "compiling ahead of time",
            found=said.splitlines()[-1] if said else f"no kernel of {only!r}",
            legal="an op that ships kernels, and a compiler that takes them",
        )
