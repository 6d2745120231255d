"""Law: the command that measures kernels on a GPU says so where there is none, and every case that
it would measure runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
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
