"""Is this notebook fit to be committed?

Owns the house's rules for a notebook file, as one pure function from its JSON to the faults found.
The build command applies it before it writes, the tests to every file that is committed. Does not
know how a notebook is run.
Source: rules NB-1 and NB-4.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NOTEBOOK_LIMIT_BYTES = 500_000
"""Above this a code-hosting site stops showing the file, and a clone is slow."""

FUNCTION_LIMIT_LINES = 10
"""A longer function is logic, and logic lives in the package."""

IMPORT_LIMIT_COUNT = 6
"""More imports than this, and the notebook does what `lab` should do for it."""

IMPORT_ROOTS = frozenset({"ninfer_lab", "torch", "polars", "matplotlib"})
"""What a notebook may import beside the standard library."""

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
STATIC_FORMS = ("text/html", "image/png", "image/svg+xml")

BARE_OBJECT = re.compile(r"<[\w.]+ (?:object at 0x|at 0x|size \d)")
"""What Python prints for a value that cannot show itself; a figure that was not drawn, say."""

Notebook = Mapping[str, Any]
Cell = Mapping[str, Any]

_MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)


def notebook_faults(notebook: Notebook, *, size_bytes: int) -> tuple[str, ...]:
    """Everything that keeps an executed notebook from being committed, in reading order.

    Args:
        notebook: The file's JSON, nbformat 4.
        size_bytes: Its size as written.

    Returns:
        One sentence per fault, each naming the cell (counted from 1) and what is legal; empty when
        the notebook is fit.
    """
    cells: Sequence[Cell] = notebook["cells"]
    return (
        *_frame_faults(notebook, size_bytes),
        *_story_faults(cells),
        *_code_faults(cells),
        *_output_faults(cells),
    )


def _frame_faults(notebook: Notebook, size_bytes: int) -> Iterator[str]:
    """Size and metadata."""
    if size_bytes >= NOTEBOOK_LIMIT_BYTES:
        yield f"size: found {size_bytes} bytes; legal: below {NOTEBOOK_LIMIT_BYTES}"
    if "widgets" in notebook["metadata"]:
        yield "metadata: found saved widget state; legal: none (build the notebook)"
    kernel = notebook["metadata"].get("kernelspec", {}).get("name")
    if kernel != "python3":
        yield f"metadata: found kernel {kernel!r}; legal: 'python3'"


def _story_faults(cells: Sequence[Cell]) -> Iterator[str]:
    """A question in the title, an assertion at the end, numbered runs between."""
    title = _source(cells[0]).split("\n", 1)[0] if cells else ""
    if not cells or cells[0]["cell_type"] != "markdown" or not re.match(r"# .*\?", title):
        yield f"cell 1: found {title!r}; legal: a markdown title that asks one question (`# ...?`)"
    if not cells or cells[-1]["cell_type"] != "code" or not _asserts(cells[-1]):
        yield f"cell {len(cells)}: legal: the last cell asserts what the reader was to see"
    for expected_count, (number, cell) in enumerate(_code(cells), start=1):
        if not _source(cell).strip():
            yield f"cell {number}: found no code; legal: remove it"
        if cell.get("execution_count") != expected_count:
            yield (
                f"cell {number}: found execution count {cell.get('execution_count')}; "
                f"legal: {expected_count} (run top to bottom from a fresh kernel)"
            )


def _code_faults(cells: Sequence[Cell]) -> Iterator[str]:
    """Short functions and few imports."""
    import_count = 0
    for number, cell in _code(cells):
        for node in ast.walk(_tree(cell)):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    lines = (node.end_lineno or node.lineno) - node.lineno + 1
                    if lines > FUNCTION_LIMIT_LINES:
                        yield (
                            f"cell {number}: found function {node.name} of {lines} lines; "
                            f"legal: {FUNCTION_LIMIT_LINES} (logic lives in the package)"
                        )
                case ast.Import() | ast.ImportFrom():
                    import_count += 1
                    for root in _import_roots(node) - IMPORT_ROOTS - sys.stdlib_module_names:
                        yield (
                            f"cell {number}: found an import of {root}; legal: the standard "
                            f"library and {', '.join(sorted(IMPORT_ROOTS))}"
                        )
    if import_count > IMPORT_LIMIT_COUNT:
        yield f"imports: found {import_count}; legal: {IMPORT_LIMIT_COUNT}"


def _output_faults(cells: Sequence[Cell]) -> Iterator[str]:
    """No error, a static form beside every widget, and no value that shows only its class."""
    for number, cell in _code(cells):
        for output in cell.get("outputs", ()):
            if output["output_type"] == "error":
                yield f"cell {number}: found {output['ename']}: {output['evalue']}; legal: no error"
            data = output.get("data", {})
            if WIDGET_VIEW in data and not has_static_form(data):
                yield (
                    f"cell {number}: found a widget without a static form; "
                    f"legal: one of {', '.join(STATIC_FORMS)} in the same output"
                )
            plain = _text(data.get("text/plain", ""))
            if BARE_OBJECT.match(plain) and not has_static_form(data):
                yield f"cell {number}: found only {plain!r}; legal: a picture, HTML or words"


def has_static_form(data: Mapping[str, Any]) -> bool:
    """Whether an output can be seen without a kernel."""
    return any(form in data for form in STATIC_FORMS)


def _code(cells: Sequence[Cell]) -> Iterator[tuple[int, Cell]]:
    """The code cells with their place in the notebook, counted from 1."""
    return ((n, cell) for n, cell in enumerate(cells, start=1) if cell["cell_type"] == "code")


def _source(cell: Cell) -> str:
    """A cell's text."""
    return _text(cell["source"])


def _text(value: str | Sequence[str]) -> str:
    """A text of the file; nbformat allows a list of lines."""
    return value if isinstance(value, str) else "".join(value)


def _tree(cell: Cell) -> ast.Module:
    """The cell parsed, its magics replaced by `pass`."""
    return ast.parse(_MAGIC.sub(r"\1pass", _source(cell)))


def _asserts(cell: Cell) -> bool:
    return any(isinstance(node, ast.Assert) for node in ast.walk(_tree(cell)))


def _import_roots(node: ast.Import | ast.ImportFrom) -> set[str]:
    """Top-level packages that one import statement names."""
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]}
    return {alias.name.partition(".")[0] for alias in node.names}
