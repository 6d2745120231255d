"""How is a notebook run and written back?

Owns the build: a fresh kernel, offline, from top to bottom, then the file is replaced in one step,
or kept as it was. Knows neither what a notebook says, nor the rules it must keep
(`notebook_rules`), nor where notebooks lie (`notebook_shelf`).
Source: rules NB-2, NB-4 and BAD-1.
"""

from __future__ import annotations

import base64
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from ninfer_lab.contract.clock import MonotonicClock
from ninfer_lab.lab.notebook_rules import WIDGET_VIEW, has_static_form, notebook_faults
from ninfer_lab.lab.notebook_shelf import NotebookError

PICTURES = "pictures"
"""The folder, beside the notebooks, of each one's first figure."""

KERNEL_NAME = "python3"
KERNEL_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}
"""What every kernel of a build starts with: no hub, and threads that do not spin in waiting."""

REFUSE_NETWORK = "__import__('ninfer_lab.lab.offline', fromlist=['offline']).refuse_network()"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookBuild:
    """What one build wrote.

    Attributes:
        path: The notebook.
        size_bytes: Its size as written.
        duration_ns: How long its kernel ran.
        picture: Its first figure, as the reading order shows it; `None` if it draws none.
    """

    path: Path
    size_bytes: int
    duration_ns: int
    picture: Path | None

    def __str__(self) -> str:
        picture = "" if self.picture is None else f" and {self.picture.parent.name}/"
        return (
            f"{self.path.name}: ran in {self.duration_ns / 1e9:.1f} s, "
            f"wrote {self.size_bytes / 1e3:.0f} kB{picture}"
        )


def build_notebook(path: Path, *, cell_timeout_s: float) -> NotebookBuild:
    """Runs a notebook and writes it back with its outputs, without widget state.

    Args:
        path: The `.ipynb`, source and result in one.
        cell_timeout_s: Limit for one cell, in seconds.

    Raises:
        NotebookError: A cell failed, or the result breaks a rule of `notebook_rules`; the file is
            as it was.

    Effects: replaces the file in one step, then its picture in `pictures/`.
    """
    clock = MonotonicClock()
    start_ns = clock.now_ns()
    notebook = run_notebook(path, cell_timeout_s=cell_timeout_s)
    duration_ns = clock.now_ns() - start_ns
    strip(notebook)
    content = (nbformat.writes(notebook) + "\n").encode()
    faults = notebook_faults(notebook, size_bytes=len(content))
    if faults:
        raise NotebookError(
            path.name, found=" | ".join(faults), legal="a notebook without faults; file kept"
        )
    _replace(path, content)
    return NotebookBuild(
        path=path,
        size_bytes=len(content),
        duration_ns=duration_ns,
        picture=_write_picture(path, first_figure(notebook)),
    )


def run_notebook(path: Path, *, cell_timeout_s: float) -> NotebookNode:
    """Runs a notebook from a fresh kernel that cannot reach the network.

    Its folder is the working directory, as in JupyterLab. Reads only; the file stays as it is.

    Returns:
        The notebook with its outputs.

    Raises:
        NotebookError: The file is no notebook, a cell failed or took longer than `cell_timeout_s`.
    """
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except (OSError, ValueError) as unreadable:
        raise NotebookError(path.name, found=str(unreadable), legal="nbformat 4") from unreadable
    with tempfile.TemporaryDirectory(prefix="ninfer-lab-kernel-") as profile:
        client = NotebookClient(
            notebook,
            timeout=cell_timeout_s,
            kernel_name=KERNEL_NAME,
            resources={"metadata": {"path": str(path.parent)}},
            store_widget_state=False,
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=[
                f"--IPKernelApp.exec_lines={REFUSE_NETWORK}",
                "--HistoryManager.enabled=False",
                "--log-level=ERROR",
            ],
        )
        try:
            client.execute(env={**os.environ, **KERNEL_ENVIRONMENT, "IPYTHONDIR": profile})
        except CellExecutionError as failed:
            where = _failed_cell(notebook)
            raise NotebookError(
                f"{path.name}, cell {where}",
                found=f"{failed.ename}: {failed.evalue}",
                legal="a notebook that runs top to bottom, offline",
            ) from failed
        except (CellTimeoutError, DeadKernelError) as lost:
            raise NotebookError(
                path.name,
                found=str(lost).strip().splitlines()[0],
                legal=f"cells of at most {cell_timeout_s:g} s in a kernel that lives",
            ) from lost
    return notebook


def strip(notebook: NotebookNode) -> None:
    """Removes what differs from machine to machine, and what needs a kernel to be seen.

    Widget state, cell metadata other than tags, the interpreter's version, the live view of a
    widget that has a static form, and what a progress bar leaves when it is gone: a line of blanks,
    which a page shows as an empty warning. Other outputs stay.

    Effects: changes `notebook` in place.
    """
    notebook["metadata"] = NotebookNode(
        kernelspec=NotebookNode(
            display_name="Python 3 (ipykernel)", language="python", name=KERNEL_NAME
        ),
        language_info=NotebookNode(name="python"),
    )
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags")
        cell["metadata"] = NotebookNode(tags=tags) if tags else NotebookNode()
        if "outputs" in cell:
            cell["outputs"] = [output for output in cell["outputs"] if not _is_wiped_bar(output)]
        for output in cell.get("outputs", ()):
            if has_static_form(output.get("data", {})):
                output["data"].pop(WIDGET_VIEW, None)


def _is_wiped_bar(output: NotebookNode) -> bool:
    return output.get("name") == "stderr" and not output["text"].strip()


def first_figure(notebook: NotebookNode) -> bytes | None:
    """The first picture among the outputs, as a PNG file; `None` if there is none."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            encoded: str | None = output.get("data", {}).get("image/png")
            if encoded is not None:
                return base64.b64decode(encoded)
    return None


def _failed_cell(notebook: NotebookNode) -> int:
    """The place, counted from 1, of the cell that holds the error."""
    for number, cell in enumerate(notebook["cells"], start=1):
        if any(output["output_type"] == "error" for output in cell.get("outputs", ())):
            return number
    return len(notebook["cells"])


def _write_picture(path: Path, figure: bytes | None) -> Path | None:
    """Puts a notebook's figure where the reading order shows it, or takes an old one away."""
    picture = path.parent / PICTURES / f"{path.stem}.png"
    if figure is None:
        picture.unlink(missing_ok=True)
        return None
    picture.parent.mkdir(exist_ok=True)
    _replace(picture, figure)
    return picture


def _replace(path: Path, content: bytes) -> None:
    """Writes beside the file, then takes its place: a reader sees the old file or the new one."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
