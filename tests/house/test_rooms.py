"""Law: every room that decides is imported without torch, in a process where torch is absent.

import-linter reads import statements; this runs them, `__init__` files included.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ninfer_lab

PACKAGE = Path(ninfer_lab.__file__).parent
CORE_ROOMS = ("contract", "cost", "scheduler", "frontend", "context_cache", "program", "policies")
TORCH_FREE_ROOMS = (*CORE_ROOMS, "engine", "lab")

NEEDS_TENSORS = (
    "ninfer_lab.lab.bench",
    *(
        f"ninfer_lab.lab.calibration.{name}"
        for name in ("copy_timing", "prefill_side", "tensor_bench", "transfer_side")
    ),
    "ninfer_lab.lab.faults",
    "ninfer_lab.lab.kernel_study",
    "ninfer_lab.lab.restore_proof",
    "ninfer_lab.lab.tiny_model",
)
"""Modules of the workbench that train or measure, and so may import torch at their top."""

TORCH_FREE_MODULES_ELSEWHERE = (
    "ninfer_lab.machine.simulated_machine",
    "ninfer_lab.models.qwen3_5.config",
    "ninfer_lab.models.qwen3_5.measurement",
    "ninfer_lab.models.qwen3_5.geometries",
)
"""In rooms of tensors, what must be usable without any."""

TENSORS = ("torch", "triton", "transformers", "ninfer_kernels")
EXTRAS = (
    *TENSORS,
    *("numpy", "safetensors", "anywidget", "ipywidgets", "IPython", "jupyterlab", "matplotlib"),
    *("nbclient", "nbformat", "pandas", "polars", "tqdm", "hypothesis", "pytest"),
)

IMPORT_WITHOUT = """
import importlib, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError("absent in this test: " + name, name=name)
sys.meta_path.insert(0, Absent())
for name in {modules!r}:
    importlib.import_module(name)
"""


def modules_of(room: str) -> list[str]:
    """Dotted names of the room and of everything in it."""
    files = sorted((PACKAGE / room).rglob("*.py"))
    dotted = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in files]
    return [name.removesuffix(".__init__") for name in dotted]


def import_without(absent: tuple[str, ...], modules: list[str]) -> subprocess.CompletedProcess[str]:
    script = IMPORT_WITHOUT.format(absent=absent, modules=modules)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )


def needs_tensors(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in NEEDS_TENSORS)


@pytest.mark.parametrize("room", TORCH_FREE_ROOMS)
def test_a_room_that_decides_needs_no_tensors(room: str) -> None:
    done = import_without(TENSORS, [name for name in modules_of(room) if not needs_tensors(name)])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("room", [*CORE_ROOMS, "engine"])
def test_the_core_needs_no_extra(room: str) -> None:
    done = import_without(EXTRAS, modules_of(room))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", TORCH_FREE_MODULES_ELSEWHERE)
def test_geometry_and_simulation_need_no_tensors(module: str) -> None:
    file = PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")
    if not file.exists():
        pytest.skip(f"{module} is not built yet")
    done = import_without(TENSORS, [module])
    assert done.returncode == 0, done.stderr


def test_an_absent_module_is_noticed() -> None:
    done = import_without(("torch",), ["torch"])
    assert "absent in this test: torch" in done.stderr


def test_importing_the_package_or_its_command_loads_nothing_heavy() -> None:
    script = f"import ninfer_lab, ninfer_lab.lab.cli, sys; print(*set(sys.modules) & {set(EXTRAS)})"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == []
