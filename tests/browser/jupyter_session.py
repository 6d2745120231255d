"""How does a test work in JupyterLab as a person does, without leaving this machine?

Owns a JupyterLab server with folders of its own, and `LabPage`: one browser page on it that opens a
notebook, runs it, and remembers whatever went wrong where Python cannot see it. Does not know what
any notebook shows.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Error, Page, Route

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_FLAGS = (
    "--no-sandbox",  # tests may run as root, where the sandbox refuses to start
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SERVER_START_LIMIT_S = 90.0
LAB_START_LIMIT_S = 90.0
RUN_LIMIT_S = 300.0
POLL_S = 0.1

QUIET_SETTINGS = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
"""No pop-up asks whether to fetch news, and none covers a screenshot."""

WITHIN = """async ({code, limitMs}) => {
  const late = new Promise((_, reject) =>
    setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs));
  return await Promise.race([(0, eval)(code)(), late]);
}"""

NOTEBOOK = "window.jupyterapp.shell.currentWidget.content"

KERNEL_IS_IDLE = """() => {
  const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
  return context?.session?.kernel?.status === 'idle';
}"""

CODE_CELLS = f"""() => {NOTEBOOK}.widgets
  .filter(cell => cell.model.type === 'code')
  .map(cell => ({{
    execution_count: cell.model.executionCount,
    outputs: cell.model.sharedModel.getOutputs(),
  }}))"""


def find_chromium() -> str | None:
    """Path of the system's Chromium, or None."""
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class JupyterServer:
    """A running JupyterLab: where it answers, and which folder it serves."""

    url: str
    token: str
    root: Path

    def lab_url(self, notebook: str) -> str:
        """The page of one notebook, in a fresh workspace."""
        return f"{self.url}/lab/tree/{notebook}?token={self.token}&reset"


@contextmanager
def jupyter_server(root: Path, home: Path) -> Iterator[JupyterServer]:
    """A JupyterLab that serves `root` and keeps its own files, and no others, in `home`."""
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(QUIET_SETTINGS))
    port, token = free_port(), secrets.token_hex(16)
    command = (
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={root}",
        f"--IdentityProvider.token={token}",
        "--LabApp.expose_app_in_browser=True",  # the page's `window.jupyterapp`
        "--LabApp.extension_manager=readonly",  # the other one asks a registry
    )
    log_path = home / "server.log"
    with log_path.open("w") as log:
        process = subprocess.Popen(
            command,
            env=environment_in(home),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        server = JupyterServer(url=f"http://127.0.0.1:{port}", token=token, root=root)
        wait_until_up(f"{server.url}/api/status?token={token}", process, log_path)
        yield server
    finally:
        end(process)


def environment_in(home: Path) -> dict[str, str]:
    """This process's environment, with every folder that Jupyter writes moved under `home`."""
    return {
        **os.environ,
        "OMP_WAIT_POLICY": "PASSIVE",
        "HF_HUB_OFFLINE": "1",
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "MPLCONFIGDIR": str(home / "matplotlib"),
    }


def wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Returns once the server answers; fails with its log when it ends or takes too long."""
    deadline = time.monotonic() + SERVER_START_LIMIT_S  # noqa: TID251  (guards a child process)
    while True:
        try:
            urllib.request.urlopen(url, timeout=2).close()  # noqa: S310  (loopback, built above)
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            late = time.monotonic() > deadline  # noqa: TID251
            if late or process.poll() is not None:
                raise AssertionError(f"JupyterLab did not start:\n{log.read_text()}") from None
            time.sleep(POLL_S)
        else:
            return


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a server with its kernels: they are all of one session."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, how)
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                continue


class LabPage:
    """One notebook in one browser page.

    `problems` holds what a person would only see in the browser's console: uncaught errors, console
    errors, and requests to anywhere but this machine (which are refused).
    """

    def __init__(self, page: Page, server: JupyterServer) -> None:
        self.page = page
        self.problems: list[str] = []
        self._server = server
        page.route("**/*", self._keep_here)
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))

    def open(self, notebook: str) -> None:
        """Opens a notebook of the served folder; returns once its kernel is idle."""
        assert (self._server.root / notebook).is_file(), f"{notebook} is not served"
        self.page.goto(self._server.lab_url(notebook))
        limit_ms = LAB_START_LIMIT_S * 1_000
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=limit_ms)
        self.evaluate("() => window.jupyterapp.restored.then(() => null)", limit_s=30)
        self.page.wait_for_function(KERNEL_IS_IDLE, timeout=limit_ms)

    def command(
        self,
        name: str,
        *,
        arguments: Mapping[str, str] | None = None,
        limit_s: float = RUN_LIMIT_S,
    ) -> None:
        """Executes one of JupyterLab's commands and waits for its end."""
        given = f"{json.dumps(name)}, {json.dumps(dict(arguments or {}))}"
        call = f"() => window.jupyterapp.commands.execute({given}).then(() => null)"
        self.evaluate(call, limit_s=limit_s)

    def run_all(self, *, limit_s: float = RUN_LIMIT_S) -> None:
        """Run > Run All Cells."""
        self.command("notebook:run-all-cells", limit_s=limit_s)

    def run_cell(self, number: int, *, limit_s: float = RUN_LIMIT_S) -> None:
        """Runs one cell, counted from 1, and waits for its end."""
        select = f"() => {{ {NOTEBOOK}.deselectAll(); {NOTEBOOK}.activeCellIndex = {number - 1}; }}"
        self.evaluate(select, limit_s=30)
        self.command("notebook:run-cell", limit_s=limit_s)

    def evaluate(self, function: str, *, limit_s: float) -> Any:
        """The value of a JavaScript function in the page.

        Playwright's own `evaluate` waits forever for a promise, so a cell that never ends would
        hang the test.

        Raises:
            TimeoutError: No answer within `limit_s`.
        """
        try:
            return self.page.evaluate(WITHIN, {"code": function, "limitMs": limit_s * 1_000})
        except Error as failed:
            if "no answer within" in failed.message:
                raise TimeoutError(f"no answer within {limit_s:g} s: {function}") from failed
            raise

    def code_cells(self) -> list[Mapping[str, Any]]:
        """Execution count and outputs of each code cell, as the page has them now."""
        cells: list[Mapping[str, Any]] = self.evaluate(CODE_CELLS, limit_s=30)
        return cells

    def sources(self) -> list[str]:
        """The text of each cell, prose and code."""
        texts: list[str] = self.evaluate(
            f"() => {NOTEBOOK}.widgets.map(cell => cell.model.sharedModel.getSource())", limit_s=30
        )
        return texts

    def printed(self, number: int) -> str:
        """What a code cell, counted from 1 among the code cells, wrote to stdout."""
        outputs = self.code_cells()[number - 1]["outputs"]
        return "".join(
            text if isinstance(text := output["text"], str) else "".join(text)
            for output in outputs
            if output["output_type"] == "stream" and output["name"] == "stdout"
        )

    def errors(self) -> list[str]:
        """What the cells raised."""
        return [
            f"{output['ename']}: {output['evalue']}"
            for cell in self.code_cells()
            for output in cell["outputs"]
            if output["output_type"] == "error"
        ]

    def wait_for_error(self, *, limit_s: float) -> None:
        """Returns once some cell shows an error."""
        self.page.wait_for_function(
            f"() => ({CODE_CELLS})().some(c => c.outputs.some(o => o.output_type === 'error'))",
            timeout=limit_s * 1_000,
        )

    def show(self, number: int) -> None:
        """Scrolls to a cell, counted from 1."""
        scroll = f"() => {NOTEBOOK}.scrollToCell({NOTEBOOK}.widgets[{number - 1}], 'start')"
        self.evaluate(f"() => ({scroll})().then(() => null)", limit_s=30)

    def screenshot(self, path: Path) -> Path:
        """A picture of the page as it is scrolled, once the splash is gone."""
        self.page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=30_000)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path)
        return path

    def _keep_here(self, route: Route) -> None:
        url = route.request.url
        if url.startswith((self._server.url, "data:", "blob:")):
            route.continue_()
        else:
            self.problems.append(f"request left this machine: {url}")
            route.abort()

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(f"console: {message.text} ({message.location.get('url', '')})")
