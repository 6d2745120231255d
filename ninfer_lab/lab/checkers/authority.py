"""Do the two authorities agree, and does each say so when something has changed?

Owns the laws between catalog and Program (ROLE-2, TXN-5), of sessions (SES-1) and of the revision
(REV). Does not know why anything changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.lab.checkers.lineages import checkpoints_of


class CatalogIsExact:
    """The catalog lists exactly the inactive owners there are, with exactly their checkpoints.

    Of owners that the open transition has claimed Program may have released some already; the
    catalog learns of it with the result (TXN-6).
    """

    rules = "INV-2 INV-11 ROLE-2 TXN-5"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        stored = {o.owner: tuple(c.summary for c in o.checkpoints) for o in now.ledger.owners}
        listed = {entry.owner: entry.checkpoints for entry in now.catalog}
        transition = now.ledger.transition
        claimed = () if transition is None else transition.claimed
        for owner in sorted(stored.keys() | listed.keys()):
            if stored.get(owner) == listed.get(owner):
                continue
            if owner in claimed and _is_part(stored.get(owner, ()), listed.get(owner)):
                continue
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
    """The revision never falls, and moves exactly when global facts have changed for good.

    Facts that changed and changed back take at least two transitions, so an advance of exactly one
    over unchanged facts is a false one, however much time lies between the two pictures. The stages
    of an open transition publish no revision (REV-4): what it has changed so far is told with its
    end, and what it held and gave back without effect is never told.
    """

    rules = "REV-1 REV-2 REV-3 REV-4"

    def violations(self, before: ControllerSnapshot, after: ControllerSnapshot) -> Iterator[str]:
        was, now = before.ledger, after.ledger
        advance = now.resource_revision - was.resource_revision
        if advance < 0:
            yield f"the revision fell by {-advance}"
        if now.transition is not None:
            if _same_transition(was, now) and advance > 0:
                yield f"transaction {now.transition.transaction} is open and published a revision"
            return
        lasting = _lasting_facts(was) != _lasting_facts(now)
        free = _free_counts(was) != _free_counts(now)
        changed = lasting or (free and was.transition is None)
        if changed and advance == 0:
            yield f"global facts changed at revision {now.resource_revision}"
        if not lasting and not free and was.transition is None and advance == 1:
            yield f"revision {now.resource_revision} stands for no change"


def _same_transition(was: LedgerSnapshot, now: LedgerSnapshot) -> bool:
    return (
        was.transition is not None
        and now.transition is not None
        and was.transition.transaction == now.transition.transaction
    )


def _lasting_facts(ledger: LedgerSnapshot) -> tuple[object, ...]:
    """What a revision stands for (REV-2) but what is free: who refers to what, and where it lies.

    Left out is what moves inside an active sequence's own guarantee (REV-3): its frontier, and the
    growth it maps.
    """
    checkpoints = checkpoints_of(ledger)
    sequences = tuple(
        (
            each.sequence,
            each.lane,
            tuple(space.entitled_pages for space in each.spaces),
            each.borrowed_read,
            each.checkpoints,
        )
        for each in ledger.sequences
    )
    kept = {
        pool: {page for checkpoint in checkpoints for page in checkpoint.pages_of(pool)}
        for pool in KvPool
    }
    places = tuple(
        tuple(each for each in ledger.pages_of(pool) if each.page in kept[pool]) for pool in KvPool
    )
    return ledger.owners, sequences, ledger.images, places


def _free_counts(ledger: LedgerSnapshot) -> tuple[int, ...]:
    return tuple(use.free_count for use in ledger.occupancy.axes)


def _is_part(
    stored: tuple[CheckpointSummary, ...], listed: tuple[CheckpointSummary, ...] | None
) -> bool:
    return listed is not None and set(stored) <= set(listed)


def _published(entry: CatalogEntry) -> str:
    return f"publication {entry.publication_order}"


def _said(checkpoints: tuple[CheckpointSummary, ...] | None) -> str:
    return "nothing" if checkpoints is None else ", ".join(map(str, checkpoints))
