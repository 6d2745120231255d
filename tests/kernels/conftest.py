"""Kernels run in Triton's interpreter here, or on a GPU where `TRITON_INTERPRET=0` asks for one.

Which of the two is decided for a whole process when Triton is imported, and an address that a mask
let through ends the process instead of raising. So these tests have a pytest of their own, with
workers that may die: `make test-kernels`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("TRITON_INTERPRET", "1")

import torch

from ninfer_kernels.jit import interpreted


def pytest_configure() -> None:
    if not interpreted() and not torch.cuda.is_available():
        raise pytest.UsageError(
            "kernel tests: found neither TRITON_INTERPRET=1 before Triton was imported nor a GPU; "
            "run them as `make test-kernels` does"
        )


@pytest.fixture(autouse=True)
def unwritten_is_nan() -> Iterator[None]:
    """Every tensor that is allocated without a value is NaN, so that a gap in an output is seen."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture
def device() -> torch.device:
    """Where this process runs its kernels."""
    return torch.device("cpu" if interpreted() else "cuda")
