"""Law: pictures of side requests show what the runs say; a recording of any design is one file that
reads back as it was, and tells when a lane was reset.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.recording_options import EVERYTHING
from ninfer_lab.lab import designs, figures, worlds
from ninfer_lab.lab.cli import main
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.side_request_ways import decision_table, every_combination, sweep
from ninfer_lab.lab.side_requests import PUBLISHED, Group, Lengths, published_table, side_run


def texts(panel: Axes) -> list[str]:
    return [text.get_text().strip() for text in panel.texts if text.get_text()]


def rectangles(panel: Axes) -> list[Rectangle]:
    return [patch for patch in panel.patches if isinstance(patch, Rectangle)]


def test_published_and_reproduced_stand_side_by_side() -> None:  # spec: FIG-1
    (panel,) = figures.side_requests(published_table()).axes
    said = texts(panel)
    assert said[0::2] == said[1::2], "what was reproduced is what was published"
    assert said[::2] == [f"{o.cached_tokens} of {o.prompt_tokens}, {o.path}" for o in PUBLISHED]
    lengths = [bar.get_width() for bar in rectangles(panel)]
    assert lengths[0::4] == [o.prompt_tokens for o in PUBLISHED]
    assert lengths[1::4] == [o.cached_tokens for o in PUBLISHED]


def test_every_combination_has_its_cell_and_its_colour() -> None:  # spec: FIG-1
    swept = sweep(Lengths.SHORT)
    (panel,) = figures.ways_out(swept).axes
    cells = rectangles(panel)
    assert len(cells) == 4 * len(every_combination()) == len(texts(panel))
    blue = [to_hex(cell.get_facecolor()).upper() == "#0072B2" for cell in cells]
    assert blue == [run.helps for run in swept.runs]
    assert texts(panel) == [str(run.reused_tokens) for run in swept.runs]


def test_advice_that_does_not_hold_is_said_so() -> None:  # spec: FIG-1, RT-5
    (panel,) = figures.decisions(decision_table(Lengths.SHORT), title="advice").axes
    holds = ["does not hold" not in said for said in texts(panel)]
    assert holds == [True] * 6 + [False] * 2
    assert panel.get_title(loc="left") == "advice"


def test_each_design_has_a_timeline_of_the_same_requests() -> None:
    runs = [
        side_run(Group.TITLE, design, name=name, lengths=Lengths.SHORT)
        for name, design in designs.DESIGNS.items()
    ]
    panels = figures.design_timelines(runs).axes
    titles = [panel.get_title(loc="left") for panel in panels]
    assert titles == [f"{name}, one lane" for name in designs.DESIGNS]
    for panel, run in zip(panels, runs, strict=True):
        shown = [text.get_text() for text in panel.texts]
        assert shown[1:] == [
            f"{o.cached_tokens} of {o.prompt_tokens}, {o.path}" for o in run.observed
        ]


@pytest.mark.parametrize("name", designs.DESIGNS)
def test_a_recording_of_any_design_is_one_file(name: str, tmp_path: Path) -> None:  # spec: RCD-1
    run = worlds.run("side-request-short-postfix", design=designs.named(name), recording=EVERYTHING)
    recorded = run.recording
    recorded.save(tmp_path / "run.ninfer")
    read = Recording.load(tmp_path / "run.ninfer")
    assert read.events == recorded.events
    assert read.ledger_at(len(read) - 1) == run.snapshot.ledger
    assert read.misses.equals(recorded.misses)


def test_a_recording_says_that_a_lane_was_reset() -> None:
    misses = side_run(Group.TITLE).run.recording.misses
    causes = [(row["request"], row["cause"], row["tokens"]) for row in misses.to_dicts()]
    assert (3, "its lane was reset", 961) in causes
    control = side_run(Group.CONTROL).run.recording.misses
    assert "its lane was reset" not in control["cause"].to_list()


def test_the_command_serves_any_design(capsys: pytest.CaptureFixture[str]) -> None:
    world = "side-request-short-title"
    for design, path in (("lane-owned", "full_reset"), ("catalog", "private_turn_closure")):
        with pytest.raises(SystemExit) as ended:
            main(["run", world, f"--design={design}"])
        assert not ended.value.code
        last_turn = capsys.readouterr().out.splitlines()[4]
        assert path in last_turn.split()
    with pytest.raises(SystemExit) as refused:
        main(["run", world, "--design=another"])
    assert refused.value.code == 2
    assert capsys.readouterr().err.startswith("ninfer-lab: design: found another; legal: catalog")


def test_a_design_of_no_name_is_refused() -> None:
    with pytest.raises(OptionsError, match="found another; legal: catalog or lane-owned"):
        designs.named("another")
