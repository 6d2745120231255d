"""Law: every kernel becomes machine code for every chip with no GPU at hand, spills no register and
asks for no more shared memory than the chip has; what is declared is what is launched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ninfer_kernels.ahead_of_time import (
    CHIPS,
    TABLE_BEGINS,
    TABLE_ENDS,
    CompiledKernel,
    compile_for,
    markdown_table,
    one_per_kernel,
    shipped_kernels,
    with_table,
)
from ninfer_kernels.family_shapes import FAMILY
from ninfer_kernels.jit import interpreted
from ninfer_kernels.launch_form import ELEMENT_TYPES, ShippedKernel
from ninfer_lab.models.qwen3_5.geometries import QWEN3_5_27B, public_cache_geometry

SHIPPED = list(shipped_kernels())
SAMPLE = list(one_per_kernel(SHIPPED))

README = Path(__file__).parents[2] / "kernels" / "README.md"

OPS = {
    "causal_conv",
    "gated_delta_rule",
    "kv_pages",
    "norm_rope",
    "paged_attention",
    "sampling",
    "state_image",
}

LINE = CompiledKernel(
    op="some op",
    kernel="some_kernel",
    geometry="27B",
    dtype="bf16",
    chip="sm_90",
    warps=4,
    registers=96,
    spilled_bytes=0,
    shared_bytes=2048,
    shared_limit_bytes=4096,
    cubin_bytes=1,
)


def names_of(shipped: ShippedKernel) -> tuple[str, str]:
    return shipped.op, shipped.kernel.__name__  # type: ignore[attr-defined]


def test_every_op_ships_its_kernels_for_the_whole_family_in_both_types() -> None:
    assert {shipped.op.partition(" ")[0] for shipped in SHIPPED} == OPS
    by_geometry = {(s.geometry, s.dtype) for s in SHIPPED if s.op == "paged_attention prefill"}
    assert by_geometry == {(shape.name, dtype) for shape in FAMILY for dtype in ELEMENT_TYPES}
    declared = [(*names_of(s), s.geometry, s.dtype, str(s.form), str(s.types)) for s in SHIPPED]
    assert len(set(declared)) == len(declared), "the same form twice"


def test_the_sample_has_each_kernel_once() -> None:
    assert sorted(map(names_of, SAMPLE)) == sorted({names_of(shipped) for shipped in SHIPPED})


def compiled_sample() -> list[CompiledKernel]:
    """In a process of its own: this one interprets."""
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "ninfer_kernels.ahead_of_time", "--sample", "--json"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [CompiledKernel(**line) for line in json.loads(done.stdout)]


@pytest.mark.slow
def test_each_kernel_compiles_for_each_chip_within_its_registers_and_memory() -> None:
    lines = compiled_sample()
    assert len(lines) == len(SAMPLE) * len(CHIPS)
    assert [line for line in lines if not line.fits] == []
    assert all(line.cubin_bytes > 1_000 and line.registers >= 16 for line in lines)


@pytest.mark.parametrize(
    ("change", "fits", "cell"),
    [
        ({}, True, "96, 2 KiB"),
        ({"shared_bytes": 4096}, True, "96, 4 KiB"),
        ({"shared_bytes": 4608}, False, "96, 4.5 KiB **over**"),
        ({"shared_bytes": 32}, True, "96, 32 B"),
        ({"spilled_bytes": 8}, False, "96, 2 KiB, **8 B spilled**"),
    ],
)
def test_what_does_not_fit_is_seen(change: dict[str, int], fits: bool, cell: str) -> None:
    line = replace(LINE, **change)  # type: ignore[arg-type]
    assert line.fits == fits
    assert markdown_table([line]).endswith(f"| {cell} |")


def test_the_table_that_is_kept_has_a_line_for_each_form_and_no_other() -> None:
    _, _, rest = README.read_text().partition(TABLE_BEGINS)
    table, _, _ = rest.partition(TABLE_ENDS)
    rows = [row.strip("| ").split(" | ") for row in table.strip().splitlines()[2:]]
    kept = {
        (op, kernel.strip("`"), dtype, geometry)
        for op, kernel, dtype, _, geometries, *_ in rows
        for geometry in geometries.split(", ")
    }
    assert kept == {(*names_of(s), ELEMENT_TYPES[s.dtype], s.geometry) for s in SHIPPED}
    assert "spilled" not in table
    assert "over" not in table


def test_a_table_goes_between_its_markers_and_nowhere_else() -> None:
    text = f"before\n{TABLE_BEGINS}\nold\n{TABLE_ENDS}\nafter\n"
    assert with_table(text, "new") == text.replace("old", "new")
    for cut in (TABLE_BEGINS, TABLE_ENDS):
        with pytest.raises(ValueError, match="found no place for the table"):
            with_table(text.replace(cut, ""), "new")


def test_a_process_that_interprets_refuses_to_compile() -> None:
    if not interpreted():
        pytest.skip("this process compiles")
    with pytest.raises(RuntimeError, match="legal: a process without it"):
        compile_for(SAMPLE[0], CHIPS[0])


def test_the_shapes_that_ship_are_those_of_the_models() -> None:
    for shape in FAMILY:
        for size in shape.name.split():
            known = public_cache_geometry(f"qwen3.5-{size.lower()}")
            assert (shape.kv_heads, shape.head_dim) == (known.kv_head_count, known.head_dim)
            assert (shape.key_heads, shape.key_dim) == (
                known.linear_key_head_count,
                known.linear_key_dim,
            )
            assert (shape.value_heads, shape.value_dim) == (
                known.linear_value_head_count,
                known.linear_value_dim,
            )
            assert shape.conv_width == known.conv_width
            assert shape.conv_channels == known.conv_channel_count
    largest = FAMILY[-1]
    assert (largest.query_heads, largest.rotary_dim, largest.vocab, largest.hidden_sizes) == (
        QWEN3_5_27B.query_head_count,
        QWEN3_5_27B.rotary_dim,
        QWEN3_5_27B.vocab_size,
        (QWEN3_5_27B.hidden_size,),
    )
