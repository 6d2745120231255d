"""What would the last requests have been spared by some kept prefixes? (VAL-1, VAL-3, VAL-5)

Owns a set of shared prefixes as a value, beside the demands of a window: what they are worth
together, what each is worth alone, and what each adds to the others. What a prefix spares is
Program's recipe at a belief's price; the sums are the planner's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import RequestId, SessionKey
from ninfer_lab.contract.planning import STAYS
from ninfer_lab.engine.decision_problem import (
    KeptCheckpoint,
    KeptOwner,
    RetentionClass,
    Where,
)
from ninfer_lab.engine.decision_reading import (
    DEMAND_WINDOW_REQUESTS,
    Demand,
    DemandWindow,
    PrefixKey,
    PriceWork,
    empirical_value_ns,
    public_value_ns,
    reuse_domain,
    savings_ns,
)
from ninfer_lab.engine.decision_room import open_problem
from ninfer_lab.lab.prefix_worth import roomy_world


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
    def public_ns(self) -> int:
        """All in all: the same, and what each live credit stands for (VAL-3, VAL-5)."""
        credited_ns = [
            self.savings_ns.get(_key(prefix), 0) for prefix in self.prefixes if prefix.has_credit
        ]
        return public_value_ns(self.demands, self.savings_ns, credited_ns)

    @property
    def credit_ns(self) -> int:
        """What is kept on somebody's word."""
        return self.public_ns - self.empirical_ns

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
    posed = open_problem(roomy_world(owners), price)
    return Portfolio(
        prefixes=listed,
        savings_ns={
            _key(prefix): max(savings_ns(posed, price, owner, STAYS))
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
