"""On what can a world be run?

Owns the names of the three machines. Does not know how an engine is built on any of them
(`worlds`).
"""

from __future__ import annotations

from enum import Enum


class Machine(Enum):
    """What a world is run on."""

    SIMULATED = "simulated"
    """No tensors, virtual time, scripted answers."""
    TORCH = "torch"
    """Real tensors, which take the virtual time that the world's truth says."""
    TORCH_WALL_TIME = "torch-wall-time"
    """Real tensors, and the time they really take."""
