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
            # Nothing is fetched after the installation, and no pop-up asks whether to.
            "--LabApp.news_url=None",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            "--LabApp.extension_manager=readonly",
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
        environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
        os.chdir(self.first.parent)
        os.execve(sys.executable, self.command(), environment)  # noqa: S606  (our own interpreter)
