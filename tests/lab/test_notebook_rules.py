"""Law: a notebook is fit to be committed only if none of the house's rules finds a fault in it."""

from __future__ import annotations

from typing import Any

import pytest

from ninfer_lab.lab.notebook_rules import NOTEBOOK_LIMIT_BYTES, WIDGET_VIEW, notebook_faults


def code(source: str, *, count: int, outputs: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "source": source,
        "execution_count": count,
        "outputs": list(outputs),
    }


def text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source}


def shown(**data: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data}


TITLE = text("# What is kept?\n\nProse.")
END = "assert 1 + 1 == 2"


def faults(*cells: dict[str, Any], size_bytes: int = 1_000, **metadata: Any) -> tuple[str, ...]:
    whole = {"kernelspec": {"name": "python3"}, **metadata}
    return notebook_faults({"cells": list(cells), "metadata": whole}, size_bytes=size_bytes)


def long_function(lines: int) -> str:
    return "def f():\n" + "    pass\n" * (lines - 1)


def test_a_fit_notebook_has_no_fault() -> None:  # spec: NB-1, NB-4
    outputs = (
        shown(**{WIDGET_VIEW: "{}", "image/png": "aGk="}),
        shown(**{"text/plain": "<Figure size 9x2>", "image/png": "aGk="}),
        shown(**{"text/plain": "<Engine open: 0 active, 2 waiting>"}),
    )
    found = faults(
        TITLE,
        code("from ninfer_lab import lab\nimport polars as pl\n%time 3", count=1),
        code(long_function(10), count=2, outputs=outputs),
        code(END, count=3),
    )
    assert found == ()


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ((text("# A report"), code(END, count=1)), "cell 1: found '# A report'; legal: a markdown"),
        ((code(END, count=1),), "cell 1: found 'assert 1 + 1 == 2'; legal: a markdown title"),
        ((), "cell 1: found ''; legal: a markdown title"),
        ((TITLE, code("x = 1", count=1)), "cell 2: legal: the last cell asserts"),
        ((TITLE, code(END, count=1), text("Bye.")), "cell 3: legal: the last cell asserts"),
        ((TITLE, code(END, count=2)), "cell 2: found execution count 2; legal: 1"),
        ((TITLE, code(" ", count=1), code(END, count=2)), "cell 2: found no code"),
        (
            (TITLE, code(long_function(11), count=1), code(END, count=2)),
            "cell 2: found function f of 11 lines; legal: 10",
        ),
        (
            (TITLE, code("import transformers", count=1), code(END, count=2)),
            "cell 2: found an import of transformers; legal: the standard library and matplotlib",
        ),
        (
            (TITLE, code("\n".join(["import os"] * 7), count=1), code(END, count=2)),
            "imports: found 7; legal: 6",
        ),
        (
            (
                TITLE,
                code(
                    END,
                    count=1,
                    outputs=({"output_type": "error", "ename": "ValueError", "evalue": "no"},),
                ),
            ),
            "cell 2: found ValueError: no; legal: no error",
        ),
        (
            (TITLE, code(END, count=1, outputs=(shown(**{WIDGET_VIEW: "{}"}),))),
            "cell 2: found a widget without a static form; legal: one of text/html",
        ),
        (
            (TITLE, code(END, count=1, outputs=(shown(**{"text/plain": "<Figure size 9x2>"}),))),
            "cell 2: found only '<Figure size 9x2>'; legal: a picture",
        ),
        (
            (TITLE, code(END, count=1, outputs=(shown(**{"text/plain": "<a.B object at 0x7f>"}),))),
            "cell 2: found only '<a.B object at 0x7f>'; legal: a picture",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_one_planted_fault_is_named(cells: tuple[dict[str, Any], ...], fault: str) -> None:
    assert any(line.startswith(fault) for line in faults(*cells))


def test_the_frame_is_checked() -> None:
    good = (TITLE, code(END, count=1))
    assert faults(*good, size_bytes=NOTEBOOK_LIMIT_BYTES) == (
        "size: found 500000 bytes; legal: below 500000",
    )
    assert faults(*good, widgets={}) == (
        "metadata: found saved widget state; legal: none (build the notebook)",
    )
    assert faults(*good, kernelspec={"name": "julia"}) == (
        "metadata: found kernel 'julia'; legal: 'python3'",
    )
