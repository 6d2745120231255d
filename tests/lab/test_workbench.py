"""Law: `ninfer-lab start` becomes a JupyterLab server on the notebooks, at the first one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_notebook

from ninfer_lab.lab.workbench import WorkbenchLaunch

COMMAND = Path(sys.executable).with_name("ninfer-lab")
START_LIMIT_S = 90


def test_the_command_names_the_notebook_and_its_folder(tmp_path: Path) -> None:
    launch = WorkbenchLaunch(first=tmp_path / "00_a.ipynb", port=8_888, opens_browser=True)
    command = launch.command()
    assert f"--ServerApp.root_dir={tmp_path}" in command
    assert "--LabApp.default_url=/lab/tree/00_a.ipynb" in command
    assert "--no-browser" not in command
    assert ("--allow-root" in command) is (os.geteuid() == 0)


@pytest.mark.slow
def test_start_serves_the_first_notebook(tmp_path: Path) -> None:  # spec: CLI-1
    shelf, home = tmp_path / "shelf", tmp_path / "home"
    shelf.mkdir()
    nbformat.write(new_notebook(), shelf / "00_a.ipynb")
    folders = {f"JUPYTER_{kind}_DIR": str(home / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    process = subprocess.Popen(
        [COMMAND, "start", "--no-browser", "--port=0", f"--notebooks={shelf}"],
        env={**os.environ, **folders},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        server = wait_for_server(home / "RUNTIME" / f"jpserver-{process.pid}.json")
        assert server["root_dir"] == str(shelf)
        page = f"{server['url']}lab/tree/00_a.ipynb?token={server['token']}"
        with urllib.request.urlopen(page, timeout=30) as answer:  # noqa: S310  (loopback)
            assert answer.status == 200
        assert asks_the_network(server) == {"fetchNews": "false", "checkForUpdates": False}
    finally:
        process.terminate()
        process.wait(timeout=30)


def asks_the_network(server: dict[str, Any]) -> dict[str, Any]:
    """What the page would do where a person has chosen nothing: `none` makes it ask."""
    plugin = "@jupyterlab/apputils-extension:notification"
    url = f"{server['url']}lab/api/settings/{plugin}?token={server['token']}"
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310  (loopback)
        told = json.load(answer)["schema"]["properties"]
    return {name: told[name]["default"] for name in ("fetchNews", "checkForUpdates")}


def wait_for_server(record: Path) -> dict[str, Any]:
    """What a server that is up writes about itself; it bears the command's own process id."""
    deadline = time.monotonic() + START_LIMIT_S  # noqa: TID251  (guards a child process)
    while time.monotonic() < deadline:  # noqa: TID251
        if record.exists() and record.stat().st_size:
            server: dict[str, Any] = json.loads(record.read_text())
            return server
        time.sleep(0.1)
    raise AssertionError(f"no server within {START_LIMIT_S} s")
