"""Law: every finding stands in a table with its goal; the README changes between its marks only."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from ninfer_lab.lab.bench.interleaved import Interleaved, Pair, Spread
from ninfer_lab.lab.bench.machine_facts import MachineFacts, TensorFacts, cpu_model
from ninfer_lab.lab.bench.measured import (
    Bound,
    Compared,
    Finding,
    Goal,
    Measured,
    NotMeasured,
    Rate,
    Share,
    Took,
)
from ninfer_lab.lab.bench.table import put_between_marks, render, write_into

FACTS = MachineFacts(
    day=date(2026, 1, 2),
    cpu="A Processor",
    core_count=2,
    thread_count=2,
    load=0.5,
    tensors=TensorFacts(
        torch_version="9.9",
        transformers_version="8.8",
        vector_instructions="AVX2",
        multiplies_bfloat16=False,
    ),
)


def at_least(figure: float) -> Goal:
    return Goal(bound=Bound.AT_LEAST, figure=figure)


def at_most(figure: float) -> Goal:
    return Goal(bound=Bound.AT_MOST, figure=figure)


def compared(ours_ns: int, other_ns: int, *, is_per_unit: bool = False) -> Compared:
    pair = Pair(ours_ns=ours_ns, other_ns=other_ns)
    return Compared(timed=Interleaved(pairs=(pair,)), unit_tokens=1_000, is_per_unit=is_per_unit)


def share(figure: float) -> Share:
    return Share(spread=Spread(low=0.0, middle=figure, high=1.0), detail="1 of 9")


def rate(figure: float) -> Rate:
    return Rate(spread=Spread(low=0.0, middle=figure, high=5_000.0), detail="small ones")


def finding(measured: Measured, goal: Goal | None, name: str = "tiny/float32/work") -> Finding:
    return Finding(name=name, work="the work", measured=measured, goal=goal)


@pytest.mark.parametrize(
    ("measured", "goal", "figure_text", "goal_text"),
    [
        (compared(100, 150), at_least(1.5), "1.50x (1.50 to 1.50)", "≥ 1.5x yes"),
        (compared(100, 149), at_least(1.5), "1.49x (1.49 to 1.49)", "≥ 1.5x NO"),
        (share(0.11), at_most(0.11), "11.0% (0.0% to 100.0%)", "≤ 11% yes"),
        (share(0.111), at_most(0.11), "11.1% (0.0% to 100.0%)", "≤ 11% NO"),
        (Took(figure=0.25, detail=""), at_most(0.3), "0.250 s", "≤ 0.3 s yes"),
        (Took(figure=17.04, detail=""), None, "17.0 s", "none"),
        (rate(2_000.4), at_least(2_000), "2,000/s (0 to 5,000)", "≥ 2,000/s yes"),
        (rate(1_999.9), at_least(2_000), "2,000/s (0 to 5,000)", "≥ 2,000/s NO"),
        (NotMeasured(detail="no folder"), at_most(0.3), "not measured", "open"),
        (NotMeasured(detail="no folder"), None, "not measured", "none"),
    ],
)
def test_a_finding_says_its_figure_and_whether_its_goal_is_met(
    measured: Measured, goal: Goal | None, figure_text: str, goal_text: str
) -> None:
    found = finding(measured, goal)
    assert (found.figure_text, found.goal_text) == (figure_text, goal_text)
    assert found.holds is {"yes": True, "NO": False}.get(goal_text.rsplit(maxsplit=1)[-1])


def test_times_are_said_whole_or_for_one_step() -> None:
    whole = compared(2_000_000_000, 4_000_000_000)
    assert (whole.ours_text, whole.other_text) == ("2,000 ms (500 tok/s)", "4,000 ms (250 tok/s)")
    assert compared(2_000_000_000, 1, is_per_unit=True).ours_text == "2.00 ms/step"


def test_every_kind_of_finding_has_its_line_and_all_lines_the_columns_of_their_head() -> None:
    findings = [
        finding(compared(100, 150), at_least(1.2), "tiny/float32/prefill-4096"),
        finding(share(0.05), at_most(0.10), "bookkeeping/tiny"),
        finding(Took(figure=3.0, detail="once"), None, "notebook/00"),
    ]
    text = render(findings, FACTS, "transformers: so and so")
    assert "2026-01-02 · A Processor, 2 cores, AVX2, without bfloat16 products, load 0.5" in text
    assert "torch 9.9, transformers 8.8 · 2 threads" in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert [line.count("|") for line in lines] == [8, 8, 8, 5, 5, 5, 5]
    assert lines[2].split("|")[1].strip() == "tiny"
    assert "1 of 9" in lines[5]
    assert "once" in lines[6]


def test_a_kind_that_does_not_occur_has_no_table() -> None:
    text = render([finding(share(0.05), None)], FACTS, "so and so")
    assert "transformers" not in text.replace("transformers 8.8", "")


def test_only_what_stands_between_the_marks_is_replaced(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# Top\n<!-- bench -->\nold\n<!-- /bench -->\nend\n")
    assert write_into(readme, "new\n")
    assert readme.read_text() == "# Top\n<!-- bench -->\nnew\n<!-- /bench -->\nend\n"
    assert write_into(readme, "new\n"), "twice gives the same"
    assert readme.read_text() == "# Top\n<!-- bench -->\nnew\n<!-- /bench -->\nend\n"
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


@pytest.mark.parametrize(
    "text",
    [
        "no marks",
        "<!-- bench --> only one",
        "<!-- /bench --> the wrong way round <!-- bench -->",
        "<!-- bench --><!-- /bench --> twice <!-- bench --><!-- /bench -->",
    ],
)
def test_a_readme_without_exactly_one_pair_of_marks_stays_as_it_is(
    tmp_path: Path, text: str
) -> None:
    assert put_between_marks(text, "new\n") is None
    readme = tmp_path / "README.md"
    readme.write_text(text)
    assert not write_into(readme, "new\n")
    assert readme.read_text() == text
    assert not write_into(tmp_path / "absent.md", "new\n")


def test_the_processor_is_named_as_the_system_names_it() -> None:
    assert cpu_model("processor\t: 0\nmodel name\t: Some: CPU 3\nflags\t: a b\n") == "Some: CPU 3"
    assert cpu_model("")
