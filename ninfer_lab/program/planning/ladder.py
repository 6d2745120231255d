"""What can an inactive owner be degraded to, rung by rung? (TGT-5)

Owns the ladder of outcomes, from little to everything: redundant replicas go first, then contents
leave the Device, then checkpoints end, and last the owner. Every rung is an absolute outcome and
keeps no replica that the one above it had given up. Pure. Which rung to take is not its question.
"""

from __future__ import annotations

from ninfer_lab.contract.ids import CheckpointRef
from ninfer_lab.contract.replicas import NOTHING, ReplicaSet
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.storage.checkpoint_record import holdings_of
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.replica_layout import Holdings


def ladder(ledger: Ledger, owner: Continuation) -> tuple[OwnerOutcome, ...]:
    """The rungs below staying as it is; equal neighbours are one rung.

    1. Device replicas that the Host has too go.
    2. The state goes to the Host. 3. The pages as well.
    4. One rung for each checkpoint that ends, rewrite and anchors before the endpoint, the rest
       on the Host as far as it was by then.
    5. Nothing is left.
    """
    keeps = ledger.replicas_of(owner.holdings)
    rungs: list[OwnerOutcome] = []
    nothing_deleted: frozenset[CheckpointRef] = frozenset()

    def add(deleted: frozenset[CheckpointRef], rung: ReplicaSet) -> None:
        before = (rungs[-1].deleted, rungs[-1].keeps) if rungs else (nothing_deleted, keeps)
        if (deleted, rung) != before:
            rungs.append(OwnerOutcome(owner=owner.ref, deleted=deleted, keeps=rung))

    add(nothing_deleted, _without_redundant(ledger, owner.holdings, keeps))
    if ledger.capacity.host_state_slots:
        images = Holdings(images=owner.holdings.images)
        add(nothing_deleted, _demoted(ledger, images, _last(rungs, keeps)))
    if ledger.capacity.host_kv.granules_count:
        pages = owner.holdings._replace(images=0)
        add(nothing_deleted, _demoted(ledger, pages, _last(rungs, keeps)))
    on_host = _last(rungs, keeps)
    deleted = nothing_deleted
    for checkpoint in owner.checkpoints[:-1]:
        deleted |= {checkpoint.summary.ref}
        left = holdings_of(c for c in owner.checkpoints if c.summary.ref not in deleted)
        add(deleted, _limited(ledger, left, on_host))
    add(owner.checkpoint_refs, NOTHING)
    return tuple(rungs)


def _last(rungs: list[OwnerOutcome], keeps: ReplicaSet) -> ReplicaSet:
    return rungs[-1].keeps if rungs else keeps


def _without_redundant(ledger: Ledger, holdings: Holdings, keeps: ReplicaSet) -> ReplicaSet:
    """Device replicas of what the Host has too."""
    layout = ledger.layout
    on_host = layout.contents(keeps & layout.on_host(holdings))
    return ReplicaSet(keeps & ~layout.on_device(on_host))


def _demoted(ledger: Ledger, holdings: Holdings, keeps: ReplicaSet) -> ReplicaSet:
    """Contents that are still on the Device are on the Host instead."""
    layout = ledger.layout
    device = layout.on_device(holdings)
    leaving = layout.contents(keeps & device)
    return ReplicaSet(keeps & ~device | layout.on_host(leaving))


def _limited(ledger: Ledger, holdings: Holdings, keeps: ReplicaSet) -> ReplicaSet:
    """What of a set still serves these contents; granules go with their pages."""
    layout = ledger.layout
    marks = keeps & (layout.on_device(holdings) | layout.on_host(holdings))
    return ReplicaSet(marks | ledger.replicas_of(holdings) & layout.granules.mask & keeps)
