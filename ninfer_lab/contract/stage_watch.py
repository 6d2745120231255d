"""How is the ledger looked at between two stages of one transition? (STG-1, W-3)

Owns what a cache design offers to whoever wants to see each stage as it is reached. A stage in the
middle publishes no revision and no decision reads it (REV-4); it is there for recordings, laws and
pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ninfer_lab.contract.target import StageName

StageWatch = Callable[[StageName], None]
"""Called where a stage has been reached and nothing of the next has begun. Only looks."""


def unwatched(stage: StageName) -> None:
    """Nobody looks."""


@runtime_checkable
class StagedDesign(Protocol):
    """A cache design whose transitions go stage by stage."""

    def watch_stages(self, watch: StageWatch) -> None:
        """From now on `watch` is called at every stage; what is held can be described then."""
        ...
