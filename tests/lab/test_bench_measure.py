"""Law: a row measures what its name says: both sides draw the same tokens, and nothing is reused
unless reuse is the row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from lab.trace_files import moon, written
from ninfer_lab.contract.clock import MonotonicClock
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.lab.bench import simulated_side
from ninfer_lab.lab.bench.checkpoints import BenchCheckpoint, checkpoint_folder
from ninfer_lab.lab.bench.engine_side import EngineSide
from ninfer_lab.lab.bench.measure import QUICK_EFFORT, Studio, require_alike
from ninfer_lab.lab.bench.measured import Bound, Compared, Goal, NotMeasured, Rate, Share, Took
from ninfer_lab.lab.bench.rows import (
    BookkeepingRow,
    DecodeRow,
    PrefillRow,
    RecorderRow,
    ReplayRow,
    ResumeRow,
    Row,
    SimulatedRow,
)
from ninfer_lab.lab.bench.run import BenchRequest, run_bench
from ninfer_lab.lab.bench.start_up import import_seconds
from ninfer_lab.lab.cli import MISTAKE_EXIT_CODE, main
from ninfer_lab.lab.traces.reading import FOLDER_VARIABLE

TINY, FLOAT32 = BenchCheckpoint.TINY, ModelDtype.FLOAT32
ANY_GOAL = Goal(bound=Bound.AT_LEAST, figure=0.0)
PREFILL = PrefillRow(checkpoint=TINY, dtype=FLOAT32, prompt_tokens=70, goal=ANY_GOAL)
DECODE = DecodeRow(checkpoint=TINY, dtype=FLOAT32, lanes=3, prompt_tokens=40, goal=ANY_GOAL)
BOOKKEEPING = BookkeepingRow(checkpoint=TINY, lanes=2, prompt_tokens=40, goal=ANY_GOAL)
SIMULATED, RECORDER = SimulatedRow(goal=ANY_GOAL), RecorderRow(goal=ANY_GOAL)
RESUME = ResumeRow(checkpoint=TINY, prompt_tokens=150, new_tokens=20, goal=ANY_GOAL)


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(scratch=tmp_path, notebooks={}, effort=QUICK_EFFORT, clock=MonotonicClock())


@pytest.fixture
def side(tmp_path: Path) -> Iterator[EngineSide]:
    folder = checkpoint_folder(TINY, tmp_path)
    engine = EngineSide(folder, FLOAT32, lanes=2, context_tokens=200, clock=MonotonicClock())
    with closing(engine):
        yield engine


@pytest.mark.parametrize("row", [PREFILL, DECODE], ids=lambda row: row.name)
def test_the_engine_and_transformers_draw_alike_and_are_compared(studio: Studio, row: Row) -> None:
    found = studio.find(row)
    assert isinstance(found.measured, Compared)
    assert len(found.measured.timed.pairs) == 1
    assert found.measured.figure > 0.0


@pytest.mark.parametrize("row", [BOOKKEEPING, RESUME, RECORDER], ids=lambda row: row.name)
def test_a_share_is_a_part_of_a_whole(studio: Studio, row: Row) -> None:
    measured = studio.find(row).measured
    assert isinstance(measured, Share)
    assert 0.0 < measured.figure < 1.0


def test_simulated_requests_are_counted_per_second(studio: Studio) -> None:
    measured = studio.find(SIMULATED).measured
    assert isinstance(measured, Rate)
    assert measured.figure > 0.0


def test_a_trace_is_replayed_in_a_process_of_its_own(studio: Studio, tmp_path: Path) -> None:
    path = written(tmp_path, [moon([id], tokens=100, at_ms=id) for id in range(60)])
    measured = studio.find(ReplayRow(trace=str(path))).measured
    assert isinstance(measured, Took)
    assert 0.0 < measured.figure < 60.0
    matched = re.fullmatch(
        r"50 requests, peak memory (\d+) MiB, 0.00% of prompt tokens reused", measured.detail
    )
    assert matched is not None, measured.detail
    assert 20 < int(matched[1]) < 400  # with torch, or with what this process has, it were more


def test_a_trace_that_is_not_here_is_said_not_to_be(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    found = studio.find(ReplayRow(trace="mooncake-conversation"))
    assert isinstance(found.measured, NotMeasured)
    assert found.measured.detail.startswith("environment variable NINFER_LAB_TRACES: found unset")
    assert found.holds is None


def test_small_requests_that_find_no_room_stop_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    little = replace(simulated_side._OPTIONS, device_state_slots=2)
    monkeypatch.setattr(simulated_side, "_OPTIONS", little)
    with pytest.raises(InvariantBroken, match="not 349 tokens reused"):
        simulated_side.SmallRequests().run()


def test_sides_that_draw_other_tokens_stop_a_float32_row() -> None:
    with pytest.raises(InvariantBroken, match="tiny/float32/prefill-70"):
        require_alike(PREFILL, (1, 2), (1, 3))
    rounding = PrefillRow(
        checkpoint=TINY, dtype=ModelDtype.BFLOAT16, prompt_tokens=70, goal=ANY_GOAL
    )
    require_alike(rounding, (1, 2), (1, 3))


def test_a_cold_prefill_that_was_warm_stops_the_row(side: EngineSide) -> None:
    prompt = TokenSpan(range(100))
    side.prefill(prompt[:60])
    with pytest.raises(InvariantBroken, match="bench cold prefill"):
        side.prefill(prompt)


def test_a_resume_that_found_other_than_the_kept_tokens_stops_the_row(side: EngineSide) -> None:
    prompt = TokenSpan(range(100))
    side.prefill(prompt[:90], session=SessionKey("talk"))
    with pytest.raises(InvariantBroken, match="not 60 tokens reused"):
        side.resume(prompt, kept_tokens=60, session=SessionKey("talk"))


def test_decode_counts_only_steps_in_which_every_lane_ran(side: EngineSide) -> None:
    side.start_decode([TokenSpan(range(50)), TokenSpan(range(9))], output_tokens=30)
    times = side.decode(5)
    assert len(times.steps_ns) == len(times.machines_ns) == 5
    for step_ns, machine_ns in zip(times.steps_ns, times.machines_ns, strict=True):
        assert 0 < machine_ns < step_ns
    first, second = side.drawn_tokens
    assert min(len(first), len(second)) >= 6  # the prefill's draw and five steps
    side.stop_decode()


def test_an_import_that_brings_torch_along_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").touch()
    (tmp_path / "heavy.py").write_text("import torch\n")
    (tmp_path / "light.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert import_seconds("light") > 0.0
    with pytest.raises(InvariantBroken, match="`import heavy` imported torch"):
        import_seconds("heavy")


def test_a_chosen_row_is_said_and_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "OMP_WAIT_POLICY", "PASSIVE")
    said: list[str] = []
    run_bench(BenchRequest(patterns=("import/ninfer_lab",), is_quick=True), said.append)
    assert said[0].startswith("import/ninfer_lab: 0.0")
    assert "| `import ninfer_lab` in a fresh process |" in said[1]
    assert len(said) == 2


def test_only_a_whole_run_may_stand_in_the_readme() -> None:
    assert BenchRequest().is_whole
    assert not BenchRequest(is_quick=True).is_whole
    assert not BenchRequest(patterns=("tiny/*",)).is_whole


def test_a_pattern_without_a_row_ends_the_command_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", "--rows", "huge/*"])
    assert ended.value.code == MISTAKE_EXIT_CODE
    assert capsys.readouterr().err.startswith("ninfer-lab: bench rows: found huge/*; legal:")
