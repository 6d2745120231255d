"""What are kept prefixes worth to whoever has asked, and what when some of them give way? (VAL-3)

Owns the public side of a decision: which keys are demanded, under which key each prefix is wanted,
whose credit lives, and what the ones outside the decision bring whatever happens. A demand takes
the best checkpoint that matches it, a shared owner's or a private one's: what the private prior
counts beside it is one further reuse that nobody has seen yet (VAL-4). Prices nothing: savings come
in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.contract.fixed_point import saturated_sum


class SharedWorth(NamedTuple):
    """What logical policy knows of a prefix that may be wanted again.

    Attributes:
        is_credited: Whether its credit is live.
        inherited: Keys of shorter prefixes whose demand it serves as well, where demand is rolled
            on to what goes on from them.
    """

    key: PrefixKey
    is_credited: bool
    inherited: frozenset[PrefixKey] = frozenset()


class Standing(NamedTuple):
    """A prefix with what it spares in some state."""

    worth: SharedWorth
    saving_ns: int


class PublicWorth:
    """Of one decision.

    Args:
        demands: Of the window.
        others: What the decision cannot touch.
    """

    def __init__(self, demands: Sequence[Demand] = (), others: Sequence[Standing] = ()) -> None:
        self._demands = demands
        self._others = tuple(others)

    @cached_property
    def keys(self) -> frozenset[PrefixKey]:
        """Everything that is demanded."""
        return frozenset(self._demanders)

    def value_ns(self, standing: Iterable[Standing]) -> int:
        """PublicValue, with what stands beside the others: the same as `public_value_ns`, looked at
        from the prefixes, of which fewer are wanted than there are keys demanded.
        """
        served, credited_ns = self._served_by_others
        served, demanders = served.copy(), self._demanders
        for worth, saving_ns in standing:
            for key in (worth.key, *worth.inherited) if worth.inherited else (worth.key,):
                for demand in demanders.get(key, ()):
                    if saving_ns > served.get(demand, 0):
                        served[demand] = saving_ns
            if worth.is_credited:
                credited_ns += saving_ns
        return saturated_sum(*served.values(), credited_ns)

    @cached_property
    def _demanders(self) -> dict[PrefixKey, list[int]]:
        """Who wants a key, by ordinal."""
        found: dict[PrefixKey, list[int]] = {}
        for ordinal, demand in enumerate(self._demands):
            for key in demand.keys:
                found.setdefault(key, []).append(ordinal)
        return found

    @cached_property
    def _served_by_others(self) -> tuple[dict[int, int], int]:
        """What each demand is spared by them, and their credits."""
        savings = savings_by_key(self._others)
        served: dict[int, int] = {}
        for key, saving_ns in savings.items():
            for demand in self._demanders.get(key, ()):
                served[demand] = max(saving_ns, served.get(demand, 0))
        return served, sum(each.saving_ns for each in self._others if each.worth.is_credited)


def savings_by_key(standing: Iterable[Standing]) -> dict[PrefixKey, int]:
    """Where two have one key, the larger."""
    savings: dict[PrefixKey, int] = {}
    for each in standing:
        for key in (each.worth.key, *each.worth.inherited):
            savings[key] = max(each.saving_ns, savings.get(key, 0))
    return savings
