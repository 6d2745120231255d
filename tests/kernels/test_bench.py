"""Law: the command that measures kernels on a GPU says so where there is none, and every case that
it would measure runs.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

COMMAND = [sys.executable, str(Path(__file__).parents[2] / "kernels" / "bench" / "gpu_table.py")]


def ran(*arguments: str, interpreted: bool) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "TRITON_INTERPRET": "1" if interpreted else "0"},
        check=False,
    )


def test_without_a_gpu_it_says_so_and_what_can_be_done_instead() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = ran(interpreted=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "found no GPU" in done.stderr
    assert "make kernels-table" in done.stderr


def test_a_line_says_time_work_share_of_the_ceiling_and_ratio(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(COMMAND[1].rpartition("/")[0])
    cases, table = importlib.import_module("cases"), importlib.import_module("gpu_table")
    case = cases.Case(
        op="some op",
        work="much",
        run=lambda: 2e-3,
        rival=("a library", lambda: 3e-3),
        moved_bytes=5_000_000,
        operations=8_000_000_000,
    )
    monkeypatch.setattr(table, "_seconds", lambda run: run())
    # The bytes take 1 ms at best, the operations 0.8: the larger is the ceiling.
    ceiling = table.Ceiling(bytes_per_s=5e9, operations_per_s=1e13)
    line = table._measured(case, "27B", torch.bfloat16, ceiling)
    assert line == [
        *("some op", "27B", "bfloat16", "much", "2000.0", "5.00", "8.000", "2", "4.00", "50%"),
        "1.50 times as fast as a library",
    ]
    assert len(line) == len(table.HEAD)
    alone = replace(case, rival=None)
    assert table._measured(alone, "27B", torch.bfloat16, ceiling)[-1] == "–"


@pytest.mark.slow
def test_every_case_and_its_rival_run_on_a_small_shape() -> None:
    done = ran("--check", interpreted=True)
    assert done.returncode == 0, done.stderr
    ops = {line.partition(",")[0] for line in done.stdout.splitlines()}
    assert ops == {
        "causal_conv decode",
        "causal_conv prefill",
        "gated_delta_rule decode",
        "gated_delta_rule prefill",
        "kv_pages append",
        "kv_pages copy",
        "kv_pages pack",
        "norm_rope delta_gates",
        "norm_rope gated_rms_norm",
        "norm_rope head_norm_rope",
        "norm_rope rms_norm",
        "paged_attention decode",
        "paged_attention prefill",
        "sampling draw",
        "sampling greedy",
        "state_image fork",
    }
