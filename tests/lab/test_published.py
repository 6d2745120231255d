"""Law: every published table and figure comes out again by its name, published beside reproduced,
and its files are written whole or not at all.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from matplotlib.lines import Line2D

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import GENERIC
from ninfer_lab.lab import designs, figures, published
from ninfer_lab.lab.cli import main
from ninfer_lab.lab.community_side_requests import SAID
from ninfer_lab.lab.compare_runs import SAID_OF_MODELS
from ninfer_lab.lab.figures_command import FiguresCommand
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.published import Published, Reproduced
from ninfer_lab.lab.raw_prompt_anchor import (
    PUBLISHED_AGAIN_MS,
    PUBLISHED_FIRST_MS,
    AnchorTable,
    raw_prompt_anchor,
)


@pytest.fixture(scope="module")
def anchored() -> AnchorTable:
    return raw_prompt_anchor()


@cache
def made_again(name: str) -> Reproduced:
    return figures.reproduce(name)


@pytest.mark.parametrize("name", figures.published_names())
def test_each_stands_published_beside_reproduced(name: str) -> None:  # spec: FIG-1
    made = made_again(name)
    published_here = {
        "eight-prefixes-by-slots": "before                 16     32.8           32.8",
        "eight-prefixes-by-round": "the first full hits in round 4",
        "side-requests": "961 | 961",
        "four-ways": "1 postfix + 2 PreserveExisting  0 → 962        holds",
        "community": "takes the conversation's only lane and clears it              961       0 ",
        "raw-prompt-anchor": "published, 27B",
    }
    assert published_here[name] in str(made)
    assert made.title in made._repr_html_()
    assert made.pictures


def test_every_round_is_as_published() -> None:
    """Rounds that were spoken of: the first full hits, and full hits from round 2 on."""
    for line in made_again("eight-prefixes-by-round").table.splitlines()[1:]:
        hits = [int(word) for word in line.split(" of 8")[:-1] for word in word.split()[-1:]]
        if "first full hits in round 4" in line:
            assert hits == [0, 0, 0, 8]
        elif "from round 2 on" in line:
            assert hits == [0, 8, 8, 8]
        else:
            assert line.startswith("before  8")


# ── the raw prompt ──────────────────────────────────────────────────────────────────────────────


def test_every_listed_preset_predicts_and_one_token_is_computed_again(
    anchored: AnchorTable,
) -> None:  # spec: FIG-1, ANC-2
    listed = [m for m in shipped_presets().machines if m.hardware_class != GENERIC]
    assert len(anchored.predictions) == sum(len(machine.prefill) for machine in listed)
    for each in anchored.predictions:
        assert each.computed_tokens == 1
        assert each.again_ms >= each.least_forward_ms
        assert each.again_ms < each.first_ms / 3
        assert str(round(each.first_ms)) in str(anchored)


def test_no_preset_of_the_published_card_reaches_the_published_time(anchored: AnchorTable) -> None:
    """And none was bent so that it would: they are the listed ones."""
    here = [each for each in anchored.predictions if each.is_published_machine]
    assert len(here) == 5
    for each in here:
        assert each.least_forward_ms > PUBLISHED_AGAIN_MS
        assert each.verdict.startswith("no")
    listed = {p.coefficients for m in shipped_presets().machines for p in m.prefill}
    assert {each.coefficients for each in anchored.predictions} <= listed
    long_chunks = [each for each in here if each.chunk_tokens == 4_096]
    assert len(long_chunks) == 1, "each is used at the chunk it was measured with"


def test_the_picture_marks_what_was_published(anchored: AnchorTable) -> None:
    by_preset, by_tokens = figures.raw_prompt_anchor(anchored).axes
    marks = [line for line in by_preset.lines if line.get_marker() == "D"]
    assert [x_of(line) for line in marks] == [PUBLISHED_FIRST_MS, PUBLISHED_AGAIN_MS]
    dots = [x_of(line) for line in by_preset.lines if line.get_marker() == "o"]
    assert dots == [t for each in anchored.predictions for t in (each.first_ms, each.again_ms)]
    starts = [line for line in by_tokens.lines if line.get_linestyle() == "--"]
    assert all(y_of(line) > PUBLISHED_AGAIN_MS for line in starts)


def x_of(line: Line2D) -> float:
    return float(line.get_xdata()[0])  # type: ignore[index,arg-type]


def y_of(line: Line2D) -> float:
    return float(line.get_ydata()[0])  # type: ignore[index,arg-type]


# ── the files ───────────────────────────────────────────────────────────────────────────────────


def quick(name: str, *, text: str = "a | b") -> Published:
    def make(title: str) -> Reproduced:
        picture = Picture(figsize=(1, 1))
        picture.subplots().plot([0, 1])
        return Reproduced(title=title, table=text, pictures={"": picture, "more": picture})

    return Published(name=name, title=f"title of {name}", make=make)


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "PUBLISHED", (quick("one"), quick("two")))


@pytest.mark.usefixtures("two")
def test_every_entry_has_a_table_and_its_pictures_twice(tmp_path: Path) -> None:  # spec: CLI-1
    with pytest.raises(SystemExit) as end:
        main(["figures", f"--out={tmp_path / 'new' / 'folder'}"])
    assert not end.value.code
    names = sorted(path.name for path in (tmp_path / "new" / "folder").iterdir())
    parts = ("-more.png", "-more.svg", ".png", ".svg", ".txt")
    assert names == [f"{name}{part}" for name in ("one", "two") for part in parts]
    folder = tmp_path / "new" / "folder"
    assert (folder / "one.txt").read_text() == "title of one\n\na | b\n"
    assert (folder / "one.png").read_bytes().startswith(b"\x89PNG")
    before = (folder / "one.svg").read_bytes()
    FiguresCommand(out=folder, names=("one",)).run(say=lambda _: None)
    assert (folder / "one.svg").read_bytes() == before, "the same run gives the same file"


@pytest.mark.usefixtures("two")
def test_a_failed_write_leaves_every_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # spec: BAD-1
    FiguresCommand(out=tmp_path).run(say=lambda _: None)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(published, "PUBLISHED", (quick("one", text="other"),))
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name.startswith(".one-more.svg"):
            raise OSError("no space left")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OptionsError, match="--out: found no space left"):
        FiguresCommand(out=tmp_path).run(say=lambda _: None)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_place_that_cannot_be_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # spec: BAD-1, CLI-1
    def run(*_: object) -> Reproduced:
        raise AssertionError("nothing runs")

    monkeypatch.setattr(Published, "reproduce", run)
    (tmp_path / "file").touch()
    for arguments, line in (
        ([f"--out={tmp_path / 'file'}"], f"--out: found {tmp_path / 'file'}, a file; legal: a"),
        ([f"--out={tmp_path / 'file' / 'in'}"], "--out: found"),
        (["seven-ways"], "figure: found seven-ways; legal: eight-prefixes-by-slots"),
    ):
        with pytest.raises(SystemExit) as end:
            main(["figures", *arguments])
        assert end.value.code == 2
        said = capsys.readouterr().err
        assert said.startswith(f"ninfer-lab: {line}")
        assert said.count("\n") == 1


def test_what_was_said_of_other_engines_stands_beside_their_models() -> None:
    # spec: FIG-1, PEER-2
    made = made_again("community")
    assert SAID_OF_MODELS in made.table
    for name in designs.COMMUNITY:
        assert SAID[name] in made.table
    lane_owned = next(line for line in made.table.splitlines() if line.startswith("lane-owned "))
    assert lane_owned.split()[-4:] == ["961", "0", "962", "0"]  # as published
