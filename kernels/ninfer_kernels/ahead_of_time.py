"""What does each shipped kernel need of each chip, compiled with no GPU at hand?

Owns the compilation of a `ShippedKernel` to a cubin, the reading of what the assembler says of it
(registers, spilled bytes) and of the shared memory it asks for, the chips with their limits, and
the table of it all. `python -m ninfer_kernels.ahead_of_time` prints the whole table; `--sample` one
geometry per kernel and chip; `--json` for programs.
Does not know what a kernel computes. A process that interprets its kernels cannot compile them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

import ninfer_kernels
from ninfer_kernels.jit import interpreted
from ninfer_kernels.launch_form import ELEMENT_TYPES, ShippedKernel

TABLE_BEGINS = "<!-- table of `make kernels-table` -->"
TABLE_ENDS = "<!-- end of the table -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """What a kernel must fit.

    Attributes:
        capability: 80 for compute capability 8.0, and so on.
        shared_limit_bytes: Shared memory that one block of threads may have.
    """

    name: str
    capability: int
    shared_limit_bytes: int


CHIPS = (
    Chip(name="sm_80", capability=80, shared_limit_bytes=166_912),
    Chip(name="sm_90", capability=90, shared_limit_bytes=232_448),
    Chip(name="sm_120", capability=120, shared_limit_bytes=101_376),
)
"""A100, H100 and H200, RTX 50."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledKernel:
    """One line of the table.

    Attributes:
        registers: Per thread.
        spilled_bytes: Stored to and loaded from memory per thread for want of registers.
        shared_bytes: Per block of threads.
        cubin_bytes: Size of the machine code; a compilation without any raises.
    """

    op: str
    kernel: str
    geometry: str
    dtype: str
    chip: str
    warps: int
    registers: int
    spilled_bytes: int
    shared_bytes: int
    shared_limit_bytes: int
    cubin_bytes: int

    @property
    def fits(self) -> bool:
        """Nothing spilled and no more shared memory than the chip has."""
        return self.spilled_bytes == 0 and self.shared_bytes <= self.shared_limit_bytes


def shipped_kernels(only: str = "") -> Iterator[ShippedKernel]:
    """Every form that ships: each op's `triton` module has `shipped()`.

    Args:
        only: Of ops whose folder's name holds this.
    """
    for path in sorted(Path(ninfer_kernels.__path__[0]).glob(f"*{only}*/triton.py")):
        yield from import_module(f"ninfer_kernels.{path.parent.name}.triton").shipped()


def one_per_kernel(kernels: Iterable[ShippedKernel]) -> Iterator[ShippedKernel]:
    """The largest bfloat16 form of each kernel, or its only one: what a test has time for."""
    last: dict[tuple[str, str], ShippedKernel] = {}
    for shipped in kernels:
        key = (shipped.op, _name(shipped))
        if key not in last or ELEMENT_TYPES[shipped.dtype] == "bf16":
            last[key] = shipped
    yield from last.values()


def compile_for(shipped: ShippedKernel, chip: Chip) -> CompiledKernel:
    """Compiles one form for one chip.

    Raises:
        RuntimeError: This process interprets its kernels, the compiler refused, or its report was
            not understood.
    """
    if interpreted():
        raise RuntimeError(
            "compiling ahead of time: found TRITON_INTERPRET=1; legal: a process without it"
        )
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names: list[str] = shipped.kernel.arg_names  # type: ignore[attr-defined]
    constants = dict(shipped.form.constants)
    _check_declared(names, shipped)
    aligned = [name for name, kind in shipped.types.items() if kind.startswith("*")]
    source = ASTSource(
        fn=shipped.kernel,
        signature={name: shipped.types.get(name, "constexpr") for name in names},
        constexprs=constants,
        attrs={
            (names.index(name),): [["tt.divisibility", 16]]
            for name in (*aligned, *shipped.multiples_of_16)
        },
    )
    compiled = triton.compile(
        source,
        target=GPUTarget("cuda", chip.capability, 32),
        options={
            "num_warps": shipped.form.warps,
            "num_stages": shipped.form.stages,
            # Said outright: its default differs between versions of Triton.
            "enable_fp_fusion": True,
        },
    )
    registers, spilled_bytes = _assembler_report(compiled.asm["ptx"], chip)
    return CompiledKernel(
        op=shipped.op,
        kernel=_name(shipped),
        geometry=shipped.geometry,
        dtype=ELEMENT_TYPES[shipped.dtype],
        chip=chip.name,
        warps=shipped.form.warps,
        registers=registers,
        spilled_bytes=spilled_bytes,
        shared_bytes=compiled.metadata.shared,
        shared_limit_bytes=chip.shared_limit_bytes,
        cubin_bytes=len(compiled.asm["cubin"]),
    )


def markdown_table(lines: Sequence[CompiledKernel]) -> str:
    """A row per kernel, type and form; geometries that need the same share one."""
    chips = list(dict.fromkeys(line.chip for line in lines))
    forms: dict[tuple[str, ...], dict[str, str]] = {}
    for line in lines:
        key = (line.op, f"`{line.kernel}`", line.dtype, str(line.warps), line.geometry)
        forms.setdefault(key, {})[line.chip] = _cell(line)
    geometries: dict[tuple[str, ...], list[str]] = {}
    for (*kernel, geometry), cells in forms.items():
        needs = (*kernel, *(cells.get(chip, "–") for chip in chips))
        geometries.setdefault(needs, []).append(geometry)
    # By kernel and type, sizes as they were declared: sorting is stable.
    ordered = sorted(geometries.items(), key=lambda form: form[0][:3])
    rows = [
        ["op", "kernel", "dtype", "warps", "geometry", *chips],
        ["---"] * (5 + len(chips)),
        *([*needs[:4], ", ".join(names), *needs[4:]] for needs, names in ordered),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def with_table(readme: str, table: str) -> str:
    """The text with what stands between the two markers replaced.

    Raises:
        ValueError: A marker is missing.
    """
    before, opened, rest = readme.partition(TABLE_BEGINS)
    _, closed, after = rest.partition(TABLE_ENDS)
    if not opened or not closed:
        raise ValueError(f"found no place for the table; legal: {TABLE_BEGINS} … {TABLE_ENDS}")
    return f"{before}{opened}\n{table}\n{closed}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; exit code 1 where a kernel spills or asks for too much."""
    parser = argparse.ArgumentParser(prog="python -m ninfer_kernels.ahead_of_time")
    parser.add_argument("--sample", action="store_true", help="one geometry per kernel and chip")
    parser.add_argument("--json", action="store_true", help="a list of objects, not a table")
    parser.add_argument("--only", default="", help="ops whose folder's name holds this")
    parser.add_argument("--readme", type=Path, help="also write the table between its markers")
    options = parser.parse_args(arguments)
    kernels = list(shipped_kernels(options.only))
    if options.sample:
        kernels = list(one_per_kernel(kernels))
    lines = [compile_for(shipped, chip) for shipped in kernels for chip in CHIPS]
    if options.json:
        sys.stdout.write(json.dumps([asdict(line) for line in lines], indent=1) + "\n")
    else:
        sys.stdout.write(markdown_table(lines) + "\n")
    if options.readme is not None:
        text = options.readme.read_text()
        options.readme.write_text(with_table(text, markdown_table(lines)))
    unfit = [line for line in lines if not line.fits]
    for line in unfit:
        sys.stderr.write(f"does not fit: {line}\n")
    return 1 if unfit else 0


def _check_declared(names: Sequence[str], shipped: ShippedKernel) -> None:
    declared = {*shipped.types, *shipped.form.constants}
    if declared != set(names):
        raise RuntimeError(
            f"{shipped.op} {_name(shipped)}: found declared {sorted(declared)}; legal: exactly the "
            f"kernel's arguments, {sorted(names)}"
        )


def _assembler_report(ptx: str, chip: Chip) -> tuple[int, int]:
    """Registers per thread and spilled bytes, as the assembler that Triton brings says."""
    from triton.backends.nvidia.compiler import get_ptxas

    target = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
    assert target is not None, "ptx without a target"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(ptx)
        done = subprocess.run(  # noqa: S603 - the assembler of the installed Triton
            [
                get_ptxas(chip.capability).path,
                "-v",
                "--gpu-name",
                target[1],
                path,
                "-o",
                os.devnull,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    said = done.stdout + done.stderr
    registers = re.search(r"Used (\d+) registers", said)
    spills = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said)
    if done.returncode or registers is None or spills is None:
        raise RuntimeError(f"the assembler for {chip.name} said:\n{said}")
    return int(registers[1]), int(spills[1]) + int(spills[2])


def _name(shipped: ShippedKernel) -> str:
    name: str = shipped.kernel.__name__  # type: ignore[attr-defined]
    return name


def _cell(line: CompiledKernel) -> str:
    """Registers, and shared memory where any is asked for."""
    kib = f"{line.shared_bytes / 1024:g} KiB"
    size = kib if line.shared_bytes >= 1024 else f"{line.shared_bytes} B"
    shared = f", {size}" if line.shared_bytes else ""
    over = " **over**" if line.shared_bytes > line.shared_limit_bytes else ""
    spilled = f", **{line.spilled_bytes} B spilled**" if line.spilled_bytes else ""
    return f"{line.registers}{shared}{over}{spilled}"


if __name__ == "__main__":
    raise SystemExit(main())
