"""Do the two authorities agree, and does each say so when something has changed?

Owns the laws between catalog and Program (ROLE-2, TXN-5), of sessions (SES-1) and of the revision
(REV). Does not know why anything changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.lab.checkers.lineages import checkpoints_of


class CatalogIsExact:
    """The catalog lists exactly the inactive owners there are, with exactly their checkpoints."""

    rules = "ROLE-2 TXN-5"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        stored = {o.owner: tuple(c.summary for c in o.checkpoints) for o in now.ledger.owners}
        listed = {entry.owner: entry.checkpoints for entry in now.catalog}
        for owner in sorted(stored.keys() | listed.keys()):
            if stored.get(owner) != listed.get(owner):
                yield (
                    f"owner {owner}: catalog {_said(listed.get(owner))},"
                    f" Program {_said(stored.get(owner))}"
                )
        keys = Counter(e.session_key for e in now.catalog if e.session_key is not None)
        yield from (f"session {key!r} is bound {n} times" for key, n in keys.items() if n > 1)


class SessionsMoveForward:
    """A session is rebound only to a later publication, and an owner is only published later."""

    rules = "INV-14 SES-1"

    def violations(self, before: ControllerSnapshot, after: ControllerSnapshot) -> Iterator[str]:
        owners = {entry.owner: entry for entry in after.catalog}
        bound = {e.session_key: e for e in after.catalog if e.session_key is not None}
        for was in before.catalog:
            still = owners.get(was.owner, was)
            if still.publication_order < was.publication_order:
                yield f"owner {was.owner} went back from {_published(was)} to {_published(still)}"
            now = bound.get(was.session_key) if was.session_key is not None else None
            if now is None or was.owner not in owners or now.owner == was.owner:
                continue
            if now.publication_order <= was.publication_order:
                yield (
                    f"session {was.session_key!r} went from owner {was.owner}, {_published(was)},"
                    f" to owner {now.owner}, {_published(now)}"
                )


class RevisionFollowsFacts:
    """The revision never falls, and moves exactly when global facts have changed.

    Facts that changed and changed back take at least two transitions, so an advance of exactly one
    over unchanged facts is a false one, however much time lies between the two pictures.
    """

    rules = "REV-1 REV-2 REV-3"

    def violations(self, before: ControllerSnapshot, after: ControllerSnapshot) -> Iterator[str]:
        advance = after.ledger.resource_revision - before.ledger.resource_revision
        changed = _global_facts(before.ledger) != _global_facts(after.ledger)
        if advance < 0:
            yield f"the revision fell by {-advance}"
        if changed and advance == 0:
            yield f"global facts changed at revision {after.ledger.resource_revision}"
        if not changed and advance == 1:
            yield f"revision {after.ledger.resource_revision} stands for no change"


def _global_facts(ledger: LedgerSnapshot) -> tuple[object, ...]:
    """What a revision stands for (REV-2): who refers to what, what is placed where, what is free.

    Left out is what moves inside an active sequence's own guarantee (REV-3): its frontier, and the
    growth it maps.
    """
    kept = {page for checkpoint in checkpoints_of(ledger) for page in checkpoint.pages}
    sequences = tuple(
        (each.sequence, each.lane, each.completion_pages, each.borrowed_read, each.checkpoints)
        for each in ledger.sequences
    )
    return (
        ledger.owners,
        sequences,
        ledger.state_references,
        ledger.state_pins,
        tuple(count for count in ledger.page_references if count[0] in kept),
        tuple((use.axis, use.free_count) for use in ledger.occupancy.axes),
    )


def _published(entry: CatalogEntry) -> str:
    return f"publication {entry.publication_order}"


def _said(checkpoints: tuple[CheckpointSummary, ...] | None) -> str:
    return "nothing" if checkpoints is None else ", ".join(map(str, checkpoints))
