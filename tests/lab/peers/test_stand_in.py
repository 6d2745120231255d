"""Law: what vLLM imports of torchvision for a text model is there, on its process's path only."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

from ninfer_lab.lab.bench.peers.measure import VLLM_ENVIRONMENT

IMPORTS = """
import torchvision, torchvision.io, torchvision.ops
from torchvision.transforms import InterpolationMode, functional
from torchvision.transforms.v2 import functional as newer
assert InterpolationMode.BICUBIC == "bicubic"
assert isinstance(newer.Anything, type) and isinstance(functional.resize, type)
print(torchvision.__file__)
"""


def test_the_stand_in_answers_to_every_name() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        env=os.environ | {"PYTHONPATH": VLLM_ENVIRONMENT["PYTHONPATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("torchvision.py")


def test_nobody_else_meets_it() -> None:
    found = find_spec("torchvision")
    assert found is None or "stand_ins" not in str(found.origin)
