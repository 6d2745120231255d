"""Law: what is kept was measured on the streams of today, our models predict all of it, and the
README shows it as it is.

A model that is changed so that it no longer says what its engine did fails here; then either the
model is wrong, or the engine is to be measured again (`make peers`).
"""

from __future__ import annotations

import pytest

from ninfer_lab.lab.bench.peers.command import KEPT_FILE, README
from ninfer_lab.lab.bench.peers.measured import MeasuredRun, read_measurements
from ninfer_lab.lab.bench.peers.predicted import predicted_beside
from ninfer_lab.lab.bench.peers.runs import RUNS, Peer
from ninfer_lab.lab.bench.peers.table import BEGIN_MARK, END_MARK, render

KEPT = read_measurements(KEPT_FILE)
ASKED = [run for run in KEPT.runs if run.run.stream != "first-tokens"]


def test_every_run_is_kept_and_was_sent_the_streams_of_today() -> None:
    assert [run.run for run in KEPT.runs] == list(RUNS)
    assert [str(run.run) for run in KEPT.runs if not run.is_of_today] == []
    assert set(KEPT.versions) == {peer.value for peer in Peer}


@pytest.mark.parametrize("run", ASKED, ids=lambda run: str(run.run))
def test_our_model_of_an_engine_predicts_what_it_said(run: MeasuredRun) -> None:
    assert predicted_beside(run) == run.cached_tokens


def test_all_engines_read_the_same_weights() -> None:
    for run in KEPT.runs:
        if run.run.stream == "first-tokens":
            pairs = zip(run.first_tokens, KEPT.own_first_tokens, strict=True)
            # bfloat16 may draw another of two tokens that are nearly as likely.
            allowed = 1 if run.run.peer is Peer.VLLM else 0
            assert sum(theirs != ours for theirs, ours in pairs) <= allowed, run.run


def test_the_readme_shows_what_is_kept() -> None:
    _, _, rest = README.read_text(encoding="utf-8").partition(f"{BEGIN_MARK}\n")
    shown, mark, _ = rest.partition(END_MARK)
    assert mark
    assert shown == render(KEPT), "`ninfer-lab peers --kept` writes it again"
