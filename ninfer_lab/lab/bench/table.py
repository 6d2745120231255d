"""How do findings read as tables, and how do they get into the README?

Owns the Markdown, which is also what is printed, and the two marks between which the README takes
it. Does not measure, and changes nothing outside the marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ninfer_lab.lab.bench.machine_facts import MachineFacts
from ninfer_lab.lab.bench.measured import Compared, Finding

BEGIN_MARK = "<!-- bench -->"
END_MARK = "<!-- /bench -->"

Cells = tuple[str, ...]
Marks = tuple[str, str]


def render(findings: Sequence[Finding], facts: MachineFacts, settings: str) -> str:
    """The facts, then a table for each kind of finding that occurs.

    Args:
        findings: In the order of the rows.
        facts: Of the machine.
        settings: How the other side was run.
    """
    parts = [f"Measured {facts}."]
    if compared := _compared_lines(findings):
        parts += [
            aligned_table(
                ("checkpoint", "dtype", "work", "Engine", "transformers", "faster", "goal"),
                compared,
            ),
            f"Medians of interleaved repeats (quartiles in brackets). {settings}.",
        ]
    if own := _own_lines(findings):
        parts.append(aligned_table(("what", "figure", "from", "goal"), own))
    return "\n\n".join(parts) + "\n"


def put_between_marks(text: str, tables: str, marks: Marks = (BEGIN_MARK, END_MARK)) -> str | None:
    """`text` with `tables` between its marks; `None` if it has not exactly one pair of them."""
    begin, end = marks
    if text.count(begin) != 1 or text.count(end) != 1:
        return None
    before, _, rest = text.partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        return None
    return f"{before}{begin}\n{tables}{end}{after}"


def write_into(readme: Path, tables: str, marks: Marks = (BEGIN_MARK, END_MARK)) -> bool:
    """Replaces what stands between the marks of a file, in one step.

    Returns:
        Whether the file has the marks; without them it stays as it is.
    """
    if not readme.is_file():
        return False
    content = put_between_marks(readme.read_text(encoding="utf-8"), tables, marks)
    if content is None:
        return False
    draft = readme.with_name(f".{readme.name}.draft")
    try:
        draft.write_text(content, encoding="utf-8")
        draft.replace(readme)
    finally:
        draft.unlink(missing_ok=True)
    return True


def _compared_lines(findings: Sequence[Finding]) -> list[Cells]:
    lines: list[Cells] = []
    for finding in findings:
        if isinstance(finding.measured, Compared):
            checkpoint, dtype, _ = finding.name.split("/")
            times = (finding.measured.ours_text, finding.measured.other_text)
            lines.append(
                (checkpoint, dtype, finding.work, *times, finding.figure_text, finding.goal_text)
            )
    return lines


def _own_lines(findings: Sequence[Finding]) -> list[Cells]:
    return [
        (finding.work, finding.figure_text, finding.measured.detail, finding.goal_text)
        for finding in findings
        if not isinstance(finding.measured, Compared)
    ]


def aligned_table(heads: Cells, lines: Sequence[Cells]) -> str:
    """Markdown whose columns also line up in a terminal."""
    rule = tuple("-" for _ in heads)
    widths = [max(len(line[i]) for line in (heads, *lines)) for i in range(len(heads))]

    def drawn(cells: Cells, fill: str = " ") -> str:
        padded = (cell.ljust(width, fill) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |"

    return "\n".join([drawn(heads), drawn(rule, "-"), *(drawn(line) for line in lines)])
