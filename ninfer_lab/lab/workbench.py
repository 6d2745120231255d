"""How is JupyterLab opened on a notebook?

Owns the command line of the server that a person works in. Knows neither what the notebooks do nor
how the tests start a server of their own.
Source: rule CLI-1.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

JUPYTER_DEFAULTS = Path(__file__).with_name("jupyter-defaults")
"""By which JupyterLab neither asks for news nor looks for updates: nothing is fetched here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbenchLaunch:
    """One start of JupyterLab: on which notebook, where, and whether a browser opens."""

    first: Path
    port: int
    opens_browser: bool

    def command(self) -> tuple[str, ...]:
        """The server's command line; the notebooks' folder is its working directory."""
        return (
            sys.executable,
            "-m",
            "jupyterlab",
            f"--ServerApp.root_dir={self.first.parent}",
            f"--LabApp.default_url=/lab/tree/{self.first.name}",
            f"--ServerApp.port={self.port}",
            "--LabApp.extension_manager=readonly",  # the other one asks a registry
            *(() if self.opens_browser else ("--no-browser",)),
            *(("--allow-root",) if os.geteuid() == 0 else ()),
        )

    def replace_this_process(self) -> NoReturn:
        """Becomes the server, so that Ctrl-C reaches it and nothing stands between.

        Raises:
            ModuleNotFoundError: JupyterLab is not installed.
        """
        if find_spec("jupyterlab") is None:
            raise ModuleNotFoundError("No module named 'jupyterlab'", name="jupyterlab")
        os.chdir(self.first.parent)
        os.execve(sys.executable, self.command(), environment())  # noqa: S606  (our own interpreter)


def environment() -> dict[str, str]:
    """This process's environment, with the workbench's defaults of JupyterLab behind a person's."""
    given = os.environ.get("JUPYTER_CONFIG_PATH", "")
    paths = os.pathsep.join(filter(None, (given, str(JUPYTER_DEFAULTS))))
    return {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "JUPYTER_CONFIG_PATH": paths}
