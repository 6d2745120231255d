"""What is a kept prefix worth, worked out term by term? (VAL)

Owns small worlds in which every term of J can be read off: the ways back to one checkpoint from
wherever it lies, what the last requests would have been spared by a set of prefixes, and what one
private owner loses with each outcome. Recipes are Program's, prices a belief's, the sums the
planner's own; here they are only laid side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from ninfer_lab.context_cache.demand_window import (
    DEMAND_WINDOW_REQUESTS,
    Demand,
    DemandWindow,
    PrefixKey,
    reuse_domain,
)
from ninfer_lab.context_cache.portfolio_value import (
    empirical_value_ns,
    private_loss_ns,
    saving_ns,
)
from ninfer_lab.context_cache.valuation import PriceWork
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import RequestId, SessionKey
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.options import PAGE_TOKENS, pages_of_tokens
from ninfer_lab.contract.planning import STAYS, CheckpointRecoveries, PlanningSession
from ninfer_lab.engine.decision_problem import (
    DecisionProblem,
    KeptCheckpoint,
    KeptOwner,
    RetentionClass,
    Room,
    Where,
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
    session = _conversation_session(frontiers_tokens, price)
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


def _conversation_session(frontiers_tokens: Sequence[int], price: PriceWork) -> PlanningSession:
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
    return open_problem(_world((owner,)), price).session


def _world(owners: tuple[KeptOwner, ...]) -> DecisionProblem:
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


# ── what everybody's prefixes are worth ─────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPrefix:
    """A prefix of which a shared checkpoint is kept.

    Attributes:
        within: The longer prefixes' own beginning: the prefix that this one goes on from.
        place: Where it lies; `None` if it is not kept.
        has_credit: Whether somebody asked for it and has not come for it yet (VAL-5).
    """

    name: str
    frontier_tokens: int
    within: str | None = None
    place: Where | None = Where.DEVICE
    has_credit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Portfolio:
    """Kept prefixes before the window of the last demands.

    Attributes:
        savings_ns: Of every prefix that is kept.
        demands: Oldest first.
    """

    prefixes: tuple[KeptPrefix, ...]
    savings_ns: Mapping[PrefixKey, int]
    demands: tuple[Demand, ...]

    @property
    def empirical_ns(self) -> int:
        """What the demands would have been spared."""
        return empirical_value_ns(self.demands, self.savings_ns)

    @property
    def credit_ns(self) -> int:
        """What is kept on somebody's word: each is worth what it spares once."""
        return sum(
            self.savings_ns.get(_key(prefix), 0) for prefix in self.prefixes if prefix.has_credit
        )

    @property
    def public_ns(self) -> int:
        """All in all (VAL-3)."""
        return self.empirical_ns + self.credit_ns

    def alone_ns(self, name: str) -> int:
        """What the demands would have been spared by one prefix alone."""
        key = _key(self._named(name))
        return empirical_value_ns(self.demands, {key: self.savings_ns.get(key, 0)})

    def added_ns(self, name: str) -> int:
        """What they would not have been spared without it."""
        key = _key(self._named(name))
        rest = {k: ns for k, ns in self.savings_ns.items() if k != key}
        return self.empirical_ns - empirical_value_ns(self.demands, rest)

    def paid_by(self, demand: Demand) -> PrefixKey | None:
        """Which prefix a demand counts for: the one that spares it most."""
        spared = {k: ns for k in sorted(demand.keys) if (ns := self.savings_ns.get(k, 0))}
        return max(spared, key=lambda k: spared[k], default=None)

    def without(self, name: str) -> Portfolio:
        """The same demands with one prefix gone."""
        key = _key(self._named(name))
        return replace(
            self,
            prefixes=tuple(
                replace(p, place=None, has_credit=False) if p.name == name else p
                for p in self.prefixes
            ),
            savings_ns={k: ns for k, ns in self.savings_ns.items() if k != key},
        )

    def _named(self, name: str) -> KeptPrefix:
        return next(prefix for prefix in self.prefixes if prefix.name == name)


def portfolio(
    prefixes: Iterable[KeptPrefix], demands: Sequence[Demand], price: PriceWork
) -> Portfolio:
    """Prefixes with what each spares, by Program's own recipes.

    Args:
        prefixes: In the order in which they are shown.
        demands: Oldest first.
    """
    listed = tuple(prefixes)
    kept = [prefix for prefix in listed if prefix.place is not None]
    kept.sort(key=lambda prefix: prefix.frontier_tokens)  # whoever goes on from another is longer
    ordinals = {prefix.name: i for i, prefix in enumerate(kept)}
    owners = tuple(
        KeptOwner(
            checkpoints=(
                KeptCheckpoint(
                    kind=CheckpointKind.SESSION_ENDPOINT,
                    frontier_tokens=prefix.frontier_tokens,
                    image=prefix.place or Where.DEVICE,
                ),
            ),
            retention=RetentionClass.RECENT_PRIVATE,
            pages=prefix.place or Where.DEVICE,
            branches_from=((ordinals[prefix.within], 0) if prefix.within in ordinals else None),
        )
        for prefix in kept
    )
    session = open_problem(_world(owners), price).session
    return Portfolio(
        prefixes=listed,
        savings_ns={
            _key(prefix): _owner_saving_ns(session, owner, price)
            for owner, prefix in enumerate(kept)
        },
        demands=tuple(demands),
    )


def demands_of(
    prefixes: Sequence[KeptPrefix],
    shares: Mapping[str | None, float],
    seed: int,
    requests_count: int = DEMAND_WINDOW_REQUESTS,
) -> tuple[Demand, ...]:
    """What a window holds after some requests, each of a session of its own.

    Args:
        shares: How often each prefix is the longest that a request matches; `None` matches none.
    """
    draw, window = Random(seed), DemandWindow()
    names, weights = list(shares), list(shares.values())
    by_name = {prefix.name: prefix for prefix in prefixes}
    for ordinal in range(requests_count):
        name = draw.choices(names, weights)[0]
        matched = set()
        while name is not None:
            matched.add(_key(by_name[name]))
            name = by_name[name].within
        domain = reuse_domain(SessionKey(f"session {ordinal}"), RequestId(ordinal))
        window.observe(Demand(domain=domain, keys=frozenset(matched)))
    return window.demands


def key_of(prefix: KeptPrefix) -> PrefixKey:
    """Under which a prefix is wanted."""
    return _key(prefix)


def _key(prefix: KeptPrefix) -> PrefixKey:
    return PrefixKey(prefix.frontier_tokens, prefix.name.encode())


def _owner_saving_ns(session: PlanningSession, owner: int, price: PriceWork) -> int:
    (found,) = session.own_recoveries(owner, STAYS)
    return saving_ns(price(found.rebuild), min(map(price, found.recipes)))


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
    session = _conversation_session(checkpoints_tokens, price)
    before_ns = _savings(session, STAYS, price)
    return tuple(
        PrivateLoss(
            outcome=words,
            frontiers_tokens=tuple(checkpoints_tokens),
            before_ns=before_ns,
            after_ns=_savings(session, choice, price),
        )
        for words, choice in _telling_outcomes(session)
    )


def _savings(session: PlanningSession, choice: int, price: PriceWork) -> tuple[int, ...]:
    return tuple(
        saving_ns(price(each.rebuild), min(map(price, each.recipes)))
        for each in session.own_recoveries(0, choice)
    )
