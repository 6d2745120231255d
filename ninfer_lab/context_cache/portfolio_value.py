"""What is a kept prefix worth, and what does a target cost all in all? (VAL)

Owns the arithmetic of savings, losses and J, in whole ns. Pure: placements have become recipes and
recipes prices before they get here. Nothing here says whether a target is feasible (INV-13).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.contract.fixed_point import saturated_product, saturated_sum


def saving_ns(rebuild_ns: int, recovery_ns: int) -> int:
    """What having a checkpoint spares, against computing its prefix from root (VAL-2).

    >>> saving_ns(900, 150), saving_ns(100, 150)
    (750, 0)
    """
    return max(0, rebuild_ns - recovery_ns)


def private_loss_ns(weight: int, before_ns: Sequence[int], after_ns: Sequence[int]) -> int:
    """What one private owner loses between two states (VAL-4).

    The same checkpoint in both, difference first, then the largest: an owner is gone on with from
    one checkpoint, not from all at once.

    Args:
        before_ns: Saving of each checkpoint in the first state.
        after_ns: Of the same checkpoints, in the same order, in the second.

    Example: an endpoint falls from 900 to 850 because it would have to come back from the Host, a
    closure ends and falls from 700 to 0. The owner lives in a session.

    >>> private_loss_ns(16, [700, 900], [0, 850])
    11200
    """
    losses = [before - after for before, after in zip(before_ns, after_ns, strict=True)]
    return saturated_product(weight, max(0, *losses)) if losses else 0


def empirical_value_ns(demands: Iterable[Demand], savings_ns: Mapping[PrefixKey, int]) -> int:
    """What the demands of the window would have been spared (VAL-3).

    A demand that matches nested prefixes takes the largest saving once.

    Example: one request matches a prefix at 100 tokens and a longer one at 400, another only the
    shorter.

    >>> short, long = PrefixKey(100, b"a"), PrefixKey(400, b"b")
    >>> demands = [Demand(domain=b"x", keys=frozenset({short, long})),
    ...            Demand(domain=b"y", keys=frozenset({short}))]
    >>> empirical_value_ns(demands, {short: 10, long: 35})
    45
    """
    return saturated_sum(
        *(max((savings_ns.get(key, 0) for key in demand.keys), default=0) for demand in demands)
    )


def public_value_ns(
    demands: Iterable[Demand], savings_ns: Mapping[PrefixKey, int], credited_ns: Iterable[int] = ()
) -> int:
    """What kept prefixes are worth together (VAL-3, VAL-5): the demands they would have spared, and
    once more whatever a live credit stands for.

    Args:
        savings_ns: Of every kept prefix, whosever it is.
        credited_ns: Saving of each owner with a live credit.

    Example: one demand for the longer of two nested prefixes, and a credit on the shorter.

    >>> short, long = PrefixKey(100, b"a"), PrefixKey(400, b"b")
    >>> demands = [Demand(domain=b"x", keys=frozenset({short, long}))]
    >>> public_value_ns(demands, {short: 10, long: 35}, [10])
    45
    """
    return saturated_sum(empirical_value_ns(demands, savings_ns), *credited_ns)
