"""What is asked of a ledger bench, in a person's words?

Owns the request that a reader can make: from where it starts, and what becomes of others for it.
Does not know whether it fits; Program says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.planned_capture import PlannedCapture


class Fate(Enum):
    """What becomes of an inactive owner, as a person says it."""

    STAYS = "stays as it is"
    TO_HOST = "goes to the Host"
    GOES = "is evicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One request, from where it starts, and what becomes of others for it.

    Attributes:
        prompt_tokens: Of the whole prompt, reused ones included.
        source: The owner it goes on from; `None` is the root.
        source_tokens: Frontier of the checkpoint; `None` takes the deepest.
        consume: Whether the source's owner becomes the request, or stays.
        fates: Owners that do not stay as they are.
        captures: Frontiers of checkpoints on the way.
        lane: Where it runs.
        leaves_owner: Whether its end may leave an owner behind.
    """

    prompt_tokens: int
    output_tokens: int = 1
    source: OwnerId | None = None
    source_tokens: int | None = None
    consume: bool = False
    fates: tuple[tuple[OwnerId, Fate], ...] = ()
    captures: tuple[PlannedCapture, ...] = ()
    lane: int = 0
    leaves_owner: bool = True

    def with_fates(self, fates: Iterable[tuple[OwnerId, Fate]]) -> Wanted:
        """The same request, and these owners."""
        return replace(self, fates=tuple(fates))


def evicting(*owners: OwnerId) -> tuple[tuple[OwnerId, Fate], ...]:
    """All of these go."""
    return tuple((owner, Fate.GOES) for owner in owners)


def demoting(*owners: OwnerId) -> tuple[tuple[OwnerId, Fate], ...]:
    """All of these go to the Host."""
    return tuple((owner, Fate.TO_HOST) for owner in owners)
