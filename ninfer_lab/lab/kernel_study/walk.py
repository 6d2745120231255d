"""What does one program of a kernel do, statement by statement?

Owns the observation of an interpreted device function while it runs: which statement made which
value. An interpreted kernel is Python, so Python's own tracing shows it; nothing of the kernel is
changed or repeated. Does not know any kernel, nor how it is launched.
"""

from __future__ import annotations

import ast
import html
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.figures import Picture

MAX_STEPS = 500
"""A longer walk is cut: nobody reads it, and a notebook must stay small."""

Trace = Callable[[FrameType, str, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """What one name held after a statement.

    Attributes:
        kind: Triton's name of the element type, or of the pointer; empty for a plain number.
        data: A copy; addresses for a pointer.
    """

    name: str
    kind: str
    data: NDArray[Any]

    def __str__(self) -> str:
        if self.kind.startswith("pointer"):
            return f"{self.name}: {_shape(self.data)}addresses"
        if self.data.size == 1:
            return f"{self.name} = {_number(self.data.reshape(-1)[0])}"
        if self.kind == "int1":
            return f"{self.name}: {_shape(self.data)}{int(self.data.sum())} of {self.data.size} set"
        low, high = _number(self.data.min()), _number(self.data.max())
        return f"{self.name}: {_shape(self.data)}{self.kind}, {low} to {high}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One statement that was carried out.

    Attributes:
        line: Its first line in the kernel's file.
        source: As written, on one line.
        values: What it made or changed; nothing for a store.
    """

    line: int
    source: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Walk:
    """One program of a kernel, or one call of a part of it, from its first statement to its last.

    Attributes:
        arguments: What it was given.
    """

    kernel: str
    program: int
    program_count: int
    arguments: tuple[Value, ...]
    steps: tuple[Step, ...]
    is_whole: bool

    def value(self, name: str, occurrence: int = -1) -> NDArray[Any]:
        """What a name held, by default when it was made for the last time.

        Raises:
            OptionsError: No statement made that name so often.
        """
        values = [*self.arguments, *(value for step in self.steps for value in step.values)]
        made = [value.data for value in values if value.name == name]
        if not -len(made) <= occurrence < len(made):
            names = sorted({value.name for value in values})
            raise OptionsError(
                f"value {name!r}, occurrence {occurrence}",
                found=f"made {len(made)} times",
                legal=", ".join(names),
            )
        return made[occurrence]

    def picture(self, *names: str) -> Picture:
        """Blocks as the program last held them, blue below zero and red above."""
        figure = Picture(figsize=(2.9 * len(names), 3.0), layout="constrained")
        for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
            block = np.atleast_2d(self.value(name)).astype(np.float64)
            bound = float(np.abs(block).max()) or 1.0
            image = axes.imshow(block, cmap="RdBu_r", vmin=-bound, vmax=bound)
            axes.set_title(f"{name}  [{', '.join(map(str, block.shape))}]", fontsize=10)
            axes.tick_params(labelsize=7)
            figure.colorbar(image, ax=axes, shrink=0.75).ax.tick_params(labelsize=7)
        return figure

    def __str__(self) -> str:
        lines = [
            f"{self.kernel}, program {self.program} of {self.program_count}",
            f"  given: {'; '.join(map(str, self.arguments))}",
        ]
        for step in self.steps:
            made = "; ".join(map(str, step.values)) or "–"
            lines.append(f"{step.line:>5}  {step.source}\n         {made}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{step.line}</td>"
            f'<td style="text-align:left"><code>{html.escape(step.source)}</code></td>'
            f'<td style="text-align:left">'
            f"{'<br>'.join(html.escape(str(value)) for value in step.values) or '–'}</td></tr>"
            for step in self.steps
        )
        given = html.escape("; ".join(map(str, self.arguments)))
        cut = "" if self.is_whole else f"<p>… cut after {MAX_STEPS} statements.</p>"
        return (
            f"<p><code>{self.kernel}</code>, program {self.program} of {self.program_count}</p>"
            f'<p style="text-align:left">given: {given}</p>'
            '<div style="max-height:32em;overflow:auto"><table><thead><tr><th>line</th>'
            '<th style="text-align:left">statement</th><th style="text-align:left">made</th>'
            f"</tr></thead><tbody>{rows}</tbody></table></div>{cut}"
        )


def watch(function: Callable[..., Any], program: int, run: Callable[[], object]) -> Walk:
    """Runs something and follows one program of a device function in it.

    Args:
        function: As written, before Triton made a kernel of it.
        program: Counted in the order in which the interpreter runs them, last axis fastest; over
            all launches if there are several.
        run: Launches the kernel, interpreted.

    Raises:
        OptionsError: No such program ran.
    """
    watcher = _Watcher(function, program)
    before = sys.gettrace()
    sys.settrace(watcher.enter)
    try:
        run()
    finally:
        sys.settrace(before)
    if not 0 <= program < watcher.call_count:
        raise OptionsError(
            f"program of {function.__name__}",
            found=program,
            legal=f"0 <= program < {watcher.call_count}",
        )
    return Walk(
        kernel=function.__name__,
        program=program,
        program_count=watcher.call_count,
        arguments=watcher.arguments,
        steps=tuple(watcher.steps[:MAX_STEPS]),
        is_whole=len(watcher.steps) <= MAX_STEPS,
    )


class _Watcher:
    """Collects steps while it is told of lines."""

    def __init__(self, function: Callable[..., Any], program: int) -> None:
        self.call_count = 0
        self.arguments: tuple[Value, ...] = ()
        self.steps: list[Step] = []
        self._code = function.__code__
        self._program = program
        self._statements = _statements(function)
        self._held: dict[str, object] = {}
        self._at: _Statement | None = None

    def enter(self, frame: FrameType, event: str, argument: object) -> Trace | None:
        """Told of every call; only the one program is followed."""
        code = frame.f_code
        is_kernel = (code.co_name, code.co_filename) == (
            self._code.co_name,
            self._code.co_filename,
        )
        if event != "call" or not is_kernel:
            return None
        self.call_count += 1
        if self.call_count - 1 != self._program:
            return None
        self._held = dict(frame.f_locals)
        self.arguments = tuple(_values(self._held))
        return self._line

    def _line(self, frame: FrameType, event: str, argument: object) -> Trace:
        """Told before each line, and at the end: what changed is the last statement's doing."""
        following = self._statements.get(frame.f_lineno) if event == "line" else None
        if self._at is not None and following is not self._at and len(self.steps) <= MAX_STEPS:
            self._finish(self._at, frame.f_locals)
        self._at = following
        return self._line

    def _finish(self, statement: _Statement, names: dict[str, Any]) -> None:
        changed = [name for name, made in names.items() if self._held.get(name) is not made]
        self._held = dict(names)
        values = tuple(_values({name: names[name] for name in changed}))
        if values or statement.has_effect:
            self.steps.append(Step(line=statement.line, source=statement.source, values=values))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Statement:
    line: int
    source: str
    has_effect: bool


def _statements(function: Callable[..., Any]) -> dict[int, _Statement]:
    """The statement that each line of a function belongs to; of a loop or branch, its head."""
    lines, first = inspect.getsourcelines(function)
    source = textwrap.dedent("".join(lines))
    by_line: dict[int, _Statement] = {}
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt) or isinstance(node, ast.FunctionDef):
            continue
        inner: Iterable[ast.stmt] = getattr(node, "body", ())
        end = min((each.lineno for each in inner), default=(node.end_lineno or node.lineno) + 1)
        text = " ".join(part.strip() for part in source.splitlines()[node.lineno - 1 : end - 1])
        text = text.replace("( ", "(").replace(", )", ")").replace(" )", ")")
        statement = _Statement(
            line=first + node.lineno - 1, source=text, has_effect=isinstance(node, ast.Expr)
        )
        by_line |= {first + line - 1: statement for line in range(node.lineno, end)}
    return by_line


def _values(names: Mapping[str, Any]) -> Iterator[Value]:
    """Device values as the interpreter holds them, and plain numbers; a tuple's members apart."""
    for name, made in names.items():
        if isinstance(made, tuple) or hasattr(made, "values"):
            yield from _values({f"{name}[{i}]": member for i, member in enumerate(made)})
        elif hasattr(made, "handle"):
            data: NDArray[Any] = np.array(made.handle.data, copy=True)
            shape = [int(side) for side in made.shape]
            yield Value(name=name, kind=str(made.dtype), data=data.reshape(shape))
        else:
            yield Value(name=name, kind="", data=np.asarray(getattr(made, "value", made)))


def _shape(data: NDArray[Any]) -> str:
    return f"[{', '.join(map(str, data.shape))}] " if data.shape else ""


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
