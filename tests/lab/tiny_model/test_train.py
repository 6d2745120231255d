"""Law: training follows from its seed, stops when its time is up, and reports what it did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import Qwen3_5ForCausalLM

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.tiny_model import train
from ninfer_lab.lab.tiny_model.checkpoint import LOG_NAME
from ninfer_lab.lab.tiny_model.evaluate import Score, measure
from ninfer_lab.lab.tiny_model.train import Ending, Stage, TrainingReport, train_tiny
from ninfer_lab.lab.tiny_model.world import Form, Recipe

RECITALS = Recipe(length_tokens=128, form=Form.RECITAL, code_share=0.5)


class TickingClock:
    """Every look at the clock costs a second."""

    def __init__(self) -> None:
        self._now_ns = 0

    def now_ns(self) -> int:
        self._now_ns += 1_000_000_000
        return self._now_ns

    def wait_until(self, moment_ns: int) -> None:
        raise AssertionError("training waits for nothing")


def stage(*, floor: float, steps: int) -> Stage:
    return Stage(
        recipe=RECITALS,
        batch_count=2,
        changing_floor=floor,
        code_floor=floor,
        steps_max_count=steps,
    )


@pytest.fixture(autouse=True)
def short_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(
        model: Qwen3_5ForCausalLM, tokenizer: Tokenizer, *, conversations_count: int
    ) -> tuple[Score, ...]:
        return measure(
            model, tokenizer, conversations_count=conversations_count, lengths_tokens=(96,)
        )

    monkeypatch.setattr(train, "measure", short)


def trained(out: Path, *, seed: int, minutes: float = 60.0) -> TrainingReport:
    return train_tiny(out, seed=seed, minutes=minutes, judged_count=2, clock=TickingClock())


def test_the_same_seed_gives_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "CURRICULUM", (stage(floor=0.0, steps=9), stage(floor=2.0, steps=4)))
    first = trained(tmp_path / "first", seed=3)
    trained(tmp_path / "again", seed=3)
    trained(tmp_path / "other", seed=4)
    weights = {
        name: load_file(tmp_path / name / "model.safetensors")["model.norm.weight"]
        for name in ("first", "again", "other")
    }
    assert weights["first"].equal(weights["again"])
    assert not weights["first"].equal(weights["other"])
    # A floor of nothing ends the first stage after one step; the last runs its four.
    assert first.steps_count == 5
    assert first.ending is Ending.CURRICULUM_DONE
    assert str(first).count("\n") == 5
    log = [json.loads(line) for line in (tmp_path / "first" / LOG_NAME).read_text().splitlines()]
    assert next(line for line in log if "passed" in line)["legal"] == "at least 98%"
    assert next(line for line in log if "ending" in line)["steps"] == 5


def test_time_that_is_up_ends_the_run_with_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "CURRICULUM", (stage(floor=2.0, steps=10_000),))
    report = trained(tmp_path / "tiny", seed=0, minutes=0.1)
    assert report.ending is Ending.TIME_UP
    assert 0 < report.steps_count < 10
    assert (tmp_path / "tiny" / "model.safetensors").exists()


def test_a_bad_request_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="minutes: found 0; legal: more than 0"):
        trained(tmp_path / "tiny", seed=0, minutes=0)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OptionsError, match=r"notes\.txt"):
        trained(tmp_path, seed=0)
