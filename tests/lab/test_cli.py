"""Law: a person's mistake on the command line is one line and exit code 2, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ninfer_lab.lab import cli

COMMAND = Path(sys.executable).with_name("ninfer-lab")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("fly",), "No such command 'fly'"),
        (("start", "--port=99999"), "Invalid value for '--port'"),
        (("start", "--notebooks=nowhere"), "notebooks: found no numbered .ipynb in nowhere"),
        (("build-notebooks", "99_none"), "notebook: found 99_none; legal: 00_start_here"),
        (("train-tiny",), "Missing option '--out'"),
        (("calibrate", "--suite=fly"), "suite: found fly; legal: all or transfer or prefill"),
        (("calibrate", "--chunk=100"), "chunk_tokens: found 100; legal: a multiple of 128"),
        (("calibrate", "--dtype=int8"), "dtype: found int8; legal: float32 or bfloat16"),
        (("calibrate", "--out=nowhere/mine.json"), "--out: found nowhere/mine.json; legal: a file"),
        (("calibrate", "--device=tpu"), "device: found tpu; legal: cpu"),
        (("calibrate", "--checkpoint=nowhere"), "checkpoint: found nowhere"),
        (("peers", "--runs=sky"), "--runs: found sky; legal: a pattern of: vLLM, 256 blocks: "),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], line: str) -> None:  # spec: CLI-1
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"ninfer-lab: {line}")


def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "nbformat", None)
    monkeypatch.delitem(sys.modules, "ninfer_lab.lab.notebooks", raising=False)
    (tmp_path / "00_a.ipynb").touch()
    with pytest.raises(SystemExit) as end:
        cli.main(["build-notebooks", f"--notebooks={tmp_path}"])
    assert end.value.code == 2
    assert capsys.readouterr().err == (
        "ninfer-lab: python module nbformat: found nothing; legal: an environment with the extra "
        "'notebooks' (pip install -e '.[notebooks]')\n"
    )


def test_a_fault_of_the_program_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ninfer_lab.lab.notebook_shelf", None)
    with pytest.raises(ModuleNotFoundError):
        cli.main(["build-notebooks"])


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_lists_every_command(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    for command in ("start", "run", "build-notebooks", "train-tiny", "bench", "calibrate"):
        assert command in done.stdout


def test_calibrate_says_what_it_measures_and_where_it_writes() -> None:
    done = run("calibrate", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for option in ("--out", "--suite", "--quick", "--checkpoint", "--device", "--dtype", "--chunk"):
        assert option in done.stdout


def test_calibrate_refuses_a_damaged_preset_file_and_leaves_it(tmp_path: Path) -> None:
    # spec: BAD-1, CLI-1
    presets = tmp_path / "mine.json"
    presets.write_text('{"schema_version": 2}')
    done = run("calibrate", f"--out={presets}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ninfer-lab: mine.json.artifact_type: found nothing; legal: it")
    assert done.stderr.count("\n") == 1
    assert presets.read_text() == '{"schema_version": 2}'
