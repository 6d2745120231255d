"""What does a target of this decision cost, by belief? (VAL-6, COST-2)

Owns J for the targets of one session: prices each distinct work and each distinct recovery once,
and remembers an owner's loss by its placement, so that a target costs what it changes. The same
number comes out when everything is priced anew. Reads Program through its session; changes nothing,
and never says what is feasible (INV-13).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from ninfer_lab.context_cache.demand_window import PrefixKey
from ninfer_lab.context_cache.portfolio_value import private_loss_ns, saving_ns
from ninfer_lab.context_cache.public_worth import PublicWorth, SharedWorth, Standing
from ninfer_lab.context_cache.retention import RetentionClass
from ninfer_lab.contract.fixed_point import saturated_sum
from ninfer_lab.contract.ids import CheckpointRef, OwnerId, OwnerRef
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.planning import (
    STAYS,
    CheckpointRecoveries,
    DegradationStep,
    PlanningSession,
    TargetHandle,
    Verdict,
)
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.target_cost import TargetCost

PriceWork = Callable[[MachineWork], int]
"""ns that some work is believed to take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerWorth:
    """What logical policy knows of a victim.

    Attributes:
        retention: Of a private owner; a shared one has none.
        unreachable: Checkpoints proven never to match again: they carry no loss.
        hits: How often each checkpoint was selected, and when last, as a publication order.
        shared: Of a shared owner: what the public wants of it.
        keys: Of a private owner's checkpoints: a demand may match them as well (VAL-3).
    """

    retention: RetentionClass | None
    unreachable: frozenset[CheckpointRef] = frozenset()
    hits: Mapping[CheckpointRef, tuple[int, int]] | None = None
    shared: SharedWorth | None = None
    keys: Mapping[CheckpointRef, PrefixKey] | None = None

    @property
    def weight(self) -> int:
        """Factor on its private loss; 0 for a shared owner (VAL-4)."""
        return 0 if self.retention is None else self.retention.weight

    def hits_of(self, checkpoint: CheckpointRef) -> tuple[int, int]:
        """(count, last)."""
        return (0, 0) if self.hits is None else self.hits.get(checkpoint, (0, 0))

    def is_wanted(self, wanted: Collection[PrefixKey]) -> bool:
        """Whether the public may be worse off without it."""
        if self.shared is not None:
            return True
        return bool(self.keys) and any(key in wanted for key in (self.keys or {}).values())

    def claim_on(
        self, checkpoint: CheckpointRef, wanted: Collection[PrefixKey]
    ) -> SharedWorth | None:
        """As what the public wants a checkpoint; a private one has no credit (VAL-5)."""
        if self.shared is not None:
            return self.shared
        key = (self.keys or {}).get(checkpoint)
        return SharedWorth(key, is_credited=False) if key in wanted and key is not None else None


WorthOf = Callable[[OwnerId], OwnerWorth]


def standing_now(
    program: ProgramApi,
    price: PriceWork,
    owners: Mapping[OwnerRef, OwnerWorth],
    wanted: Collection[PrefixKey],
) -> list[Standing]:
    """What the public has of some owners where their replicas are now.

    Args:
        wanted: Keys that are demanded; a private owner counts by these alone.
    """
    there = sorted((ref for ref, worth in owners.items() if worth.is_wanted(wanted)), key=_id_of)
    if not there:
        return []
    session, standing = program.plan((), there), []
    for ordinal, ref in enumerate(there):
        worth = owners[ref]
        for each in session.own_recoveries(ordinal, STAYS):
            claim = worth.claim_on(each.checkpoint, wanted)
            if claim is not None and each.checkpoint not in worth.unreachable:
                spared_ns = saving_ns(price(each.rebuild), min(map(price, each.recipes)))
                standing.append(Standing(claim, spared_ns))
    return standing


def _id_of(ref: OwnerRef) -> OwnerId:
    return ref.id


class Valuation:
    """J of the targets of one session.

    Args:
        worth: Of any owner of the session; asked once the first target is no identity.
        public: What prefixes are wanted for; asked likewise. None are worth anything without.
    """

    def __init__(
        self,
        session: PlanningSession,
        price: PriceWork,
        worth: WorthOf,
        public: Callable[[], PublicWorth] = PublicWorth,
    ) -> None:
        self._session = session
        self._price = price
        self._worth_of = worth
        self._public_of = public
        self._prices: dict[MachineWork, int] = {}
        # A session tells equal work and the same step by one object, and objects are compared
        # faster than they are priced; each is held, so that its id stays its own.
        self._prices_by_object: dict[int, tuple[MachineWork, int]] = {}
        self._savings: dict[tuple[int, object], tuple[int, ...]] = {}
        self._own: dict[tuple[int, int], tuple[int, ...]] = {}
        self._step_losses: dict[int, tuple[DegradationStep, int]] = {}
        self._standing: dict[int, dict[int, tuple[Standing, ...]]] = {}
        self._public_values_ns: dict[object, int] = {}
        self._identity_savings: dict[tuple[int, int], tuple[int, ...]] = {}
        self._losses: dict[tuple[int, int, object], int] = {}
        self._own_losses: dict[tuple[int, int], int] = {}

    @cached_property
    def _worth(self) -> list[OwnerWorth]:
        return [self._worth_of(owner.id) for owner in self._session.owners]

    @cached_property
    def _weights(self) -> list[int]:
        return [each.weight for each in self._worth]

    @cached_property
    def _wanted(self) -> dict[int, list[tuple[int, SharedWorth]]]:
        """Owners that the public wants something of: the places of it among their checkpoints, and
        as what each is wanted.
        """
        keys, found = self._public.keys, {}
        for owner, worth in enumerate(self._worth):
            if worth.is_wanted(keys):
                listed = self._session.own_recoveries(owner, STAYS)
                claims = [worth.claim_on(each.checkpoint, keys) for each in listed]
                found[owner] = [(i, claim) for i, claim in enumerate(claims) if claim is not None]
        return found

    @cached_property
    def _public(self) -> PublicWorth:
        return self._public_of()

    def cost(self, target: TargetHandle, verdict: Verdict) -> TargetCost:
        """J of a judged target, term by term."""
        affected = self._affected(target)
        return TargetCost(
            now_ns=self.work_ns(verdict.work),
            public_loss_ns=self._public_loss_ns(target, affected),
            private_loss_ns=self._private_loss_ns(target, affected),
        )

    def public_loss_ns(self, target: TargetHandle) -> int:
        """What the public has less than in the candidate's identity (VAL-6)."""
        return self._public_loss_ns(target, self._affected(target))

    def loss_ns(self, target: TargetHandle) -> int:
        """Private loss against the candidate's identity, over all owners."""
        return self._private_loss_ns(target, self._affected(target))

    def public_value_ns(self, target: TargetHandle, *more: Standing) -> int:
        """What the public has of a target (VAL-3).

        Args:
            more: Owners that would come to it.
        """
        return self._public_value_ns(target, self._affected(target), more)

    def _affected(self, target: TargetHandle) -> Sequence[int]:
        """Owners that may be reached otherwise than in the candidate's identity."""
        return () if target.is_identity else self._session.affected(target)

    def _private_loss_ns(self, target: TargetHandle, affected: Sequence[int]) -> int:
        return saturated_sum(*[self._owner_loss_ns(target, owner) for owner in affected])

    def _public_loss_ns(self, target: TargetHandle, affected: Sequence[int]) -> int:
        """Nothing where nobody that the public wants is among the affected."""
        if not affected or not self._wanted or self._wanted.keys().isdisjoint(affected):
            return 0
        identity = self._session.identity(target.candidate)
        before_ns = self._public_value_ns(identity, (), ())
        return max(0, before_ns - self._public_value_ns(target, affected, ()))

    def _public_value_ns(
        self, target: TargetHandle, affected: Sequence[int], more: Sequence[Standing]
    ) -> int:
        """Whoever is not affected stands as in the identity; most targets move the same few."""
        moved = [
            (owner, self._savings_in(target, owner)) for owner in affected if owner in self._wanted
        ]
        told = target.candidate, tuple(moved), tuple(more)
        value_ns = self._public_values_ns.get(told)
        if value_ns is None:
            standing = self._standing.get(target.candidate)
            if standing is None:
                standing = self._standing_at_first(target.candidate)
                self._standing[target.candidate] = standing
            there = {**standing, **{owner: self._standing_in(target, owner) for owner, _ in moved}}
            value_ns = self._public.value_ns(chain(*there.values(), more))
            self._public_values_ns[told] = value_ns
        return value_ns

    def _standing_at_first(self, candidate: int) -> dict[int, tuple[Standing, ...]]:
        """In a candidate's identity. A consumed source is the active request's, and nobody else's
        to match (VAL-8).
        """
        identity, consumed = self._session.identity(candidate), None
        if self._session.candidates[candidate].is_consuming:
            source = self._session.candidates[candidate].source
            consumed = None if source is None else source.owner.id
        owners = self._session.owners
        return {
            owner: self._standing_in(identity, owner)
            for owner in self._wanted
            if owners[owner].id != consumed
        }

    def _standing_in(self, target: TargetHandle, owner: int) -> tuple[Standing, ...]:
        savings = self._savings_in(target, owner)
        return tuple([Standing(claim, savings[i]) for i, claim in self._wanted[owner]])

    def step_loss_ns(self, step: DegradationStep) -> int:
        """What a step adds to its owner's loss, by the owner's outcomes alone: a forecast, for what
        others keep of the same contents is left out (SRCH-1).
        """
        known = self._step_losses.get(id(step))
        if known is not None:
            return known[1]
        loss_ns = self.own_loss_ns(step.owner, step.choice)
        loss_ns -= self.own_loss_ns(step.owner, step.before)
        self._step_losses[id(step)] = step, loss_ns
        return loss_ns

    def own_loss_ns(self, owner: int, choice: int) -> int:
        """What an owner loses with an outcome, whatever others keep of the same contents."""
        loss_ns = self._own_losses.get((owner, choice))
        if loss_ns is None:
            loss_ns = self._own_losses[owner, choice] = self._own_loss_ns(owner, choice)
        return loss_ns

    def _own_loss_ns(self, owner: int, choice: int) -> int:
        public_ns = self._own_public_loss_ns(owner, choice) if owner in self._wanted else 0
        if not self._weights[owner]:
            return public_ns
        stays = self._own_savings(owner, STAYS)
        private_ns = private_loss_ns(self._weights[owner], stays, self._own_savings(owner, choice))
        return saturated_sum(public_ns, private_ns)

    def work_ns(self, work: MachineWork) -> int:
        """The price of some work; equal work is priced once."""
        known = self._prices_by_object.get(id(work))
        if known is not None:
            return known[1]
        price = self._prices.get(work)
        if price is None:
            price = self._prices[work] = self._price(work)
        self._prices_by_object[id(work)] = work, price
        return price

    def _own_public_loss_ns(self, owner: int, choice: int) -> int:
        """What all lose while the other owners stay as they are."""
        moved = self._standing_by_itself(owner, choice)
        staying = self._staying
        if moved == staying[owner]:
            return 0
        value_ns = self._public.value_ns(chain(*{**staying, owner: moved}.values()))
        return max(0, self._staying_ns - value_ns)

    @cached_property
    def _staying(self) -> dict[int, tuple[Standing, ...]]:
        return {owner: self._standing_by_itself(owner, STAYS) for owner in self._wanted}

    @cached_property
    def _staying_ns(self) -> int:
        return self._public.value_ns(chain(*self._staying.values()))

    def _standing_by_itself(self, owner: int, choice: int) -> tuple[Standing, ...]:
        savings = self._own_savings(owner, choice)
        return tuple([Standing(claim, savings[i]) for i, claim in self._wanted[owner]])

    def _owner_loss_ns(self, target: TargetHandle, owner: int) -> int:
        """Nothing where the owner's placement is what it is in the identity."""
        if not self._weights[owner]:
            return 0
        session, candidate = self._session, target.candidate
        key = session.placement_key(target, owner)
        loss_ns = self._losses.get((candidate, owner, key))
        if loss_ns is None:
            after = self._savings_at(target, owner, key)
            before = self._savings_in(session.identity(candidate), owner)
            loss_ns = private_loss_ns(self._weights[owner], before, after)
            self._losses[candidate, owner, key] = loss_ns
        return loss_ns

    def _savings_in(self, target: TargetHandle, owner: int) -> tuple[int, ...]:
        """Of each checkpoint of an owner, by its placement in a target."""
        return self._savings_at(target, owner, self._session.placement_key(target, owner))

    def _savings_at(self, target: TargetHandle, owner: int, key: object) -> tuple[int, ...]:
        """The same, where that placement is known by its key."""
        session = self._session
        savings = self._savings.get((owner, key))
        if savings is None:
            savings = self._savings[owner, key] = self._priced(
                session.recoveries(target, owner), self._worth[owner]
            )
        return savings

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
