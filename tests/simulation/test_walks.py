"""Law: on short walks past every place where manager or engine could go wrong, all is as a reader
of the rules expects: who is served, what may be reused, what an end leaves behind.

Everything else is left to laws and contents, after every call. Mutants must not survive the walks.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.events import RequestAdmitted, RequestBlocked
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import CacheMode, EngineOptions
from ninfer_lab.contract.output import FinishReason
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, engine_world, prepared

FIRST = prepared(range(100), closure=70)
ANSWER = answer_to(range(100), 3)


def world_of(*, lanes: int, extra: int, pages: int, with_text: bool = False) -> EngineWorld:
    options = EngineOptions(
        max_concurrency=lanes,
        max_context_tokens=256,
        kv_capacity_tokens=64 * pages,
        device_state_slots=extra,
        prefill_chunk_tokens=80,
        host_state_slots=0,
        host_kv_capacity_bytes=0,
    )
    return engine_world(options, with_text=with_text)


def frontiers(world: EngineWorld) -> dict[str | None, list[int]]:
    """Frontiers by session."""
    return {
        e.session_key: [c.frontier_tokens for c in e.checkpoints] for e in world.snapshot.catalog
    }


def started(world: EngineWorld, request: RequestId) -> tuple[ReusePath, int]:
    admitted = world.admission_of(request)
    return admitted.path, admitted.reuse_tokens


def test_a_conversation() -> None:  # spec: OWN-6, IDN-3, ACT-5
    """One lane, one extra slot: Move, a replaced capture, a rewrite, a Fork with a copied tail."""
    world = world_of(lanes=1, extra=1, pages=8)
    world.finish(world.submit(FIRST, output=3, session="a"))
    assert frontiers(world) == {"a": [70, 102]}
    tokens = [*range(100), *ANSWER, *range(200, 240)]
    second = prepared(tokens, closure=110, cuts=(70,))
    answer = world.finish(world.submit(second, output=4, session="a")).output_tokens
    assert answer == answer_to(tokens, 4)
    assert frontiers(world) == {"a": [110, 146]}
    rewritten = prepared([*tokens[:110], *range(800, 830)], closure=110, cuts=(70,))
    request = world.submit(rewritten, output=2, session="a")
    world.finish(request)
    assert started(world, request) == (ReusePath.PRIVATE_TURN_CLOSURE, 110)
    assert world.engine.close().ledger.occupancy.device_kv.reserved_count == 0


def test_in_company() -> None:  # spec: IDN-3, IDN-4, ROLE-5, MODE-2, INV-14, TXN-5
    """Three lanes: a Fork beside its source, foreign identities, late and cancelled ends."""
    world = world_of(lanes=3, extra=6, pages=24)
    late = world.submit(range(500, 540), output=60, session="a")
    world.finish(world.submit(FIRST, output=3, session="a"))
    tail = [*range(100), *ANSWER[:2]]
    fork = world.submit(prepared([*tail, 5], cuts=(70,)), output=30, session="b")
    world.engine.step()
    own = world.submit(prepared([*tail, 6], cuts=(70,)), output=2, session="a")
    assert world.finish(own).output_tokens == answer_to([*tail, 6], 2)
    assert started(world, own) == (ReusePath.PRIVATE_ENDPOINT, 102)
    assert world.admission_of(own).state.value == "fork", "somebody still runs on the source"
    assert world.finish(fork).output_tokens == answer_to([*tail, 5], 30)
    other_cuts = world.submit(prepared([*tail, 7], cuts=(60,)), output=1)
    other_template = world.submit(prepared([*tail, 7, 7], cuts=(70,), template="x"), output=1)
    for request in (other_cuts, other_template):
        world.finish(request)
        assert world.admission_of(request).path is ReusePath.ROOT
    disabled = world.submit(prepared([*tail, 8], cuts=(70,)), mode=CacheMode.DISABLED, session="z")
    world.finish(disabled)
    assert world.admission_of(disabled).path is ReusePath.ROOT
    world.finish(late)
    assert world.snapshot.catalog[0].owner == 1
    assert world.snapshot.catalog[0].session_key is None
    given_up = world.submit(prepared(range(300, 420), closure=90), output=40)
    for _ in range(4):
        world.engine.step()
    world.engine.cancel(given_up)
    world.settle()
    world.engine.close()


def test_without_room() -> None:  # spec: INV-1, RES-1, SRCH-3, ROLE-5, REV-2, TXN-5
    """Two lanes, no extra slot: a blocked head, a protected source, the root with all released."""
    world = world_of(lanes=2, extra=0, pages=5)
    world.finish(world.submit(range(100), output=2))
    world.submit([*range(100), ANSWER[0], 5], output=9)
    waiting = [world.submit(range(n, n + 60), output=3) for n in (600, 700)]
    world.engine.step()
    assert [event.request for event in world.events(RequestBlocked)] == waiting[:1]
    assert [entry.owner for entry in world.snapshot.catalog] == [1], "its source was taken away"
    world.settle()
    admitted = [event.request for event in world.events(RequestAdmitted)]
    assert admitted == sorted(admitted)
    assert any(event.report.maximal_fallback for event in world.events(RequestAdmitted))
    world.finish(world.submit(prepared(range(120), closure=70), output=100))
    world.engine.close()


def test_past_faults() -> None:  # spec: ACT-5, IDN-5
    """A torn forward, an interrupt, and a stop string below the state."""
    world = world_of(lanes=2, extra=2, pages=12, with_text=True)
    world.machine.failing_forwards.add(3)
    failed = world.finish(world.submit(FIRST, output=20, session="a"))
    assert failed.answer.finished is FinishReason.FAILED
    assert frontiers(world) == {"a": [70]}
    world.machine.interrupted_forwards.add(len(world.machine.steps))
    request = world.submit(range(300, 350), output=5, session="b")
    with pytest.raises(KeyboardInterrupt):
        world.engine.step()
    assert world.finish(request).output_tokens == answer_to(range(300, 350), 5)
    world.machine.script.extend(map(ord, "abc"))
    world.finish(world.submit(range(600, 690), output=9, session="c", stop=("bc",)))
    assert set(frontiers(world)) == {"a", "b"}
    world.engine.close()
