"""Law: a prediction is the planner's own price of what was carried out, beside a clock's time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from ninfer_lab.lab import stories, worlds
from ninfer_lab.lab.calibration.beliefs import wrong_by
from ninfer_lab.lab.calibration.first_token import (
    FirstTokens,
    first_tokens,
    time_first_tokens,
)
from ninfer_lab.lab.world import Machine, Run

BODY = """
options
  max_context_tokens: 512
  device_state_slots: 1
  host_state_slots: 3
  max_private_continuations: 3

repeat 2 rounds over a-1..a-3
  tokens {item}
    prompt: q-{item}-{round}[70]
    answer: s-{item}-{round}[3]
"""


@cache
def run(machine: Machine) -> Run:
    story = stories.parse(f"story t?\nsetting tiny\n{BODY}")
    return worlds.run(replace(worlds.named("tiny-side-request"), story=story), machine)


@cache
def charged() -> FirstTokens:
    """In virtual time the truth is the belief: what was foreseen is what is waited for."""
    done = run(Machine.SIMULATED)
    return first_tokens(done.events, done.world.belief)


def test_a_machine_that_keeps_the_law_is_foreseen() -> None:
    """But for roundings up of each forward, one at a time."""
    assert len(charged().each) == 6
    for each in charged().each:
        assert each.predicted_ns == pytest.approx(each.machine_ns, abs=1_000), each.request
        assert each.machine_error == pytest.approx(0.0, abs=1e-4)
        assert each.unpriced_ns == each.ttft_ns - each.machine_ns


def test_restores_and_saves_are_in_what_was_foreseen() -> None:
    moved = [each for each in charged().each if each.work.transfers]
    assert moved, "with one slot to spare somebody goes to the Host"
    belief = run(Machine.SIMULATED).world.belief
    for each in moved:
        assert each.work.prefill is not None
        assert each.predicted_ns > belief.prefill_ns(each.work.prefill)


def test_an_error_has_a_sign() -> None:
    each = charged().each[0]
    assert replace(each, predicted_ns=2 * each.machine_ns).machine_error == pytest.approx(1.0)
    assert replace(each, predicted_ns=each.ttft_ns // 2).ttft_error == pytest.approx(-0.5)


def test_tables_say_what_every_request_did_and_how_errors_are_spread() -> None:
    table = charged().table
    assert table["request"].to_list() == [1, 2, 3, 4, 5, 6]
    assert table["computed_tokens"].to_list()[:3] == [70, 70, 70]
    parts = table["machine_ms"] + table["unpriced_ms"]
    assert parts.to_list() == pytest.approx(table["ttft_ms"].to_list(), abs=0.002)
    spread = charged().distribution
    assert spread["requests"].to_list() == [6, 6]
    assert spread["p0"][0] <= spread["p50"][0] <= spread["p100"][0]


def test_on_a_real_clock_the_machine_takes_its_time() -> None:
    world = run(Machine.SIMULATED).world
    dear = wrong_by(world.belief, prefill=3.0)
    real = time_first_tokens(world, dear, runs_count=2, shows_progress=False)
    assert [each.request for each in real.each] == [1, 2, 3, 4, 5, 6] * 2
    for each in real.each:
        assert 0 < each.machine_ns <= each.ttft_ns
        assert each.predicted_ns == dear.work_ns(each.work)
