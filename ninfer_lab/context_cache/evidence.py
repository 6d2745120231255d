"""May a shared prefix be created here, and at whose expense? (EVD)

Owns the table of rights: evidence alone, a key's repetition over independent reuse domains, and the
rule of older engines that let a protocol's own marker take a vacant slot. Pure; does not know
whether a prefix is worth anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cache

from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.contract.shared_prefix import Evidence

REPEATED_DOMAINS_COUNT = 2
"""Independent reuse domains that make a key repeated (EVD-1)."""


class CreationRight(Enum):
    """What a candidate may do to come into being."""

    NONE = "none"
    """It is counted as demand, no more."""
    SURPLUS = "surplus"
    """It may take what nobody has: a vacant slot, room that lowers no owner."""
    PRESSURE = "pressure"
    """Others may give way for it, if the whole is worth more then."""


CREATING_RIGHTS = (CreationRight.SURPLUS, CreationRight.PRESSURE)


def is_repeated(key: PrefixKey, demands: Iterable[Demand]) -> bool:
    """Whether independent reuse domains have proposed the same key.

    Args:
        demands: Of the window, the request's own among them.

    Example: a session that asks twice is one domain.

    >>> key = PrefixKey(100, b"a")
    >>> own = Demand(domain=b"x", keys=frozenset({key}))
    >>> is_repeated(key, [own, own])
    False
    >>> is_repeated(key, [own, Demand(domain=b"y", keys=frozenset({key}))])
    True
    """
    domains = {demand.domain for demand in demands if key in demand.keys}
    return len(domains) >= REPEATED_DOMAINS_COUNT


@cache
def creation_right(
    evidence: Evidence, *, repeated: bool, automatic_markers_take_surplus: bool = False
) -> CreationRight:
    """The most that any of a candidate's reasons gives it.

    Example: the prompt's structure speaks for itself, the mere look at the whole prompt does not.

    >>> creation_right(Evidence.ENGINE_STRUCTURAL, repeated=False).value
    'surplus'
    >>> creation_right(Evidence.ENGINE_OBSERVED, repeated=False).value
    'none'
    >>> creation_right(Evidence.ENGINE_OBSERVED, repeated=True).value
    'pressure'
    """
    if evidence.is_declared or repeated:
        return CreationRight.PRESSURE
    surplus = Evidence.ENGINE_STRUCTURAL
    if automatic_markers_take_surplus:
        surplus |= Evidence.DEFAULT_AUTOMATIC
    return CreationRight.SURPLUS if evidence & surplus else CreationRight.NONE
