"""Law: a bench adds no decision of its own: what it is asked for is Program's or nothing."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.options import EngineOptions, SpeculativeBackend
from ninfer_lab.contract.result import Aborted, SequenceEnd
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.lab.ledger_bench import LedgerBench
from ninfer_lab.lab.wanted import Fate, Wanted, demoting, evicting

ROOMY = EngineOptions(
    max_concurrency=2,
    device_state_slots=3,
    max_context_tokens=512,
    kv_capacity_tokens=768,
    host_state_slots=4,
    host_kv_capacity_bytes=8 * 1_024,
)


def test_owners_are_named_in_the_order_in_which_they_were_published() -> None:
    bench = LedgerBench(ROOMY)
    first, second = bench.publish(70), bench.publish(150, after=OwnerId(1), captures=(100,))
    bench.demote(first)
    third = bench.publish(10)
    assert (first, second, third) == bench.owners == (1, 2, 3)
    placed = bench.placement(second)
    assert placed is not None
    assert [c.summary.frontier_tokens for c in placed.checkpoints] == [100, 150]


def test_where_an_owner_lies_is_told_of_all_its_replicas() -> None:
    bench = LedgerBench(ROOMY)
    first = bench.publish(128)
    second = bench.publish(140, after=first)
    assert bench.whereabouts(first) == bench.whereabouts(second) == "Device"
    bench.demote(second)
    assert bench.whereabouts(second) == "both", "the first keeps the shared pages on the Device"
    bench.demote(first, second)
    assert bench.whereabouts(first) == bench.whereabouts(second) == "Host"
    bench.evict(first)
    assert bench.whereabouts(first) == "gone"
    assert bench.exclusive(second).host_kv_bytes == 3 * 1_024


def test_fates_are_judged_together_and_nothing_moves_before_it_is_run() -> None:
    bench = LedgerBench(ROOMY)
    first, second = bench.publish(70), bench.publish(80)
    before = bench.ledger
    wanted = Wanted(prompt_tokens=10).with_fates((*demoting(second), *evicting(first)))
    assessment = bench.assess(wanted)
    assert [ref.id for ref in assessment.target.evicted] == [first]
    assert [ref.id for ref in assessment.target.degraded] == [second]
    assert bench.assess(Wanted(prompt_tokens=10, fates=((first, Fate.STAYS),))).target.is_identity
    assert bench.ledger == before
    bench.serve(wanted)
    assert (bench.whereabouts(first), bench.whereabouts(second)) == ("gone", "Host")


def test_a_consumed_owner_keeps_its_name() -> None:
    bench = LedgerBench(ROOMY)
    owner = bench.publish(70)
    bench.serve(Wanted(prompt_tokens=200, source=owner, consume=True))
    assert bench.owners == (owner,)
    placed = bench.placement(owner)
    assert placed is not None
    assert placed.checkpoints[-1].summary.frontier_tokens == 200


def test_a_request_may_be_run_step_by_step_past_its_prompt() -> None:
    bench = LedgerBench(ROOMY)
    handle = bench.admit(Wanted(prompt_tokens=100, output_tokens=3))
    for _ in range(3):
        bench.forward(handle)
    (sequence,) = bench.ledger.sequences
    assert sequence.frontier_tokens == 102
    bench.finish(handle, SequenceEnd.DISCARD)
    assert bench.owners == ()


def test_what_does_not_fit_is_refused_and_explained() -> None:
    bench = LedgerBench(ROOMY)
    wanted = Wanted(prompt_tokens=800)
    with pytest.raises(PlanRefused, match="12 there are"):
        bench.serve(wanted)
    assert bench.explain(wanted)
    assert not bench.explain(Wanted(prompt_tokens=80))


def test_a_transfer_seeded_to_fail_ends_its_transition() -> None:
    bench = LedgerBench(ROOMY, failing_transfers=frozenset({0}))
    owner = bench.publish(70)
    result = bench.run(Wanted(prompt_tokens=10, fates=demoting(owner)))
    assert isinstance(result, Aborted)
    assert bench.whereabouts(owner) == "Device"


def test_a_backend_has_pages_of_its_own() -> None:  # spec: KV-1
    options = EngineOptions(
        max_context_tokens=256,
        device_state_slots=2,
        host_kv_capacity_bytes=8 * 1_024,
        backend=SpeculativeBackend(lag_tokens=10),
    )
    bench = LedgerBench(options)
    owner = bench.publish(135)
    placed = bench.placement(owner)
    assert placed is not None
    (endpoint,) = placed.checkpoints
    assert [len(endpoint.pages_of(pool)) for pool in KvPool] == [3, 2]
    bench.demote(owner)
    assert bench.assess(Wanted(prompt_tokens=200, source=owner)).state is StateTransition.RESTORE
