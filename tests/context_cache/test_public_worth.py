"""Law: what shared owners are worth together counts every demand once, by its largest saving, and
every live credit once more.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.context_cache.demand_window import Demand, PrefixKey
from ninfer_lab.context_cache.portfolio_value import public_value_ns
from ninfer_lab.context_cache.public_worth import (
    PublicWorth,
    SharedWorth,
    Standing,
    savings_by_key,
)
from ninfer_lab.context_cache.valuation import OwnerWorth, Valuation
from ninfer_lab.contract.machine_work import MachineWork
from simulation.capture_world import CaptureWorld

SHORT, LONG = PrefixKey(100, b"a"), PrefixKey(400, b"b")


def standing(key: PrefixKey, saving_ns: int, *, credited: bool = False) -> Standing:
    return Standing(SharedWorth(key, credited), saving_ns)


def demand(*keys: PrefixKey) -> Demand:
    return Demand(domain=b"x", keys=frozenset(keys))


def test_nested_prefixes_never_pay_twice() -> None:  # spec: VAL-3, INV-16
    public = PublicWorth([demand(SHORT, LONG), demand(SHORT)])
    assert public.value_ns([standing(SHORT, 10)]) == 20
    assert public.value_ns([standing(LONG, 35)]) == 35
    assert public.value_ns([standing(SHORT, 10), standing(LONG, 35)]) == 45


def test_a_credit_counts_beside_the_demand() -> None:  # spec: VAL-5
    public = PublicWorth([demand(SHORT)])
    assert public.value_ns([standing(SHORT, 10, credited=True)]) == 20
    assert PublicWorth().value_ns([standing(SHORT, 10, credited=True)]) == 10


def test_owners_outside_the_decision_serve_what_they_serve() -> None:  # spec: VAL-3
    public = PublicWorth([demand(SHORT, LONG)], [standing(SHORT, 10)])
    assert public.value_ns([]) == 10
    assert public.value_ns([standing(LONG, 35)]) == 35


def test_two_owners_of_one_key_are_worth_the_better_of_them() -> None:
    public = PublicWorth([demand(SHORT)])
    assert public.value_ns([standing(SHORT, 10), standing(SHORT, 7)]) == 10


def price(work: MachineWork) -> int:
    tokens = 0 if work.prefill is None else work.prefill.suffix_tokens
    return 1_000 * tokens + 10 * sum(batch.operation_count for batch in work.transfers)


def test_an_admission_is_charged_what_the_public_loses_by_it() -> None:  # spec: VAL-6, VAL-3
    world = CaptureWorld(extra_slots=2, pages=10)
    wanted, unwanted = world.published(range(300, 350)), world.published(range(500, 550))
    root = world.program.root_candidate(world.request(range(80)))
    session = world.program.plan((root,), (wanted, unwanted))
    worth = {
        wanted.id: OwnerWorth(retention=None, shared=SharedWorth(SHORT, is_credited=False)),
        unwanted.id: OwnerWorth(retention=None, shared=SharedWorth(LONG, is_credited=False)),
    }
    demands = [demand(SHORT), demand(SHORT)]
    valuation = Valuation(session, price, worth.__getitem__, lambda: PublicWorth(demands))
    gone = session.maximal(0).choices
    identity = session.identity(0)
    for owner, loss_ns in ((0, 2 * 50_000), (1, 0)):
        target = identity.with_choice(owner, gone[owner])
        cost = valuation.cost(target, session.judge(target))
        assert (cost.public_loss_ns, cost.private_loss_ns) == (loss_ns, 0)
        assert valuation.own_loss_ns(owner, gone[owner]) == loss_ns
    assert valuation.cost(identity, session.judge(identity)).public_loss_ns == 0
    outside = PublicWorth(demands, [standing(SHORT, 50_000)])
    sheltered = Valuation(session, price, worth.__getitem__, lambda: outside)
    target = identity.with_choice(0, gone[0])
    assert sheltered.cost(target, session.judge(target)).public_loss_ns == 0


def test_it_is_the_sum_of_the_books_however_it_is_looked_at() -> None:  # spec: VAL-3, VAL-5
    demands = [demand(SHORT, LONG), demand(LONG), demand(SHORT), demand()]
    for others in ([], [standing(SHORT, 7, credited=True)], [standing(LONG, 4)]):
        for owners in ([], [standing(SHORT, 10)], [standing(LONG, 9, credited=True)] * 2):
            everybody = [*others, *owners]
            credits_ns = [each.saving_ns for each in everybody if each.worth.is_credited]
            by_the_books = public_value_ns(demands, savings_by_key(everybody), credits_ns)
            assert PublicWorth(demands, others).value_ns(owners) == by_the_books


savings = st.lists(
    st.tuples(st.sampled_from([SHORT, LONG]), st.integers(0, 50), st.booleans()), max_size=4
)


@given(savings, st.integers(0, 3))
def test_who_gives_way_never_makes_the_rest_worth_more(  # spec: VAL-3
    owners: list[tuple[PrefixKey, int, bool]], gone: int
) -> None:
    public = PublicWorth([demand(SHORT, LONG), demand(LONG), demand(SHORT)])
    everybody = [standing(key, saving, credited=c) for key, saving, c in owners]
    rest = [each for ordinal, each in enumerate(everybody) if ordinal != gone]
    assert public.value_ns(rest) <= public.value_ns(everybody)
