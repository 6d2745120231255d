"""Law: a person's mistake on the command line is one line and exit code 2, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ninfer_lab.lab import cli
from ninfer_lab.lab.fork import fork_here
from ninfer_lab.lab.recording.recording import Recording

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
        (("calibrate", "--out=nowhere/mine.json"), "--out: found no folder nowhere; legal: a file"),
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


MISTAKES = [
    ("start extra", "Got unexpected extra argument(s) (extra)"),
    ("start --port=abc", "Invalid value for '--port'"),
    ("run", "world: found none; legal: 27b-agent"),
    ("run nowhere", "story: found nowhere; legal: 27b-agent"),
    ("run {bad}", "bad.story, line 1: found storyx; legal: story, setting, options"),
    ("run {mars}", "setting: found mars; legal: tiny or"),
    ("run {binary}", "binary.story: found 'utf-8' codec"),
    ("run {long}", "long.story, line 4, prompt: found 500000 tokens; legal: at most"),
    ("run {folder}", "folder.story: found [Errno 21] Is a directory"),
    ("run --machine=fly tiny-side-request", "--machine: found fly; legal: simulated, torch"),
    ("run --machine=torch 27b-agent", "machine: found real tensors of 27b-agent; legal: simulated"),
    ("run --design=fly tiny-side-request", "design: found fly; legal: catalog or"),
    ("figures nope", "figure: found nope; legal: eight-prefixes-by-slots"),
    ("figures --out={bad}", "--out: found {bad}, a file; legal: a folder"),
    ("replay", "Missing argument 'trace'"),
    ("replay nowhere", "trace: found no file nowhere; legal: a trace file, or one of"),
    ("replay {bad}", "bad.story, line 1: found storyx; legal: CSV with"),
    ("replay {trace} --limit=0", "limit_requests: found 0; legal: None or >= 1"),
    ("replay {trace} --time-scale=nan", "time_scale: found nan; legal: a number from 0 on"),
    ("replay {trace} -o fly=3", "--option: found fly=3; legal: "),
    ("replay {trace} -o kv_capacity_tokens=x", "--option kv_capacity_tokens: found x; legal: a"),
    ("replay {trace} -o kv_capacity_tokens=1", "options.kv_capacity_tokens: found 1; legal: >= "),
    ("replay {trace} --table=nowhere/t.csv", "--table: found no folder nowhere; legal: a file"),
    ("replay {trace} --table={folder}", "--table: found {folder}, a folder; legal: a file"),
    ("calibrate --out={folder}", "--out: found {folder}, a folder; legal: a file"),
    (
        "run tiny-side-request --save=nowhere/r.bin",
        "--save: found no folder nowhere; legal: a file",
    ),
    ("run tiny-side-request --save={folder}", "--save: found {folder}, a folder; legal: a file"),
    ("calibrate --chunk=abc", "Invalid value for '--chunk'"),
]
"""A command line, and how the one line of its refusal begins."""


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files that a person might name by mistake."""
    folder = tmp_path_factory.mktemp("mistakes")
    texts = {
        "bad": "storyx\n",
        "mars": "story x\nsetting mars\n\ntokens\n  prompt: a[5]\n  answer: b[2]\n",
        "long": "story x\nsetting 27b\n\ntokens\n  prompt: a[500000]\n  answer: b[2]\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.story").write_text(text)
    (folder / "binary.story").write_bytes(b"\xff\xfe")
    (folder / "folder.story").mkdir()
    trace = folder / "trace.csv"
    trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,4808,10\n")
    names = (*texts, "binary", "folder")
    return {"trace": trace, **{name: folder / f"{name}.story" for name in names}}


@pytest.mark.parametrize(("line", "refusal"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_every_command_refuses_in_one_line(
    line: str, refusal: str, places: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:  # spec: CLI-1, BAD-1
    with pytest.raises(SystemExit) as end:
        cli.main(line.format(**places).split())
    said = capsys.readouterr()
    assert (end.value.code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert said.err.startswith(f"ninfer-lab: {refusal.format(**places)}")


def test_a_place_that_cannot_be_used_is_one_line_and_other_trouble_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # spec: CLI-1
    def trouble(*_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "app", lambda **_: trouble())
    error: Exception = PermissionError(13, "Permission denied", "/mine/x.csv")
    with pytest.raises(SystemExit) as end:
        cli.main(["run", "x"])
    assert end.value.code == 2
    assert capsys.readouterr().err == (
        "ninfer-lab: /mine/x.csv: found Permission denied;"
        " legal: a place that can be read and written\n"
    )
    error = OSError("of no place")
    with pytest.raises(OSError, match="of no place"):
        cli.main(["run", "x"])


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    command = f"{COMMAND} run --list | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.stdout.strip() in ("0", "1")


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


def test_a_run_is_saved_whole_and_can_be_stepped_and_forked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # spec: CLI-1, RCD-1
    place = tmp_path / "run.recording"
    with pytest.raises(SystemExit) as end:
        cli.main(["run", "tiny-side-request", f"--save={place}"])
    assert end.value.code is None or end.value.code == 0
    loaded = Recording.load(place)
    assert f"{len(loaded.events):,} events are in {place}" in capsys.readouterr().out
    assert loaded.has_placements
    assert fork_here(loaded, 5).difference is None
