"""Law: the desk's runs are the study's own, its reasons are the terms that were weighed, and what
no engine takes is said in the desk.
"""

from __future__ import annotations

import base64

import pytest
from ipywidgets.widgets import widget

from ninfer_lab.contract.shared_report import SharedOutcome
from ninfer_lab.lab.eight_prefixes_reasons import reasons
from ninfer_lab.lab.eight_prefixes_study import ROOMY, Rules, Turns, run_turns
from ninfer_lab.lab.widgets.turns_desk import TurnsDesk

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
TWO = Turns(preambles_tokens=(1_430,) * 2, rounds_count=3)


def desk(rules: Rules = Rules.BEFORE, slots: int = 4) -> TurnsDesk:
    return TurnsDesk(prefixes=2, slots=slots, rounds=3, rules=rules)


def test_a_desk_runs_what_its_controls_say() -> None:
    shown = desk()
    assert shown.result == run_turns(4, Rules.BEFORE, turns=TWO, options=ROOMY)
    shown.choose(rules=Rules.AFTER, slots=3, lengths="1430, 900")
    assert shown.result.rules is Rules.BEFORE, "nothing is run before the button"
    shown.run()
    other = Turns(preambles_tokens=(1_430, 900), rounds_count=3)
    assert shown.result == run_turns(3, Rules.AFTER, turns=other, options=ROOMY)


def test_every_term_of_a_decision_is_shown() -> None:
    shown = desk(slots=2)
    assert shown.result is not None
    shown.look(2, 1)
    head, end = shown.reasons
    turn = shown.turn
    assert turn is not None
    (told,) = turn.chances
    assert (head.frontier_tokens, head.words) == (1_430, SharedOutcome.PUBLISHED.value)
    assert end.words.startswith("not offered, because it may take a vacant slot only")
    assert [way.is_taken for way in head.ways].count(True) == 1
    for way, scenario in zip(head.ways, told.scenarios, strict=True):
        *parts, (_, net_ms) = way.terms
        assert scenario.gain is not None
        assert net_ms == scenario.gain.net_ns / 1e6
        assert sum(value for _, value in parts) == pytest.approx(net_ms)
        assert f"{net_ms:+,.2f} ms" in shown._why.value
        assert f"{net_ms:+,.2f} ms" in str(shown)


@pytest.mark.parametrize(
    ("rules", "place", "head", "end"),
    [
        (Rules.BEFORE, (1, 1), "the end alone brings more", SharedOutcome.PUBLISHED.value),
        (Rules.AFTER, (1, 1), SharedOutcome.PUBLISHED.value, "must be repeated"),
        (Rules.AFTER, (2, 2), "is kept already", "must be repeated"),
    ],
)
def test_what_was_not_offered_has_its_rule(
    rules: Rules, place: tuple[int, int], head: str, end: str
) -> None:
    shown = desk(rules)
    shown.look(*place)
    assert [part in each.words for part, each in zip((head, end), shown.reasons, strict=True)] == [
        True,
        True,
    ]


def test_without_a_slot_nothing_is_offered() -> None:
    run = run_turns(0, Rules.TODAY, turns=TWO, options=ROOMY)
    head, end = reasons(run, run.requests[0])
    assert "no slot" in head.words
    assert (head.ways, end.ways) == ((), ())


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ("", "lengths: found nothing"),
        ("1430 900 20", "legal: whole numbers from 1 on: one, or 2"),
        ("many", "lengths: found many"),
        ("900000", "900025 tokens"),
    ],
)
def test_what_no_engine_takes_is_said_in_the_desk(lengths: str, said: str) -> None:
    shown = desk()
    before = shown.result
    shown.choose(lengths=lengths)
    shown.run()
    assert shown.result is before
    assert said in shown._error.value
    shown.choose(lengths="1430")
    shown.run()
    assert said not in shown._error.value


def test_a_desk_is_seen_without_a_kernel_and_closes_what_it_opened() -> None:  # spec: W-5
    open_before = set(widget._instances)
    shown = desk()
    bundle = shown._repr_mimebundle_()
    assert WIDGET_VIEW in bundle
    assert bundle["text/plain"] == str(shown)
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    shown.close()
    left = {type(widget._instances[each]) for each in set(widget._instances) - open_before}
    assert left == set()
