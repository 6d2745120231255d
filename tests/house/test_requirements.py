"""Law: one place says what is needed, one says which version, and they agree."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def needed() -> list[Requirement]:
    lines = [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]
    return [Requirement(line) for line in lines]


def test_constraints_pin_exactly() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    wrong = [
        line
        for line in lines
        if not line.startswith("#") and not re.fullmatch(r"[\w.-]+==[\w.!]+", line)
    ]
    assert wrong == []


def test_every_requirement_is_pinned_within_its_range() -> None:
    pinned = pins()
    for requirement in needed():
        version = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} but pinned {version}"


def test_what_a_requirement_needs_is_pinned_too() -> None:
    """Walks the installed metadata from the project's own lines to the last dependency."""
    pinned = pins()
    waiting = [(requirement.name, frozenset(requirement.extras)) for requirement in needed()]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        assert canonicalize_name(name) in pinned, f"{name} has no pin in constraints.txt"
        for line in requires(name) or ():
            requirement = Requirement(line)
            applies = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
            )
            step = (requirement.name, frozenset(requirement.extras))
            if applies and step not in seen:
                seen.add(step)
                waiting.append(step)
    assert len(seen) > len(needed())


def test_torch_and_triton_belong_together() -> None:
    pinned = pins()
    assert (pinned["torch"], pinned["triton"]) == ("2.13.0", "3.7.1")


def test_the_core_has_no_tensors() -> None:
    core = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    assert core == {"jinja2", "tokenizers", "typer"}


def test_conda_users_get_the_same() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, through_pip = environment["dependencies"]
    assert python == f"python={PROJECT['requires-python'].removeprefix('>=')}"
    assert pip == "pip"
    assert through_pip == {
        "pip": ["--constraint constraints.txt", f"--editable .[{','.join(EXTRAS)}]"]
    }
