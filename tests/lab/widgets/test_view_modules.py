"""Law: what the views' modules work out is right, and each is one that a browser can load."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from playwright._impl._driver import compute_driver_executable

from ninfer_lab.lab.widgets.live_view import module_text

SCRIPTS = Path(__file__).parent / "modules"
VIEWS = (
    "dashboard_view",
    "placement_map_view",
    "pressure_ladders_view",
    "stepper_view",
    "target_graph_view",
)
NODE = compute_driver_executable()[0]
"""The one that drives the browser tests: no other needs to be installed."""


def test_the_modules_pass_their_own_tests() -> None:
    scripts = sorted(map(str, SCRIPTS.glob("*.test.mjs")))
    assert scripts
    done = subprocess.run([NODE, "--test", *scripts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout


@pytest.mark.parametrize("name", VIEWS)
def test_a_module_with_its_neighbours_is_one_module(name: str, tmp_path: Path) -> None:
    # Two neighbours with one name for two things would be refused by a browser.
    whole = tmp_path / f"{name}.mjs"
    whole.write_text(module_text(name))
    done = subprocess.run(
        [NODE, "--check", str(whole)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
