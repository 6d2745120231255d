"""Law: the study of kernels runs every op on both forms, sees it when they differ, and shows of one
program exactly what it did, without changing it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from ninfer_kernels.jit import interpreted
from ninfer_kernels.kernel_set import KernelSet, reference_kernels, triton_kernels
from ninfer_kernels.kv_pages import triton as kv_pages
from ninfer_lab.contract.errors import NinferLabError, OptionsError
from ninfer_lab.lab.kernel_study.cases import CASES
from ninfer_lab.lab.kernel_study.study import KernelStudy
from ninfer_lab.lab.kernel_study.walk import watch

pytestmark = pytest.mark.skipif(
    not interpreted(), reason="the study interprets its kernels, this process compiles them"
)

EDGES = ["kv_pages append", "norm_rope norm", "sampling greedy"]


def test_no_op_of_a_kernel_set_is_left_out() -> None:
    called: set[str] = set()

    def told(name: str, op: Any) -> Any:
        def run(*arguments: Any) -> Any:
            called.add(name)
            return op(*arguments)

        return run

    names = {field.name for field in fields(KernelSet)}
    reference = reference_kernels()
    watched = replace(reference, **{name: told(name, getattr(reference, name)) for name in names})
    for case in CASES.values():
        outputs = case.run(watched, torch.float32)
        assert all(not output.isnan().any() for output in outputs if output.is_floating_point())
    # Products are the library's; there is no kernel to study.
    assert names - called == {"prepare_product"}


def test_both_forms_agree_within_what_is_allowed() -> None:
    close = KernelStudy().closeness(EDGES)
    assert close["op"].to_list() == [op for op in EDGES for _ in range(2)]
    assert close["within"].all()
    assert close.filter(close["op"] == "sampling greedy")["distance"].to_list() == [0.0, 0.0]


@pytest.mark.parametrize("wrong", ["scaled by a hair", "a gap"])
def test_a_kernel_that_is_off_is_seen(wrong: str) -> None:
    def off(rows: Tensor, scale: Tensor, eps: float) -> Tensor:
        found = reference_kernels().rms_norm(rows, scale, eps)
        if wrong == "a gap":
            found[-1, -1] = torch.nan
            return found
        return found * 1.01

    study = KernelStudy()
    study._kernels = replace(triton_kernels(), rms_norm=off)
    assert study.closeness(["norm_rope norm"])["within"].to_list() == [False, False]


def test_a_walk_shows_every_statement_of_one_program_and_what_it_made() -> None:
    walk = KernelStudy().walk("kv_pages append", program=0)
    # Eleven tokens in blocks of four, keys and values apart.
    assert (walk.kernel, walk.program_count, walk.is_whole) == ("append_kernel", 6, True)
    assert "token_count = 11" in map(str, walk.arguments)
    first = walk.steps[0]
    assert first.source == "side = tl.program_id(1)"
    assert str(first.values[0]) == "side = 0"
    # The row has 60 tokens: these four are the last of its first page.
    assert walk.value("offset").tolist() == [60, 61, 62, 63]
    assert walk.value("here").tolist() == [True] * 4
    last = walk.steps[-1]
    assert last.source.startswith("tl.store(")
    assert last.values == ()
    assert [step.line for step in walk.steps] == sorted({step.line for step in walk.steps})


def test_a_loop_is_walked_round_by_round() -> None:
    walk = KernelStudy().walk("gated_delta_rule prefill", kernel="scan_kernel")
    rounds = [step for step in walk.steps if step.source.startswith("for i_chunk in")]
    assert [int(step.values[0].data.item()) for step in rounds] == [0, 1]
    before, after = walk.value("lower", 0), walk.value("lower")
    assert before.shape == after.shape == (16, 32)
    assert (before != after).any()
    assert walk.value("i_chunk", 0) == 0
    assert "for i_chunk in range(chunk_count):" in str(walk)
    assert "lower: [16, 32] fp32" in walk._repr_html_()


def test_a_part_is_walked_call_by_call() -> None:
    walk = KernelStudy().walk("gated_delta_rule prefill", kernel="unit_lower_inverse", program=1)
    assert walk.program_count == 8  # two chunks of four heads
    # A chunk of 32 tokens: single tokens are paired, then blocks of 2, 4, 8 and 16.
    rounds = [step for step in walk.steps if step.source.startswith("for doubled in")]
    assert [int(step.values[0].data.item()) for step in rounds] == [1, 2, 3, 4]
    coupling = torch.from_numpy(walk.value("coupling")).tril(-1)
    inverse = torch.from_numpy(walk.value("inverse"))
    identity = torch.eye(len(inverse))
    torch.testing.assert_close((coupling + identity) @ inverse, identity, rtol=0.0, atol=1e-6)


def test_a_program_that_is_watched_writes_what_it_writes_alone() -> None:
    kernels, case = triton_kernels(), CASES["kv_pages append"]
    alone = case.run(kernels, torch.float32)
    seen: list[tuple[Tensor, ...]] = []
    function = kv_pages.append_kernel.fn  # type: ignore[attr-defined]
    watch(function, 3, lambda: seen.append(case.run(kernels, torch.float32)))
    assert torch.equal(seen[0][0], alone[0])


def test_pythons_tracing_is_given_back_even_when_the_run_fails() -> None:
    function = kv_pages.append_kernel.fn  # type: ignore[attr-defined]
    before = sys.gettrace()
    with pytest.raises(ZeroDivisionError):
        watch(function, 0, lambda: 1 // 0)
    assert sys.gettrace() is before


def test_the_sources_stand_side_by_side() -> None:
    beside = KernelStudy().beside("causal_conv decode")
    assert beside.reference.startswith("def decode(")
    assert "def decode_kernel(" in beside.kernels
    assert beside.kernels in str(beside)
    assert "tl.debug_barrier()" in beside._repr_html_()


def test_what_is_not_there_is_refused_by_its_name() -> None:
    study = KernelStudy()
    with pytest.raises(OptionsError, match="sampling greedy"):
        study.closeness(["sampling argmax"])
    with pytest.raises(OptionsError, match="prepare_kernel or scan_kernel or chunk_products"):
        study.walk("gated_delta_rule prefill", kernel="step_kernel")
    with pytest.raises(OptionsError, match="0 <= program < 6"):
        study.walk("kv_pages append", program=6)
    with pytest.raises(OptionsError, match="offset"):
        study.walk("kv_pages append").value("place of a token")
    with pytest.raises(NinferLabError, match="no kernel of 'product'"):
        study.compiled("product")


def test_kernels_are_compiled_in_a_process_of_their_own() -> None:
    chips = KernelStudy().compiled("kv_pages")
    assert "append_kernel" in chips["kernel"].to_list()
    assert chips["kernel"].n_unique() == len(chips)
    assert chips["spilled_bytes"].max() == 0
    for chip in ("sm_80", "sm_90", "sm_120"):
        assert (chips[f"registers_{chip}"] > 0).all()
    assert interpreted()


def test_a_process_that_compiles_is_told_to_start_again() -> None:
    asked = "from ninfer_lab import lab; lab.KernelStudy()"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**os.environ, "TRITON_INTERPRET": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "TRITON_INTERPRET=1 before Triton is imported" in done.stderr
