"""What has an engine that is still served said so far?

Owns the few words for it; a recording of a world is made by whoever runs the world. A served engine
was told no world, so that its recording is stepped and not forked.
"""

from __future__ import annotations

from ninfer_lab.engine.engine import Engine
from ninfer_lab.lab.recording.recording import Recording, WorldName


def recorded(engine: Engine, name: str = "a live engine") -> Recording:
    """Everything so far, for views and tables; the engine's next steps are not in it.

    Args:
        name: What pictures call it.
    """
    return Recording.of(engine, WorldName(name=name))
