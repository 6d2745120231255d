"""Law: what an op launches for a shape of the family is a form that ships: same arguments by type,
same constants, same warps and stages; so what is compiled ahead of time is what runs.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from ninfer_kernels.ahead_of_time import shipped_kernels
from ninfer_kernels.family_shapes import FAMILY, FamilyShape
from ninfer_kernels.kernel_set import triton_kernels
from ninfer_kernels.launch_form import ELEMENT_TYPES, ShippedKernel

CASES = Path(__file__).parents[2] / "kernels" / "bench" / "cases.py"
POINTERS = {torch.int64: "*i64", torch.int32: "*i32", torch.int16: "*i16", torch.float64: "*fp64"}

NOT_IN_A_CASE = {"weights_kernel", "choose_kernel", "rotations_kernel", "uniforms_kernel"}
"""A draw reads between its launches what the one before has written; angles and random numbers are
no ops of the set."""


def name_of(shipped: ShippedKernel) -> str:
    name: str = shipped.kernel.__name__  # type: ignore[attr-defined]
    return name


@dataclass(slots=True)
class Watched:
    """Stands where a kernel stood: notes its launches and runs nothing."""

    shipped: list[ShippedKernel]
    unknown: list[str] = field(default_factory=list)
    launches_count: int = 0

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., None]:
        return self._launched

    def _launched(self, *positional: Any, **named: Any) -> None:
        self.launches_count += 1
        names: list[str] = self.shipped[0].kernel.arg_names  # type: ignore[attr-defined]
        options = {name: named.pop(name) for name in ("num_warps", "num_stages")}
        arguments = dict(zip(names, positional, strict=False)) | named
        if not any(is_launch_of(each, arguments, options) for each in self.shipped):
            told = {k: v if not isinstance(v, Tensor) else v.dtype for k, v in arguments.items()}
            self.unknown.append(f"{told} {options}")


def is_launch_of(
    shipped: ShippedKernel, arguments: Mapping[str, Any], options: Mapping[str, int]
) -> bool:
    form = shipped.form
    constants = {name: arguments[name] for name in form.constants}
    varying = {name: value for name, value in arguments.items() if name not in form.constants}
    return (
        constants == dict(form.constants)
        and options == {"num_warps": form.warps, "num_stages": form.stages}
        and {name: type_of(value) for name, value in varying.items()} == dict(shipped.types)
        and all(varying[name] % 16 == 0 for name in shipped.multiples_of_16)
    )


def type_of(value: Any) -> str:
    match value:
        case Tensor():
            return POINTERS.get(value.dtype) or f"*{ELEMENT_TYPES[value.dtype]}"
        case float():
            return "fp32"
        case int():
            return "i32" if abs(value) < 2**31 else "i64"
        case _:
            raise AssertionError(f"an argument that no kernel takes: {value!r}")


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[Watched]:
    """Every kernel of every op's module, watched."""
    by_kernel: dict[int, Watched] = {}
    for shipped in shipped_kernels():
        by_kernel.setdefault(id(shipped.kernel), Watched(shipped=[])).shipped.append(shipped)
    modules = [module for name, module in sys.modules.items() if name.startswith("ninfer_kernels")]
    for module in modules:
        for name, value in list(vars(module).items()):
            if id(value) in by_kernel:
                monkeypatch.setattr(module, name, by_kernel[id(value)])
    return list(by_kernel.values())


def bench_cases() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_cases", CASES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_cases"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("shape", FAMILY, ids=lambda shape: shape.name)
@pytest.mark.parametrize("dtype", list(ELEMENT_TYPES))
def test_what_is_launched_is_what_ships(
    shape: FamilyShape, dtype: torch.dtype, watched: list[Watched], device: torch.device
) -> None:
    bench = bench_cases()
    size = bench.Size(
        shape=shape,
        dtype=dtype,
        device=device,
        new_tokens=70,
        history_tokens=100,
        rows=2,
        page_copies=2,
    )
    for case in bench.cases(triton_kernels(), size):
        if case.op != "sampling draw":
            case.run()
    assert [kernel.unknown for kernel in watched if kernel.unknown] == []
    silent = {name_of(kernel.shipped[0]) for kernel in watched if not kernel.launches_count}
    assert silent == NOT_IN_A_CASE


def test_a_launch_of_another_form_is_seen() -> None:
    shipped = next(each for each in shipped_kernels() if each.multiples_of_16)
    made: dict[str, Any] = {
        "*i64": torch.empty(1, dtype=torch.int64),
        "*i32": torch.empty(1, dtype=torch.int32),
        "*fp32": torch.empty(1),
        "*bf16": torch.empty(1, dtype=torch.bfloat16),
        "i32": 16,
        "fp32": 1.0,
    }
    right: dict[str, Any] = {name: made[kind] for name, kind in shipped.types.items()}
    right.update(shipped.form.constants)
    options = {"num_warps": shipped.form.warps, "num_stages": shipped.form.stages}
    assert is_launch_of(shipped, right, options)
    constant, pointer = next(iter(shipped.form.constants)), next(iter(shipped.types))
    for changed in (
        {constant: 12_345},
        {pointer: torch.empty(1, dtype=torch.float64)},
        {shipped.multiples_of_16[0]: 17},
    ):
        assert not is_launch_of(shipped, {**right, **changed}, options)
    assert not is_launch_of(shipped, right, {**options, "num_warps": 16})
