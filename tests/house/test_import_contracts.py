"""Law: every import contract of the house bites: one planted import breaks it, by its name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """Modules with a forbidden import, and the contract that must break."""

    contract: str
    modules: Mapping[str, str]


PLANTS = (
    Plant(
        contract="rooms stand in one order",
        modules={"ninfer_lab/contract/planted.py": "import ninfer_lab.program"},
    ),
    Plant(
        contract="rooms stand in one order",
        modules={"ninfer_lab/program/planted.py": "import ninfer_lab.machine"},
    ),
    Plant(
        contract="prices never reach Program",
        modules={"ninfer_lab/program/planning/planted.py": "import ninfer_lab.cost"},
    ),
    Plant(
        contract="rooms of pure decision never touch tensors, by any chain",
        modules={"ninfer_lab/context_cache/planted.py": "def late():\n    import torch"},
    ),
    Plant(
        contract="engine and workbench name torch only to build, train or measure",
        modules={"ninfer_lab/engine/planted.py": "import torch"},
    ),
    Plant(
        contract="the contract stands on the standard library",
        modules={"ninfer_lab/contract/planted.py": "import tokenizers"},
    ),
    Plant(
        contract="a checkpoint's format is met in models, its vocabulary in frontend",
        modules={"ninfer_lab/scheduler/planted.py": "from tokenizers import Tokenizer"},
    ),
    Plant(
        contract="the workbench reads events and reaches no ledger",
        modules={"ninfer_lab/lab/planted.py": "import ninfer_lab.program.storage"},
    ),
    Plant(
        contract="inside Program",
        modules={"ninfer_lab/program/storage/planted.py": "import ninfer_lab.program.planning"},
    ),
    Plant(
        contract="a reference runs without triton",
        modules={"kernels/ninfer_kernels/planted/reference.py": "import triton"},
    ),
    Plant(
        contract="no cycles in any room",
        modules={
            "ninfer_lab/cost/hen.py": "import ninfer_lab.cost.egg",
            "ninfer_lab/cost/egg.py": "import ninfer_lab.cost.hen",
        },
    ),
)


def broken_contracts(house: Path) -> list[str]:
    """Names of the contracts that the house in this folder breaks."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=house,
        env={**os.environ, "PYTHONPATH": f"{house}:{house / 'kernels'}", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Contracts:" in done.stdout, done.stdout + done.stderr
    return re.findall(r"^(.*) BROKEN\b", done.stdout, re.MULTILINE)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the two packages and their contracts."""
    for package in ("ninfer_lab", "kernels/ninfer_kernels"):
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.contract}: {[*plant.modules]}")
def test_a_planted_import_breaks_its_contract(house: Path, plant: Plant) -> None:
    for name, code in plant.modules.items():
        target = house / name
        target.parent.mkdir(exist_ok=True)
        (target.parent / "__init__.py").touch()
        target.write_text(code + "\n")
    assert plant.contract in broken_contracts(house)


def test_an_unplanted_house_breaks_none(house: Path) -> None:
    assert broken_contracts(house) == []


def test_every_contract_has_a_plant() -> None:
    assert {contract["name"] for contract in CONTRACTS} == {plant.contract for plant in PLANTS}
