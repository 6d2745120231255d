"""What does a target of this decision cost, by belief? (VAL-6, COST-2)

Owns J for the targets of one session: prices each distinct work and each distinct recovery once,
and remembers an owner's loss by its placement, so that a target costs what it changes. The same
number comes out when everything is priced anew. Reads Program through its session; changes nothing,
and never says what is feasible (INV-13).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ninfer_lab.context_cache.portfolio_value import private_loss_ns, saving_ns
from ninfer_lab.context_cache.retention import RetentionClass
from ninfer_lab.contract.fixed_point import saturated_sum
from ninfer_lab.contract.ids import CheckpointRef, OwnerId
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.planning import (
    STAYS,
    CheckpointRecoveries,
    DegradationStep,
    PlanningSession,
    TargetHandle,
    Verdict,
)
from ninfer_lab.contract.target_cost import TargetCost

PriceWork = Callable[[MachineWork], int]
"""ns that some work is believed to take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerWorth:
    """What logical policy knows of a victim.

    Attributes:
        unreachable: Checkpoints proven never to match again: they carry no loss.
        hits: How often each checkpoint was selected, and when last, as a publication order.
    """

    retention: RetentionClass
    unreachable: frozenset[CheckpointRef] = frozenset()
    hits: Mapping[CheckpointRef, tuple[int, int]] | None = None

    def hits_of(self, checkpoint: CheckpointRef) -> tuple[int, int]:
        """(count, last)."""
        return (0, 0) if self.hits is None else self.hits.get(checkpoint, (0, 0))


class Valuation:
    """J of the targets of one session.

    Args:
        worth: Of every owner of the session.
    """

    def __init__(
        self, session: PlanningSession, price: PriceWork, worth: Mapping[OwnerId, OwnerWorth]
    ) -> None:
        self._session = session
        self._price = price
        self._worth = [worth[owner.id] for owner in session.owners]
        self._prices: dict[MachineWork, int] = {}
        self._savings: dict[tuple[int, object], tuple[int, ...]] = {}
        self._own: dict[tuple[int, int], tuple[int, ...]] = {}
        self._step_losses: dict[tuple[int, int, int], int] = {}
        self._identity_keys: dict[tuple[int, int], object] = {}

    def cost(self, target: TargetHandle, verdict: Verdict) -> TargetCost:
        """J of a judged target, term by term."""
        return TargetCost(
            now_ns=self.work_ns(verdict.work),
            public_loss_ns=0,
            private_loss_ns=self.loss_ns(target),
        )

    def loss_ns(self, target: TargetHandle) -> int:
        """Private loss against the candidate's identity, over all owners."""
        if target.is_identity:
            return 0
        return saturated_sum(
            *[self._owner_loss_ns(target, owner) for owner in range(len(self._worth))]
        )

    def step_loss_ns(self, step: DegradationStep) -> int:
        """What a step adds to its owner's loss, by the owner's outcomes alone: a forecast, for what
        others keep of the same contents is left out (SRCH-1).
        """
        known = self._step_losses.get((step.owner, step.before, step.choice))
        if known is None:
            known = self._own_loss(step.owner, step.choice)
            known -= self._own_loss(step.owner, step.before)
            self._step_losses[step.owner, step.before, step.choice] = known
        return known

    def work_ns(self, work: MachineWork) -> int:
        """The price of some work; equal work is priced once."""
        price = self._prices.get(work)
        if price is None:
            price = self._prices[work] = self._price(work)
        return price

    def _owner_loss_ns(self, target: TargetHandle, owner: int) -> int:
        """Nothing where the owner's placement is what it is in the identity."""
        session, candidate = self._session, target.candidate
        if not session.is_eligible(candidate, owner):
            return 0
        key = session.placement_key(target, owner)
        identity = session.identity(candidate)
        base = self._identity_keys.get((candidate, owner))
        if base is None:
            base = session.placement_key(identity, owner)
            self._identity_keys[candidate, owner] = base
        if key == base:
            return 0
        before = self._owner_savings(identity, owner, base)
        return private_loss_ns(
            self._worth[owner].retention.weight, before, self._owner_savings(target, owner, key)
        )

    def _owner_savings(self, target: TargetHandle, owner: int, key: object) -> tuple[int, ...]:
        known = self._savings.get((owner, key))
        if known is None:
            listed = self._session.recoveries(target, owner)
            known = self._savings[owner, key] = self._priced(listed, self._worth[owner])
        return known

    def _own_loss(self, owner: int, choice: int) -> int:
        weight = self._worth[owner].retention.weight
        stays = self._own_savings(owner, STAYS)
        return private_loss_ns(weight, stays, self._own_savings(owner, choice))

    def _own_savings(self, owner: int, choice: int) -> tuple[int, ...]:
        known = self._own.get((owner, choice))
        if known is None:
            listed = self._session.own_recoveries(owner, choice)
            known = self._own[owner, choice] = self._priced(listed, self._worth[owner])
        return known

    def _priced(self, listed: Sequence[CheckpointRecoveries], worth: OwnerWorth) -> tuple[int, ...]:
        """The saving of each checkpoint of an owner, ended or not."""
        return tuple(
            0
            if each.checkpoint in worth.unreachable
            else saving_ns(
                self.work_ns(each.rebuild), min(self.work_ns(recipe) for recipe in each.recipes)
            )
            for each in listed
        )
