"""Law: the set is chosen once by the device and holds Triton's form of every op that has one; a
test that dies takes its worker along and not the run.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ninfer_kernels.kernel_set import KernelSet, cpu_kernels, kernels_for, triton_kernels

LIBRARY_OPS = {"prepare_product"}
"""What a library does as well on a GPU as any kernel of ours would."""


def test_every_op_of_the_set_for_a_gpu_is_triton_s() -> None:
    made = triton_kernels()
    modules = {
        field.name: getattr(made, field.name).__module__ for field in dataclasses.fields(KernelSet)
    }
    others = {name for name, module in modules.items() if not module.endswith(".triton")}
    assert others == LIBRARY_OPS


def test_the_device_decides_the_set() -> None:
    assert kernels_for(torch.device("cpu")) == cpu_kernels()
    assert kernels_for(torch.device("cuda")) == triton_kernels()
    with pytest.raises(ValueError, match="found 'mps'; legal: cpu or cuda"):
        kernels_for(torch.device("mps"))


@pytest.mark.slow
def test_a_bad_address_ends_its_worker_and_not_the_run(tmp_path: Path) -> None:
    (tmp_path / "test_planted.py").write_text(
        "import torch\n"
        "from ninfer_kernels.run_copy import copy_runs\n\n\n"
        "def test_that_points_nowhere():\n"
        "    runs = torch.zeros(2, 4)\n"
        "    copy_runs(runs, runs, [0], [1 << 50])\n\n\n"
        "def test_after_it():\n"
        "    pass\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "TRITON_INTERPRET": "1"},
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "crashed while running 'test_planted.py::test_that_points_nowhere'" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
