"""At which of its candidates should a prefill be split, before anybody knows what fits? (CPT-1)

Owns the choice of a subset by an upper bound of what it could bring: no loss of anybody who would
have to give way is in it, and the cost of the splits is exact. Reserves nothing and promises
nothing: at the frontier everything is proved anew. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.context_cache.evidence import CreationRight
from ninfer_lab.context_cache.portfolio_value import public_value_ns
from ninfer_lab.contract.shared_prefix import MAX_PREPARED_CANDIDATES


class Opportunity(NamedTuple):
    """A candidate that may be created.

    Attributes:
        saving_ns: What it would spare whoever matches it, ready on the Device.
        is_declared: Whether it brings a credit.
        inherited: Keys whose demand would roll on to it.
    """

    key: PrefixKey
    saving_ns: int
    right: CreationRight
    is_declared: bool
    inherited: frozenset[PrefixKey] = frozenset()

    @property
    def frontier_tokens(self) -> int:
        """Where the prefill would be split."""
        return self.key.frontier_tokens


class PublicState(NamedTuple):
    """What shared owners are worth now.

    Attributes:
        demands: Of the window, the request's own among them.
        savings_ns: Of every shared owner's prefix.
        credited_ns: Saving of each owner with a live credit.
    """

    demands: Sequence[Demand]
    savings_ns: dict[PrefixKey, int]
    credited_ns: tuple[int, ...]

    @property
    def value_ns(self) -> int:
        return public_value_ns(self.demands, self.savings_ns, self.credited_ns)

    def with_created(self, created: Sequence[Opportunity]) -> PublicState:
        """With more owners in it."""
        savings = dict(self.savings_ns)
        for each in created:
            for key in (each.key, *each.inherited):
                savings[key] = max(each.saving_ns, savings.get(key, 0))
        credits_ns = tuple(each.saving_ns for each in created if each.is_declared)
        return PublicState(self.demands, savings, (*self.credited_ns, *credits_ns))


class SplitChoice(NamedTuple):
    """The frontiers to offer, ascending; none if no subset could bring anything.

    Attributes:
        gain_ns: The upper bound, with the splits paid.
    """

    chosen: tuple[Opportunity, ...]
    gain_ns: int

    @property
    def offers_tokens(self) -> tuple[int, ...]:
        """Frontiers, ascending."""
        return tuple(each.frontier_tokens for each in self.chosen)


def select_splits(
    opportunities: Sequence[Opportunity],
    state: PublicState,
    surplus_slots_count: int,
    split_cost_ns: Callable[[tuple[int, ...]], int],
) -> SplitChoice:
    """The subset with the largest gain; of equals the smaller, then the one that comes first.

    Args:
        opportunities: Any number; the deepest that may be created are looked at, as many as a
            request can prepare (SHR-4).
        surplus_slots_count: Slots for those that may take only what nobody has.
        split_cost_ns: What cutting the prefill at some frontiers costs, exactly.

    Example: while a slot is vacant, the marker at the end of its own prompt serves the request that
    proposes it better than the structure before it, and both together no better (EVD-4).

    >>> head, end = PrefixKey(1430, b"h"), PrefixKey(1451, b"e")
    >>> own = Demand(domain=b"x", keys=frozenset({head, end}))
    >>> surplus = CreationRight.SURPLUS
    >>> choice = select_splits(
    ...     [Opportunity(head, 1430, surplus, False), Opportunity(end, 1451, surplus, False)],
    ...     PublicState([own], {}, ()), 2, lambda frontiers: len(frontiers))
    >>> choice.offers_tokens, choice.gain_ns
    ((1451,), 1450)
    """
    creatable = sorted(
        (each for each in opportunities if each.right is not CreationRight.NONE),
        key=lambda each: each.key,
    )[-MAX_PREPARED_CANDIDATES:]
    before_ns = state.value_ns
    best = SplitChoice((), 0)
    for subset in _subsets(creatable):
        surplus_count = sum(each.right is CreationRight.SURPLUS for each in subset)
        if surplus_count > surplus_slots_count:
            continue
        gain_ns = state.with_created(subset).value_ns - before_ns
        gain_ns -= split_cost_ns(tuple(each.frontier_tokens for each in subset))
        if gain_ns > best.gain_ns:
            best = SplitChoice(subset, gain_ns)
    return best


def _subsets(opportunities: Sequence[Opportunity]) -> Iterator[tuple[Opportunity, ...]]:
    """Every subset but the empty one, smaller first, then in the order of their frontiers."""
    for size in range(1, len(opportunities) + 1):
        yield from combinations(opportunities, size)
