"""What are shared owners worth together in one target, and what when some of them give way? (VAL-3)

Owns the public side of a decision: which keys are demanded, under which key each shared owner is
wanted, whose credit lives, and what the ones outside the decision bring whatever happens. Prices
nothing: savings come in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.context_cache.portfolio_value import public_value_ns


class SharedWorth(NamedTuple):
    """What logical policy knows of a shared owner.

    Attributes:
        is_credited: Whether its credit is live.
    """

    key: PrefixKey
    is_credited: bool


class Standing(NamedTuple):
    """A shared owner with what it spares in some state."""

    worth: SharedWorth
    saving_ns: int


class PublicWorth:
    """Of one decision.

    Args:
        demands: Of the window.
        others: Shared owners that the decision cannot touch.
    """

    def __init__(self, demands: Sequence[Demand] = (), others: Sequence[Standing] = ()) -> None:
        self._demands = demands
        self._others = tuple(others)
        self._values: dict[tuple[Standing, ...], int] = {}

    def value_ns(self, standing: Iterable[Standing]) -> int:
        """PublicValue, with what stands beside the others."""
        owners = tuple(standing)
        if not owners and not self._others:
            return 0
        value = self._values.get(owners)
        if value is None:
            everybody = (*self._others, *owners)
            value = self._values[owners] = public_value_ns(
                self._demands,
                _savings(everybody),
                [each.saving_ns for each in everybody if each.worth.is_credited],
            )
        return value


def _savings(owners: Iterable[Standing]) -> Mapping[PrefixKey, int]:
    """By key; where two owners have one, the larger."""
    savings: dict[PrefixKey, int] = {}
    for each in owners:
        key = each.worth.key
        savings[key] = max(each.saving_ns, savings.get(key, 0))
    return savings
