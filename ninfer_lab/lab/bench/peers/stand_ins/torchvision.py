"""Stands in for torchvision in the environment of `make peers`, where vLLM runs text models alone.

vLLM imports the image processors of every Qwen model with the text model, and they import
torchvision, whose wheels hold GPU code for another build of torch than the one in use there. No
text request calls any of it. The folder of this file is on the import path of that process only.
"""

from __future__ import annotations

import sys
from types import ModuleType

__path__: list[str] = []  # makes a package of this module: what is below it is made here
__version__ = "0.0.0"

_BELOW = (
    "io",
    "ops",
    "transforms",
    "transforms.functional",
    "transforms.v2",
    "transforms.v2.functional",
)


class InterpolationMode:
    """The names by which images are resized."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


class _Empty(ModuleType):
    """Whatever is asked of it is a class without anything."""

    InterpolationMode = InterpolationMode

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def _fill(parent: str) -> None:
    for name in _BELOW:
        module = _Empty(f"{parent}.{name}")
        module.__path__ = []
        sys.modules[module.__name__] = module
        above, _, last = module.__name__.rpartition(".")
        setattr(sys.modules[above], last, module)


_fill(__name__)
