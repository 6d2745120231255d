"""Are the owners and places that a target and an intent name what they are taken for? (TXN-2)

Owns the refusals: of a source or a victim at another generation than it has, of the source among
the victims, of a destination that is there already, of a lane that is taken. A target that named
them wrongly would be found out only after the transition has started, when it may not fail any
more. Reads only.
"""

from __future__ import annotations

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.plan import ActivationIntent
from ninfer_lab.contract.target import TargetSketch
from ninfer_lab.program.storage.ledger import Ledger


def require_current(ledger: Ledger, target: TargetSketch) -> None:
    """The source, and every outcome of another owner than the source's, is of the generation that
    the owner has.

    Raises:
        PlanRefused: One is not; what it refers to may be somebody else's by now.
    """
    source = target.candidate.source
    if source is not None and not ledger.continuations.is_current(source.owner):
        raise PlanRefused(
            "target.candidate.source",
            found=source.owner,
            legal="an owner inactive at this generation: verify the checkpoint again",
        )
    for outcome in target.outcomes:
        if not ledger.continuations.is_current(outcome.owner):
            raise PlanRefused(
                "target.outcomes",
                found=outcome.owner,
                legal="owners inactive at this generation: ask for their ladders again",
            )
        if source is not None and source.owner.id == outcome.owner.id:
            raise PlanRefused(
                "target.outcomes",
                found=f"{outcome.owner}, the source's own",
                legal="other owners: candidate.source says what becomes of the source",
            )


def require_places(ledger: Ledger, target: TargetSketch, intent: ActivationIntent) -> None:
    """The lane is free, and so is the place of the owner that the sequence will become.

    Raises:
        PlanRefused: One of them is not.
    """
    _require_destination(ledger, target, intent.destination)
    if ledger.lane_is_taken(intent.lane):
        raise PlanRefused(
            "intent.lane", found=intent.lane, legal="a lane without an active sequence"
        )


def _require_destination(
    ledger: Ledger, target: TargetSketch, destination: OwnerRef | None
) -> None:
    """The owner to be published will not be there when it is, at the end of the sequence.

    Raises:
        PlanRefused: It is inactive and does not end with the admission, or another sequence will
            become it.
    """
    if destination is None:
        return
    source = target.candidate.source
    ends = {outcome.owner.id for outcome in target.outcomes if outcome.is_eviction}
    if source is not None and source.disposition is SourceDisposition.CONSUME:
        ends.add(source.owner.id)
    stays = ledger.continuations.get(destination.id) is not None and destination.id not in ends
    promised = any(
        sequence.destination is not None and sequence.destination.id == destination.id
        for sequence in ledger.sequences.values()
    )
    if stays or promised:
        raise PlanRefused(
            "intent.destination",
            found=destination,
            legal="an owner that neither is there nor is promised, or one that ends with this",
        )
