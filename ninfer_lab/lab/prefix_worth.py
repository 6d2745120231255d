"""What is a checkpoint of one conversation worth, worked out term by term? (VAL-2, VAL-4)

Owns a small world in which it can be read off: the ways back to a checkpoint from wherever it lies,
and what its owner loses with each outcome. Recipes are Program's, prices a belief's, the sums the
planner's own; here they are only laid side by side. Does not know what others want
(`demand_worth`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.options import PAGE_TOKENS, pages_of_tokens
from ninfer_lab.contract.planning import STAYS, CheckpointRecoveries, PlanningSession
from ninfer_lab.engine.decision_problem import (
    DecisionProblem,
    KeptCheckpoint,
    KeptOwner,
    RetentionClass,
    Room,
)
from ninfer_lab.engine.decision_reading import (
    PriceWork,
    Problem,
    private_loss_ns,
    saving_ns,
    savings_ns,
)
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab.owner_rungs import outcome_words
from ninfer_lab.lab.planner_problems import PAGE_BYTES, STATE_IMAGE_BYTES

# ── the ways back ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class WayBack:
    """One recipe for a checkpoint's frontier, priced."""

    words: str
    copies_ns: int
    prefill_ns: int

    @property
    def total_ns(self) -> int:
        return self.copies_ns + self.prefill_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class WaysBack:
    """All recipes for one checkpoint in one placement.

    Attributes:
        place: What has become of its owner.
        ways: Rebuild from root among them.
    """

    place: str
    frontier_tokens: int
    ways: tuple[WayBack, ...]
    rebuild_ns: int

    @property
    def best(self) -> WayBack:
        """The cheapest: the recovery."""
        return min(self.ways, key=lambda way: way.total_ns)

    @property
    def saving_ns(self) -> int:
        """What having the checkpoint so spares (VAL-2)."""
        return saving_ns(self.rebuild_ns, self.best.total_ns)


def ways_back(frontiers_tokens: Sequence[int], price: PriceWork) -> tuple[WaysBack, ...]:
    """For the deepest checkpoint of one conversation, in every placement that tells something new.

    Args:
        frontiers_tokens: Of its checkpoints, ascending.
    """
    session = _conversation(frontiers_tokens, price).session
    return tuple(
        _priced(session.own_recoveries(0, choice)[-1], frontiers_tokens[-1], place, price)
        for place, choice in (("stays on the Device", STAYS), *_telling_outcomes(session))
    )


def _telling_outcomes(session: PlanningSession) -> list[tuple[str, int]]:
    """In words: all of it on the Host, one checkpoint ended at a time, nothing left."""
    everywhere = session.rung(0, (), rest_leaves=True).choices[0]
    found = [("all on the Host", everywhere)]
    for step in session.steps_of(session.identity(0), 0):
        if step.facts.deleted:
            found.append((outcome_words(session, 0, step.choice), step.choice))
    return found


def _priced(
    recoveries: CheckpointRecoveries, frontier_tokens: int, place: str, price: PriceWork
) -> WaysBack:
    ways = []
    for work in dict.fromkeys(recoveries.recipes):
        copies_ns = price(MachineWork(transfers=work.transfers))
        ways.append(
            WayBack(
                words=_way_words(work),
                copies_ns=copies_ns,
                prefill_ns=price(work) - copies_ns,
            )
        )
    return WaysBack(
        place=place,
        frontier_tokens=frontier_tokens,
        ways=tuple(sorted(ways, key=lambda way: way.total_ns)),
        rebuild_ns=price(recoveries.rebuild),
    )


def _way_words(work: MachineWork) -> str:
    copied = "copy back" if work.transfers else ""
    if work.prefill is None:
        return copied or "go on where it lies"
    start = work.prefill.reused_tokens
    computed = f"compute {work.prefill.suffix_tokens:,}"
    if not start:
        return f"from root, {computed}"
    return f"{f'{copied}, ' if copied else ''}from {start:,}, {computed}"


def _conversation(frontiers_tokens: Sequence[int], price: PriceWork) -> Problem:
    """Of one owner on the Device, with a Host beside it that could carry all of it."""
    kinds = [CheckpointKind.LONG_ANCHOR] * (len(frontiers_tokens) - 1)
    owner = KeptOwner(
        checkpoints=tuple(
            KeptCheckpoint(kind=kind, frontier_tokens=tokens)
            for kind, tokens in zip(
                (*kinds, CheckpointKind.SESSION_ENDPOINT), frontiers_tokens, strict=True
            )
        ),
        retention=RetentionClass.LIVE_SESSION,
    )
    return open_problem(roomy_world((owner,)), price)


def roomy_world(owners: tuple[KeptOwner, ...]) -> DecisionProblem:
    """Room for all of them on both sides, and for a short request."""
    pages = sum(pages_of_tokens(o.checkpoints[-1].frontier_tokens) + 4 for o in owners)
    images = sum(len(o.checkpoints) for o in owners)
    return DecisionProblem(
        name="worked by hand",
        room=Room(
            device_slots=images + 1,
            device_pages=pages + 4,
            host_slots=images,
            host_pages=pages,
            page_bytes=PAGE_BYTES,
            state_image_bytes=STATE_IMAGE_BYTES,
        ),
        owners=owners,
        continued=(),
        new_tokens=PAGE_TOKENS,
        output_tokens=1,
    )


# ── what a private owner loses ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateLoss:
    """What one owner would lose with one outcome.

    Attributes:
        frontiers_tokens: Of its checkpoints, ascending.
        before_ns: Saving of each, as it stays.
        after_ns: Of the same ones, with the outcome.
    """

    outcome: str
    frontiers_tokens: tuple[int, ...]
    before_ns: tuple[int, ...]
    after_ns: tuple[int, ...]

    @property
    def differences_ns(self) -> tuple[int, ...]:
        """First the difference …"""
        return tuple(max(0, b - a) for b, a in zip(self.before_ns, self.after_ns, strict=True))

    def weighted_ns(self, retention: RetentionClass) -> int:
        """… then the largest, times the weight of the owner's class (VAL-4)."""
        return private_loss_ns(retention.weight, self.before_ns, self.after_ns)


def private_losses(checkpoints_tokens: Sequence[int], price: PriceWork) -> tuple[PrivateLoss, ...]:
    """One for every outcome of a conversation that tells something new.

    Args:
        checkpoints_tokens: Where its checkpoints are, ascending.
    """
    posed = _conversation(checkpoints_tokens, price)
    return tuple(
        PrivateLoss(
            outcome=words,
            frontiers_tokens=tuple(checkpoints_tokens),
            before_ns=savings_ns(posed, price, 0, STAYS),
            after_ns=savings_ns(posed, price, 0, choice),
        )
        for words, choice in _telling_outcomes(posed.session)
    )
