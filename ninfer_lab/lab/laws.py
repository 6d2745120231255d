"""Does what the engine holds obey its laws, at this moment and since the last one looked at?

Owns `check_laws` and the two lists of laws it runs, over contract values alone: a picture of what a
cache design holds (`ControllerSnapshot`), and an earlier one where the law is about change. Unit
tests, the simulation and notebooks run the same ones; each law is one class in `checkers`.
Does not know what lies in a slot or page: contents are seen by a machine that tracks them.
Source: spec INV and the rules each class names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.lab.checkers.accounting import (
    EverythingIsHeld,
    HostPagesLieApart,
    OccupancyFits,
    OccupancyIsCounted,
    PlacesAreUsedOnce,
)
from ninfer_lab.lab.checkers.authority import (
    CatalogIsExact,
    RevisionFollowsFacts,
    SessionsMoveForward,
)
from ninfer_lab.lab.checkers.guarantees import (
    CompletionIsGuaranteed,
    GuaranteesNeverShrink,
    RowTablesAreCopies,
    SequencesHoldTheirFrontier,
    SequencesRunOnDevice,
)
from ninfer_lab.lab.checkers.publication import (
    CheckpointsAreComplete,
    CheckpointsAreProtected,
    EverythingHasOneWriter,
    LineagesNest,
    PublishedNeverChanges,
    WritersLeaveNothingStale,
)
from ninfer_lab.lab.checkers.transitions import (
    ClaimsAreKept,
    TransitionsTouchOnlyTheirClaims,
)


def check_laws(
    snapshot: ControllerSnapshot,
    options: ResolvedOptions,
    previous: ControllerSnapshot | None = None,
    *,
    without: frozenset[type[Law]] = frozenset(),
) -> None:
    """Holds one picture, and the change since an earlier one, to every law.

    Args:
        snapshot: What is held now (`Engine.describe()`).
        options: The engine's (`Engine.options`): capacities, and what each pool must cover.
        previous: An earlier picture of the same engine; without one only the laws about a moment
            are checked.
        without: Laws about a moment that the cache design is known not to hold to.

    Raises:
        InvariantBroken: Naming the first broken law's rules and everything that breaks it.
    """
    for law in LAWS:
        if type(law) in without:
            continue
        _refuse(law.rules, law, tuple(law.violations(snapshot, options)))
    if previous is None:
        return
    for change in CHANGE_LAWS:
        _refuse(change.rules, change, tuple(change.violations(previous, snapshot)))


class Law(Protocol):
    """A law about one moment."""

    rules: str
    """The spec rules it holds the engine to."""

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        """What breaks the law, each with its numbers; nothing if it holds."""
        ...


class ChangeLaw(Protocol):
    """A law about what may happen between two moments, however far apart."""

    rules: str
    """The spec rules it holds the engine to."""

    def violations(self, before: ControllerSnapshot, after: ControllerSnapshot) -> Iterator[str]:
        """What breaks the law, each with its numbers; nothing if it holds."""
        ...


LAWS: tuple[Law, ...] = (
    EverythingIsHeld(),
    PlacesAreUsedOnce(),
    HostPagesLieApart(),
    OccupancyIsCounted(),
    OccupancyFits(),
    EverythingHasOneWriter(),
    CheckpointsAreProtected(),
    WritersLeaveNothingStale(),
    CheckpointsAreComplete(),
    LineagesNest(),
    SequencesHoldTheirFrontier(),
    SequencesRunOnDevice(),
    CompletionIsGuaranteed(),
    RowTablesAreCopies(),
    ClaimsAreKept(),
    CatalogIsExact(),
)
"""The laws about a moment; the pictures of an open transition's stages are held to them, too."""

CHANGE_LAWS: tuple[ChangeLaw, ...] = (
    RevisionFollowsFacts(),
    PublishedNeverChanges(),
    GuaranteesNeverShrink(),
    TransitionsTouchOnlyTheirClaims(),
    SessionsMoveForward(),
)
"""The laws about what happened in between."""


def _refuse(rules: str, law: object, violations: tuple[str, ...]) -> None:
    if violations:
        raise InvariantBroken(f"{rules} {type(law).__name__}", "; ".join(violations))
