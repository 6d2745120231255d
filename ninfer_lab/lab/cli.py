"""What does a person type?

Owns the `ninfer-lab` command: parsing, and the one line that a mistake ends in. Every command is a
few words of `lab`; whatever needs torch, Jupyter or time is imported inside the command, so that
`--help` answers at once. Does not know how anything is done.
Source: rules CLI-1 and BAD-1.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from ninfer_lab.contract.errors import NinferLabError

MISTAKE_EXIT_CODE = 2
"""What the command returns when the person can mend it; 1 is left for faults of the program."""

INTERRUPTED_EXIT_CODE = 130
"""What a shell reports for a command that Ctrl-C ended."""

EXTRA_OF_MODULE = {
    "torch": "torch",
    "numpy": "torch",
    "safetensors": "torch",
    "jupyterlab": "notebooks",
    "matplotlib": "notebooks",
    "nbclient": "notebooks",
    "nbformat": "notebooks",
    "polars": "notebooks",
    "tqdm": "notebooks",
    "transformers": "test",
}
"""Which extra of the project brings a module that the core does without."""

app = typer.Typer(
    name="ninfer-lab",
    help="A workbench for the context cache of hybrid language models.",
    add_completion=False,
    pretty_exceptions_enable=False,
)

NotebooksFolder = Annotated[
    Path | None,
    typer.Option("--notebooks", help="Folder of the notebooks; the checkout's own by default."),
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs one command line and exits.

    Args:
        arguments: What stands after the command's name; the process's own by default. None at all
            asks for help.

    Raises:
        SystemExit: Always: 0 done, 2 after one line for a person's mistake or a place that cannot
            be read or written, 130 for Ctrl-C.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # counts only before torch is imported
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = app(args=given or ["--help"], prog_name="ninfer-lab", standalone_mode=False)
    except TyperException as mistake:
        sys.exit(_refuse(f"{mistake.format_message()} (see `ninfer-lab --help`)"))
    except NinferLabError as mistake:
        sys.exit(_refuse(str(mistake)))
    except ModuleNotFoundError as missing:
        extra = EXTRA_OF_MODULE.get((missing.name or "").partition(".")[0])
        if extra is None:
            raise
        legal = f"legal: an environment with the extra '{extra}' (pip install -e '.[{extra}]')"
        sys.exit(_refuse(f"python module {missing.name}: found nothing; {legal}"))
    except OSError as trouble:
        if trouble.filename is None:
            raise
        legal = "a place that can be read and written"
        sys.exit(_refuse(f"{trouble.filename}: found {trouble.strerror}; legal: {legal}"))
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("ninfer-lab: interrupted", err=True)
        sys.exit(INTERRUPTED_EXIT_CODE)
    sys.exit(code)


@app.command()
def start(
    notebooks: NotebooksFolder = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes a free one.")] = 8888,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open JupyterLab on the first notebook."""
    from ninfer_lab.lab.notebook_shelf import NotebookShelf
    from ninfer_lab.lab.workbench import WorkbenchLaunch

    shelf = NotebookShelf.find(notebooks)
    WorkbenchLaunch(first=shelf.first(), port=port, opens_browser=browser).replace_this_process()


@app.command()
def build_notebooks(
    names: Annotated[
        list[str] | None, typer.Argument(help="Notebooks, as `00_start_here`; all by default.")
    ] = None,
    notebooks: NotebooksFolder = None,
    timeout_s: Annotated[float, typer.Option(min=1.0, help="Limit for one cell, seconds.")] = 300.0,
) -> None:
    """Run notebooks from a fresh kernel and write them back with their outputs."""
    from ninfer_lab.lab.notebook_shelf import NotebookShelf

    paths = NotebookShelf.find(notebooks).select(tuple(names or ()))
    from ninfer_lab.lab.notebooks import build_notebook  # after the names: it brings Jupyter along

    for path in paths:
        typer.echo(str(build_notebook(path, cell_timeout_s=timeout_s)))


@app.command()
def train_tiny(
    out: Annotated[Path, typer.Option(help="Folder of the checkpoint; replaced when it is done.")],
    seed: Annotated[int, typer.Option(min=0, help="Decides weights and conversations.")] = 0,
    minutes: Annotated[float, typer.Option(min=0.1, help="Stop after so long.")] = 60.0,
) -> None:
    """Train the small model of `datasets/tiny` again, from a seed."""
    from ninfer_lab.lab.tiny_model.train import train_tiny as train

    typer.echo(str(train(out, seed=seed, minutes=minutes)))


@app.command()
def bench(
    rows: Annotated[
        list[str] | None,
        typer.Option("--rows", help="Shell patterns of row names, as 'tiny/*'; all by default."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One repeat: does it run?")] = False,
) -> None:
    """Measure the engine against transformers and print the README's tables."""
    from ninfer_lab.lab.bench.run import BenchRequest, run_bench

    run_bench(BenchRequest(patterns=tuple(rows or ()), is_quick=quick), say=typer.echo)


@app.command()
def peers(
    environment: Annotated[
        Path, typer.Option(help="Virtual environment of the other engines; made if not there.")
    ] = Path(".venv-peers"),
    runs: Annotated[
        list[str] | None,
        typer.Option("--runs", help="Shell patterns of runs, as 'vLLM*cycle'; all by default."),
    ] = None,
    pip_option: Annotated[
        list[str] | None, typer.Option(help="For pip, as --index-url=...; may be repeated.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="With which an engine computes.")] = 2,
    kept: Annotated[
        bool,
        typer.Option("--kept", help="Only print what was measured before, beside models of today."),
    ] = False,
) -> None:
    """Run vLLM and llama.cpp on the same requests and print what each reuses."""
    from ninfer_lab.lab.bench.peers.command import PeersCommand, show_kept

    if kept:
        show_kept(typer.echo)
        return
    command = PeersCommand(
        folder=environment.absolute(),
        patterns=tuple(runs or ()),
        pip_options=tuple(pip_option or ()),
        thread_count=threads,
    )
    command.run(say=typer.echo)


@app.command()
def run(
    world: Annotated[
        str | None, typer.Argument(help="Name of a world, or the path of a .story file.")
    ] = None,
    machine: Annotated[
        str, typer.Option(help="simulated, torch (in virtual time) or torch-wall-time.")
    ] = "simulated",
    design: Annotated[
        str, typer.Option(help="The cache design: catalog, lane-owned or one of its cures.")
    ] = "catalog",
    save: Annotated[
        Path | None,
        typer.Option(help="Write everything that happened there, for lab.Recording.load."),
    ] = None,
    lists: Annotated[bool, typer.Option("--list", help="Only list the worlds.")] = False,
) -> None:
    """Run a named world and print its request table."""
    from ninfer_lab.contract.recording_options import DECISIONS_ONLY, EVERYTHING
    from ninfer_lab.lab import designs, stories, worlds
    from ninfer_lab.lab.output_place import require_file_place

    if lists:
        width = max(map(len, worlds.names()))
        for name in worlds.names():
            typer.echo(f"{name:<{width}}  {stories.read(name).title}")
        return
    if world is None:
        raise NinferLabError("world", found="none", legal=", ".join(worlds.names()))
    machines = {each.value: each for each in worlds.Machine}
    if machine not in machines:
        raise NinferLabError("--machine", found=machine, legal=", ".join(machines))
    if save is not None:
        require_file_place("--save", save)
    done = worlds.run(
        worlds.named(world),
        machines[machine],
        design=designs.named(design),
        recording=DECISIONS_ONLY if save is None else EVERYTHING,
    )
    typer.echo(str(done))
    if save is not None:
        done.recording.save(save)
        typer.echo(f"{len(done.recording.events):,} events are in {save}")


@app.command()
def figures(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names, as `side-requests`; all by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the files; made if not there.")] = Path(
        "figures"
    ),
    lists: Annotated[bool, typer.Option("--list", help="Only list the names.")] = False,
) -> None:
    """Reproduce every published table and figure, and write them as text, PNG and SVG."""
    from ninfer_lab.lab import published
    from ninfer_lab.lab.figures_command import FiguresCommand

    if lists:
        for each in published.PUBLISHED:
            typer.echo(f"{each.name:<24} {each.title}")
        return
    FiguresCommand(out=out, names=tuple(names or ())).run(say=typer.echo)


@app.command()
def replay(
    trace: Annotated[
        str,
        typer.Argument(
            help="Name of a public trace (its folder in $NINFER_LAB_TRACES), or the path of a file"
            " of such a format."
        ),
    ],
    limit: Annotated[int | None, typer.Option(help="Only the first so many requests.")] = None,
    time_scale: Annotated[
        float, typer.Option(help="Virtual seconds between arrivals per second of the trace.")
    ] = 1.0,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", help="Of the engine, as kv_capacity_tokens=2000000."),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="Write the whole request table there, as CSV.")
    ] = None,
) -> None:
    """Replay a public trace, or one's own, at 27B geometry in virtual time."""
    from ninfer_lab.lab.traces.command import ReplayCommand

    command = ReplayCommand(
        trace=trace,
        limit_requests=limit,
        time_scale=time_scale,
        engine_options=tuple(option or ()),
        table=table,
    )
    command.run(say=typer.echo)


@app.command()
def calibrate(
    out: Annotated[
        Path, typer.Option(help="Preset file that takes what is accepted; made if not there.")
    ] = Path("cost_presets.json"),
    suite: Annotated[str, typer.Option(help="transfer, prefill or all.")] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Few repeats: 25 s, not 3 min.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder of a model; the small trained one by default.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, or cuda where there is one.")] = "cpu",
    dtype: Annotated[str, typer.Option(help="float32 or bfloat16.")] = "float32",
    chunk: Annotated[int, typer.Option(help="Prefill chunk, tokens.")] = 1024,
) -> None:
    """Measure copies and prefill here, fit the cost model, and write a preset file.

    Exit code 3: something was measured too badly to be believed, and was not written.
    """
    from ninfer_lab.lab.calibration.calibrate import CalibrationRequest, dtype_named, suite_named
    from ninfer_lab.lab.calibration.command import CalibrateCommand

    request = CalibrationRequest(
        suite=suite_named(suite),
        is_quick=quick,
        checkpoint=checkpoint,
        device=device,
        dtype=dtype_named(dtype),
        chunk_tokens=chunk,
    )
    raise typer.Exit(CalibrateCommand(request=request, out=out).run(say=typer.echo))


def _refuse(line: str) -> int:
    """Prints a mistake as one line and returns the exit code for it."""
    typer.echo(f"ninfer-lab: {' '.join(line.split())}", err=True)
    return MISTAKE_EXIT_CODE
