"""Law: a checkout holds what the house promises, within its sizes, and names no machine.

The files are those that git tracks or would add, so that a fault is seen before it is committed.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "ninfer_lab", ROOT / "kernels" / "ninfer_kernels")
FILE_LIMIT_LINES = 400
FUNCTION_LIMIT_LINES = 70
HOMELESS = {"utils", "common", "helpers", "misc", "base", "types", "enums", "constants"}
MACHINE_PATH = re.compile(r"(?<![\w.:/-])/(?:home|root|Users|opt|mnt|work|tmp)/\w")
REGISTRY = re.compile(
    r"pypi\.org|files\.pythonhosted|registry\.npmjs|deb\.debian|download\.pytorch"
)


def sources(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


PACKAGE_SOURCES = sources(*PACKAGES)
SOURCES = [*PACKAGE_SOURCES, *sources(ROOT / "tests", ROOT / "kernels" / "bench")]


def checked_in() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def machine_words(text: str) -> list[str]:
    return [m.group() for pattern in (MACHINE_PATH, REGISTRY) for m in pattern.finditer(text)]


def long_functions(source: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LIMIT_LINES:
                yield node.name, lines


def imported_at_once(source: str) -> Iterator[str]:
    """Top-level names of what a module imports when it is itself imported."""
    for node in ast.parse(source).body:
        match node:
            case ast.Import():
                yield from (alias.name.partition(".")[0] for alias in node.names)
            case ast.ImportFrom():
                yield (node.module or "").partition(".")[0]


def test_the_top_level_is_the_house() -> None:
    for name in (
        "LICENSE",
        "Makefile",
        "README.md",
        "constraints.txt",
        "datasets/README.md",
        "environment.yml",
        "kernels/README.md",
        "notebooks/README.md",
        "pyproject.toml",
        "tests/rules.md",
        ".ci/run",
    ):
        assert (ROOT / name).is_file(), f"{name} is missing"
    for folder in ("kernels", "datasets"):
        # Hugging Face has packages of these names; a folder with __init__ would shadow them.
        assert not (ROOT / folder / "__init__.py").exists()
    assert not (ROOT / "uv.lock").exists()
    assert not list((ROOT / "datasets").rglob("*.py")), "datasets/ holds data only"


def test_every_file_fits_in_one_reading() -> None:
    lines_by_file = {name_of(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: n for name, n in lines_by_file.items() if n > FILE_LIMIT_LINES} == {}


def test_every_function_fits_on_one_screen() -> None:
    found = {name_of(path): list(long_functions(path.read_text())) for path in SOURCES}
    assert {name: functions for name, functions in found.items() if functions} == {}


def test_a_long_function_is_seen() -> None:
    body = "    pass\n" * FUNCTION_LIMIT_LINES
    assert list(long_functions(f"def short():\n    pass\n\n\ndef long():\n{body}")) == [
        ("long", FUNCTION_LIMIT_LINES + 1)
    ]


def test_every_module_is_named_for_what_it_owns_and_says_so() -> None:
    homeless = [p for p in PACKAGE_SOURCES if {p.stem, p.parent.name} & HOMELESS]
    silent = [p for p in PACKAGE_SOURCES if not ast.get_docstring(ast.parse(p.read_text()))]
    assert (homeless, silent) == ([], [])


def test_importing_a_room_loads_no_other_module() -> None:
    # import-linter does not see what a parent's __init__ runs, so a room has one paragraph there;
    # `lab` alone also says where a name is found when a notebook asks for it.
    rooms = [path for path in PACKAGE_SOURCES if path.name == "__init__.py"]
    loaded = {name_of(room): set(imported_at_once(room.read_text())) for room in rooms}
    beyond = {name: roots - sys.stdlib_module_names for name, roots in loaded.items()}
    assert {name: roots for name, roots in beyond.items() if roots} == {}
    assert len(rooms) > 12


def test_an_import_in_a_room_is_seen() -> None:
    source = "import ninfer_lab.cost\nfrom torch import nn\ndef late():\n    import numpy\n"
    assert list(imported_at_once(source)) == ["ninfer_lab", "torch"]


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = {}
    for path in checked_in():
        try:
            words = machine_words(path.read_text())
        except UnicodeDecodeError:
            continue  # weights and pictures
        if words:
            found[name_of(path)] = words
    assert found == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see /" + "home/ann/x", ["/" + "home/a"]),
        ("'/" + "tmp/x'", ["/" + "tmp/x"]),
        ("https://" + "pypi." + "org/simple", ["pypi." + "org"]),
        ("/usr/bin/chromium, docs/home/x, ../tmp/y, a/opt/b", []),
    ],
)
def test_a_machine_word_is_seen(text: str, expected: list[str]) -> None:
    assert machine_words(text) == expected


def test_the_makefile_has_the_promised_targets() -> None:
    for target in ("lab", "test", "bench", "soak", "notebooks", "clean"):
        dry = subprocess.run(
            ["make", "--question", target],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert dry.returncode < 2, dry.stderr  # 2 is "no rule to make target"


def test_ci_runs_the_documented_command() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert script.read_text().rstrip().endswith("exec make test")
