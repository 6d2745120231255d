"""Law: a request starts from the deepest checkpoint it may have and that fits, else from the root
with everything unprotected released; the catalog holds exactly what ends left behind.
"""

from __future__ import annotations

from typing import cast

import pytest

from ninfer_lab.context_cache.resource_manager import ResourceManager
from ninfer_lab.contract.cache_controller import PermanentlyInfeasible
from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.events import RequestAdmitted, RequestBlocked, RequestFinished
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import CacheMode, ContextCache, EngineOptions, ResolvedOptions
from ninfer_lab.contract.program_api import ProgramApi
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.engine.catalog_controller import CatalogController
from ninfer_lab.program.program import Program
from simulation.content_machine import ContentMachine, answer_to
from simulation.engine_world import BELIEF, EngineWorld, engine_world, prepared
from simulation.program_world import ProgramWorld

ROOT, ENDPOINT = ReusePath.ROOT, ReusePath.PRIVATE_ENDPOINT
CLOSURE = ReusePath.PRIVATE_TURN_CLOSURE


def world_of(*, lanes: int = 1, extra: int = 3, private: int = 6, pages: int = 12) -> EngineWorld:
    return engine_world(
        EngineOptions(
            max_concurrency=lanes,
            max_context_tokens=256,
            kv_capacity_tokens=64 * pages,
            device_state_slots=extra,
            max_private_continuations=private,
            host_state_slots=0,
            host_kv_capacity_bytes=0,
        )
    )


def catalog_of(world: EngineWorld) -> list[tuple[int, str | None, list[int]]]:
    """(owner, session, frontiers) of every entry."""
    return [
        (entry.owner, entry.session_key, [c.frontier_tokens for c in entry.checkpoints])
        for entry in world.snapshot.catalog
    ]


def start_of(world: EngineWorld, request: RequestId) -> tuple[ReusePath, StateTransition, int]:
    admitted = world.admission_of(request)
    return admitted.path, admitted.state, admitted.reuse_tokens


def run(world: EngineWorld, tokens: range | list[int], **wanted: str | None) -> RequestId:
    request = world.submit(tokens, output=2, session=wanted.get("session"))
    world.finish(request)
    return request


def test_a_session_goes_on_where_it_stopped() -> None:  # spec: SES-1, CAND-1
    world = world_of()
    run(world, range(100), session="a")
    assert catalog_of(world) == [(1, "a", [101])]
    answer = answer_to(range(100), 2)
    second = run(world, [*range(100), *answer, 7, 8], session="a")
    assert start_of(world, second) == (ENDPOINT, StateTransition.MOVE, 101)
    assert catalog_of(world) == [(1, "a", [105])]


def test_another_session_leaves_the_source_as_it_is() -> None:  # spec: OWN-6
    world = world_of()
    run(world, range(100), session="a")
    before = world.snapshot.catalog
    branch = [*range(100), answer_to(range(100), 1)[0], 7, 8]
    other = run(world, branch, session="b")
    assert start_of(world, other) == (ENDPOINT, StateTransition.FORK, 101)
    assert catalog_of(world) == [(1, "a", [101]), (2, "b", [104])]
    assert world.snapshot.catalog[0] == before[0]


def test_the_deepest_checkpoint_is_taken() -> None:
    world = world_of()
    shallow = [*range(50), answer_to(range(50), 1)[0]]
    deep = [*shallow, 5, 5, 5]
    run(world, range(50), session="a")
    run(world, deep)
    assert [frontiers for _, _, frontiers in catalog_of(world)] == [[51], [55]]
    deepest = [*deep, answer_to(deep, 1)[0], 7]
    assert start_of(world, run(world, deepest)) == (ENDPOINT, StateTransition.FORK, 55)
    assert start_of(world, run(world, [*shallow, 9])) == (ENDPOINT, StateTransition.FORK, 51)


def test_a_rewritten_turn_starts_from_its_closure() -> None:  # spec: OWN-5
    world = world_of()
    first = world.submit(prepared(range(100), closure=70), output=2, session="a")
    world.finish(first)
    assert catalog_of(world) == [(1, "a", [70, 101])]
    rewritten = [*range(70), *range(600, 630)]
    second = world.submit(prepared(rewritten, closure=70), output=2, session="a")
    world.finish(second)
    assert start_of(world, second) == (CLOSURE, StateTransition.MOVE, 70)
    # Captured again where it started, so the turn can be rewritten once more.
    assert catalog_of(world) == [(1, "a", [70, 101])]
    assert world.admission_of(second).evicted == ()


def test_an_endpoint_with_other_cuts_is_not_taken_its_closure_is() -> None:  # spec: IDN-3
    world = world_of()
    world.finish(world.submit(prepared(range(100), closure=70), output=1, session="a"))
    uncut = run(world, [*range(100), 3], session="b")
    assert start_of(world, uncut)[::2] == (CLOSURE, 70)


def test_a_token_difference_below_the_frontier_means_the_root() -> None:  # spec: IDN-2
    world = world_of()
    run(world, range(100), session="a")
    tokens = [*range(100), answer_to(range(100), 1)[0], 7]
    tokens[50] = 999
    request = run(world, tokens, session="a")
    assert start_of(world, request) == (ROOT, StateTransition.ROOT, 0)
    assert world.engine.outcome(request).output_tokens == answer_to(tokens, 2)


def test_an_owner_somebody_runs_on_is_forked_by_its_own_session() -> None:  # spec: ROLE-5
    world = world_of(lanes=2, extra=4)
    run(world, range(100), session="a")
    tail = [*range(100), answer_to(range(100), 1)[0]]
    leaning = world.submit([*tail, 5], output=40)
    world.engine.step()
    own = world.submit([*tail, 6], output=2, session="a")
    world.finish(own)
    assert start_of(world, own) == (ENDPOINT, StateTransition.FORK, 101)
    world.finish(leaning)
    after = run(world, [*tail, 6, *answer_to([*tail, 6], 2), 7], session="a")
    assert start_of(world, after)[1] is StateTransition.MOVE


def test_without_room_the_oldest_go_and_the_root_runs() -> None:  # spec: SRCH-3
    world = world_of(extra=1, pages=4)
    run(world, range(60), session="a")
    run(world, range(300, 360), session="b")
    assert [owner for owner, _, _ in catalog_of(world)] == [1, 2]
    request = run(world, range(500, 510))
    assert world.admission_of(request).evicted == (1,)
    assert catalog_of(world) == [(2, "b", [61]), (3, None, [11])]
    again = run(world, [*range(60), answer_to(range(60), 1)[0], 9], session="a")
    assert start_of(world, again)[0] is ROOT


def test_root_with_everything_unprotected_gone_is_the_last_way() -> None:  # spec: SRCH-3, INV-12
    world = world_of(extra=3, pages=4)
    for start in (0, 300):
        run(world, range(start, start + 60))
    request = run(world, range(500, 750))
    assert world.admission_of(request).report.maximal_fallback
    assert world.admission_of(request).evicted == (1, 2)
    assert [owner for owner, _, _ in catalog_of(world)] == [3]


def test_a_protected_owner_is_not_evicted_the_head_waits() -> None:  # spec: TGT-2, RES-1
    world = world_of(lanes=2, extra=0, pages=6)
    run(world, range(100))
    tail = [*range(100), answer_to(range(100), 1)[0]]
    leaning = world.submit([*tail, 5], output=3)
    waiting = world.submit(range(500, 510), output=2)
    world.engine.step()
    (blocked,) = world.events(RequestBlocked)
    assert blocked.request == waiting
    assert [owner for owner, _, _ in catalog_of(world)] == [1]
    world.finish(waiting)
    assert world.admission_of(waiting).at_ns >= world.engine.outcome(leaning).log.at_ns
    assert len(world.events(RequestBlocked)) == 2  # again once the Fork had its own state


def test_an_older_request_that_ends_late_becomes_anonymous() -> None:  # spec: SES-1, INV-14
    world = world_of(lanes=2)
    late = world.submit(range(50), output=30, session="a")
    early = world.submit(range(300, 350), output=2, session="a")
    world.finish(early)
    assert catalog_of(world) == [(2, "a", [51])]
    world.finish(late)
    assert catalog_of(world) == [(1, None, [79]), (2, "a", [51])]


def test_a_session_whose_request_leaves_nothing_is_forgotten() -> None:
    world = world_of()
    run(world, range(100), session="a")
    world.machine.failing_forwards.add(len(world.machine.steps))
    run(world, [*range(100), answer_to(range(100), 1)[0], 7], session="a")
    assert catalog_of(world) == []
    run(world, range(100), session="a")
    assert catalog_of(world) == [(2, "a", [101])]


def test_without_a_slot_a_request_runs_and_leaves_nothing() -> None:  # spec: SES-2, CAP-3
    world = world_of(lanes=2, extra=4, private=2)
    run(world, range(100), session="a")
    leaning = world.submit([*range(100), answer_to(range(100), 1)[0], 5], output=60)
    world.engine.step()
    homeless = run(world, range(500, 550), session="c")
    assert world.admission_of(homeless).evicted == ()
    assert [owner for owner, _, _ in catalog_of(world)] == [1]
    assert world.engine.outcome(homeless).output_tokens == answer_to(range(500, 550), 2)
    world.finish(leaning)
    assert [owner for owner, _, _ in catalog_of(world)] == [1, 2]


def test_a_full_catalog_makes_room_for_a_publication() -> None:  # spec: CAP-3
    world = world_of(extra=5, private=2)
    for start in (0, 200):
        run(world, range(start, start + 50))
    request = run(world, range(500, 550))
    assert world.admission_of(request).evicted == (1,)
    assert [owner for owner, _, _ in catalog_of(world)] == [3, 2]


@pytest.mark.parametrize("session", [None, "a"])
def test_a_disabled_request_reads_nothing_and_leaves_nothing(session: str | None) -> None:
    world = world_of()  # spec: MODE-1, MODE-2
    world.finish(world.submit(prepared(range(100), closure=70), output=2, session="a"))
    before = world.snapshot
    tail = [*range(100), answer_to(range(100), 1)[0], 7]
    request = world.submit(
        prepared(tail, closure=70), output=2, session=session, mode=CacheMode.DISABLED
    )
    world.finish(request)
    assert start_of(world, request) == (ROOT, StateTransition.ROOT, 0)
    after = world.snapshot
    assert (after.catalog, after.ledger.owners) == (before.catalog, before.ledger.owners)
    assert after.ledger.occupancy == before.ledger.occupancy


def test_an_engine_without_a_cache_answers_the_same_and_keeps_nothing() -> None:  # spec: MODE-3
    world = engine_world(EngineOptions(max_context_tokens=256, context_cache=ContextCache.DISABLED))
    for _ in range(2):
        request = world.submit(prepared(range(100), closure=70), output=5, session="a")
        assert world.finish(request).output_tokens == answer_to(range(100), 5)
        assert start_of(world, request) == (ROOT, StateTransition.ROOT, 0)
        assert world.snapshot.catalog == ()
        assert [use.used_count for use in world.snapshot.ledger.occupancy.axes] == [0] * 5


def test_what_fits_no_empty_engine_is_refused_for_good() -> None:  # spec: RES-1
    options = EngineOptions(max_context_tokens=256).resolve()
    program = Program(options, ContentMachine(options.capacity))
    manager = ResourceManager(options, program, BELIEF)
    before = program.snapshot()
    answer = manager.materialize(ProgramWorld(pages=8).request(range(200), output=57))
    assert isinstance(answer, PermanentlyInfeasible)
    assert "more pages than the engine has" in answer.reason
    assert (program.snapshot(), manager.entries()) == (before, ())


def test_every_admission_says_what_was_looked_at() -> None:
    world = world_of(extra=1, pages=4)
    run(world, range(100), session="a")
    tail = [*range(100), answer_to(range(100), 1)[0], 7]
    run(world, tail, session="b")
    report = world.events(RequestAdmitted)[-1].report
    assert report.chosen is not None
    chosen = report.verdicts[report.chosen]
    assert (chosen.path, chosen.owner, chosen.reuse_tokens) == (ENDPOINT, 1, 101)
    assert (report.best_offered_tokens, report.maximal_fallback) == (101, False)
    refused = run(world, range(500, 690), session="c")
    maximal = world.admission_of(refused).report
    assert maximal.chosen is not None
    assert maximal.verdicts[maximal.chosen].evicted == (1, 2)
    assert len(world.events(RequestFinished)) == 3


class Listening:
    """Program as it is, and what was asked of it in order."""

    def __init__(self, program: Program, heard: list[str]) -> None:
        self._program = program
        self._heard = heard

    def __getattr__(self, name: str) -> object:
        found = getattr(self._program, name)

        def called(*arguments: object, **named: object) -> object:
            if not self._heard or self._heard[-1] != name:
                self._heard.append(name)
            return found(*arguments, **named)

        return called if callable(found) else found


def test_candidates_then_targets_then_one_plan_then_one_result() -> None:  # spec: ROLE-4
    heard: list[str] = []

    def listened(
        options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
    ) -> CatalogController:
        program = Program(options, machine)
        told = cast(ProgramApi, Listening(program, heard))
        return CatalogController(ResourceManager(options, told, belief), program)

    world = engine_world(EngineOptions(max_context_tokens=256), design=listened)
    run(world, range(100), session="a")
    heard.clear()
    again = run(world, [*range(100), *answer_to(range(100), 2), 7], session="a")
    assert start_of(world, again)[0] is ENDPOINT
    assert heard == [
        "can_ever_run",
        "root_candidate",
        "verify",
        "plan",
        "seal",
        "start",
        "advance",
    ]
