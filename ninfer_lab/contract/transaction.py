"""How far is the one open transition? (TXN)

Owns the phases and the handle that a caller holds. Per-owner facts form the result and never change
or bypass the phase (TXN-4). Does not know what the transition does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.ids import TransactionId


class TransactionPhase(Enum):
    """Monotone; a transition without copies to the Host passes from CopyPreparation straight to
    CopyPublication.
    """

    HOST_RELEASES = "host releases"
    """What needs no copy is released: evictions, deletions, redundant replicas."""
    COPY_PREPARATION = "copy preparation"
    """Destinations of the demotions are reserved."""
    COPIES_IN_FLIGHT = "copies in flight"
    COPY_PUBLICATION = "copy publication"
    """Demotions are published; the candidate's own copies and destinations follow."""
    COMMITTED = "committed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionHandle:
    """The one open transition; stale once its result has been handed over."""

    id: TransactionId

    def __str__(self) -> str:
        return f"transaction {self.id}"
