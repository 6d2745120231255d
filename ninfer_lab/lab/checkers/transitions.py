"""Does an open transition keep to what it has claimed?

Owns the laws of the one transition in flight (TXN, INV-9). Does not know whether its stages fit:
every picture of a stage is held to all the other laws as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.placement import LedgerSnapshot, OwnerPlacement, SequencePlacement
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.lab.checkers.lineages import name_of


class ClaimsAreKept:
    """Every owner that the open transition has claimed is in the catalog until its end."""

    rules = "INV-9 TXN-3"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        transition = now.ledger.transition
        if transition is None:
            return
        name = f"transaction {transition.transaction}"
        listed = {entry.owner for entry in now.catalog}
        for owner, claims in Counter(transition.claimed).items():
            if owner not in listed:
                yield f"{name} has claimed owner {owner}, which the catalog does not know"
            if claims > 1:
                yield f"{name} has claimed owner {owner} {claims} times"


class TransitionsTouchOnlyTheirClaims:
    """While a transition is open its phase does not fall, its claims stay, and beside them nothing
    changes but what active sequences do inside their own guarantee.
    """

    rules = "TXN-2 TXN-4 TXN-7"

    def violations(self, before: ControllerSnapshot, after: ControllerSnapshot) -> Iterator[str]:
        was, now = before.ledger.transition, after.ledger.transition
        if was is None or now is None or was.transaction != now.transaction:
            return
        name = f"transaction {now.transaction}"
        if _PHASES.index(now.phase) < _PHASES.index(was.phase):
            yield f"{name} went back from {was.phase.value} to {now.phase.value}"
        if now.claimed != was.claimed:
            yield f"{name} had claimed owners {was.claimed}, has {now.claimed}"
        if _unclaimed(before.ledger) != _unclaimed(after.ledger):
            yield f"{name} runs, and owners it has not claimed have changed"
        if before.catalog != after.catalog:
            yield f"{name} runs, and the catalog has changed"
        yield from _settled(name, before.ledger, after.ledger)


_PHASES = tuple(TransactionPhase)


def _unclaimed(ledger: LedgerSnapshot) -> tuple[OwnerPlacement, ...]:
    claimed = () if ledger.transition is None else ledger.transition.claimed
    return tuple(owner for owner in ledger.owners if owner.owner not in claimed)


def _settled(name: str, before: LedgerSnapshot, after: LedgerSnapshot) -> Iterator[str]:
    """Admissions, ends, captures and unpins wait until the transition is closed."""
    was = {sequence.sequence: sequence for sequence in before.sequences}
    now = {sequence.sequence: sequence for sequence in after.sequences}
    for id in sorted(was.keys() ^ now.keys()):
        came = "became active" if id in now else "has ended"
        yield f"{name} runs, and {name_of(now[id] if id in now else was[id])} {came}"
    for id in sorted(was.keys() & now.keys()):
        if _topology(was[id]) != _topology(now[id]):
            yield f"{name} runs, and {name_of(now[id])} has captured, or settled its Fork"


def _topology(sequence: SequencePlacement) -> tuple[object, ...]:
    return sequence.checkpoints, sequence.borrowed_read, sequence.write_image
