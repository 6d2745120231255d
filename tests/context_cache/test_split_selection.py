"""Law: of all subsets of what may be created the one is split for that could bring most, splits
paid; what could bring nothing is not split for.
"""

from __future__ import annotations

import doctest
from collections.abc import Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.context_cache import split_selection
from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.context_cache.evidence import CreationRight
from ninfer_lab.context_cache.portfolio_value import public_value_ns
from ninfer_lab.context_cache.split_selection import Opportunity, PublicState, select_splits

NONE, SURPLUS, PRESSURE = CreationRight.NONE, CreationRight.SURPLUS, CreationRight.PRESSURE
HEAD, END = PrefixKey(1430, b"head"), PrefixKey(1451, b"end")


def free(frontiers: tuple[int, ...]) -> int:
    return 0


def demand(*keys: PrefixKey, domain: bytes = b"own") -> Demand:
    return Demand(domain=domain, keys=frozenset(keys))


def test_the_example_holds() -> None:
    results = doctest.testmod(split_selection)
    assert results.failed == 0
    assert results.attempted > 0


def test_without_a_slot_the_marker_may_not_and_the_repeated_structure_may() -> None:
    # spec: CPT-1, EVD-4
    offered = [Opportunity(HEAD, 1430, PRESSURE, False), Opportunity(END, 1451, SURPLUS, False)]
    earlier = demand(HEAD, PrefixKey(1451, b"another end"), domain=b"earlier")
    state = PublicState([earlier, demand(HEAD, END)], {PrefixKey(1451, b"another end"): 1451}, ())
    assert select_splits(offered, state, 0, free).offers_tokens == (1430,)
    assert select_splits(offered, state, 1, free).offers_tokens == (1451,)


def test_as_many_surplus_ones_as_there_are_slots() -> None:  # spec: CPT-1
    keys = [PrefixKey(tokens, b"k") for tokens in (10, 20, 30)]
    offered = [Opportunity(key, 100, SURPLUS, False) for key in keys]
    demands = [demand(key, domain=key.digest * i) for i, key in enumerate(keys, 1)]
    for slots in range(4):
        choice = select_splits(offered, PublicState(demands, {}, ()), slots, free)
        assert choice.offers_tokens == (10, 20, 30)[:slots]
        assert choice.gain_ns == 100 * slots


def test_a_split_that_costs_what_it_brings_is_not_made() -> None:  # spec: CPT-1
    offered = [Opportunity(HEAD, 1430, PRESSURE, False)]
    state = PublicState([demand(HEAD)], {}, ())
    assert select_splits(offered, state, 0, lambda frontiers: 1429).gain_ns == 1
    assert select_splits(offered, state, 0, lambda frontiers: 1430).offers_tokens == ()


def test_a_declared_boundary_brings_its_credit_beside_the_demand() -> None:  # spec: VAL-5
    declared = [Opportunity(HEAD, 1430, PRESSURE, True)]
    state = PublicState([demand(HEAD)], {}, ())
    assert select_splits(declared, state, 0, free).gain_ns == 2 * 1430


def test_of_many_the_deepest_seven_are_looked_at() -> None:  # spec: SHR-4, CPT-1
    keys = [PrefixKey(tokens, b"k") for tokens in range(10, 160, 10)]
    offered = [Opportunity(key, key.frontier_tokens, PRESSURE, True) for key in keys]
    choice = select_splits(offered, PublicState([], {}, ()), 0, free)
    assert choice.offers_tokens == tuple(range(90, 160, 10))
    silent = [Opportunity(PrefixKey(500, b"s"), 500, NONE, False), *offered]
    assert select_splits(silent, PublicState([], {}, ()), 0, free) == choice


KEYS = [PrefixKey(tokens, b"x") for tokens in (5, 9, 14, 20)]
opportunities = st.lists(
    st.builds(
        Opportunity,
        st.sampled_from(KEYS),
        st.integers(0, 30),
        st.sampled_from(CreationRight),
        st.booleans(),
    ),
    max_size=4,
    unique_by=lambda each: each.key,
)
windows = st.lists(
    st.builds(Demand, domain=st.binary(max_size=1), keys=st.frozensets(st.sampled_from(KEYS))),
    max_size=4,
)


@given(opportunities, windows, st.integers(0, 3), st.integers(0, 9))
def test_no_subset_that_may_be_offered_could_bring_more(  # spec: CPT-1, VAL-3
    offered: Sequence[Opportunity], demands: Sequence[Demand], slots: int, cut_ns: int
) -> None:
    def gain(subset: Sequence[Opportunity]) -> int:
        savings = {each.key: each.saving_ns for each in subset}
        credits_ns = [each.saving_ns for each in subset if each.is_declared]
        return public_value_ns(demands, savings, credits_ns) - cut_ns * len(subset)

    choice = select_splits(
        offered, PublicState(demands, {}, ()), slots, lambda frontiers: cut_ns * len(frontiers)
    )
    creatable = [each for each in offered if each.right is not NONE]
    lawful = [
        subset
        for size in range(len(creatable) + 1)
        for subset in combinations(creatable, size)
        if sum(each.right is SURPLUS for each in subset) <= slots
    ]
    assert choice.gain_ns == max(map(gain, lawful))
    assert choice.gain_ns == gain(choice.chosen)
    assert len(choice.chosen) == min(
        len(subset) for subset in lawful if gain(subset) == choice.gain_ns
    )
