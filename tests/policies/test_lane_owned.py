"""Law: a lane keeps what its last request left, a full reset destroys it at entry and an execution
takes its pivot; each way out keeps exactly what it says.
"""

from __future__ import annotations

from ninfer_lab.contract.ids import LaneId
from ninfer_lab.contract.options import CacheMode, ContextCache, EngineOptions
from ninfer_lab.lab.checkers.publication import CheckpointsAreProtected
from ninfer_lab.policies.lane_owned.switches import (
    AS_IT_WAS,
    DETACHED_REGISTRY,
    LANE_SELECTION,
    PRESERVE_EXISTING,
)
from ninfer_lab.policies.lane_owned.trace import (
    Attached,
    Destroyer,
    Destruction,
    Detached,
    LaneTrace,
    Lost,
)
from policies.lane_world import (
    NOT_OWED,
    LaneWorld,
    building,
    lane_world,
    next_turn,
    opening,
)
from simulation.engine_world import engine_world, prepared

HOME = opening(range(100, 200))
TITLE = [900, 901, 902, 903]
RESET = ("full_reset", 0)
RESTORED = ("restore_turn_checkpoint", 98)


def lost(world: LaneWorld) -> list[tuple[Destroyer, Lost, int]]:
    return [(each.destroyer, each.lost, each.tokens) for each in world.trace.destructions]


def bundle_on(world: LaneWorld, lane: int) -> tuple[int, int | None, int | None]:
    """Pages, rewrite frontier and frontier of what lies there."""
    kept = world.controller.store.retained[LaneId(lane)]
    frontiers = [None if s is None else s.frontier_tokens for s in (kept.rewrite, kept.frontier)]
    return len(kept.pages), frontiers[0], frontiers[1]


def test_a_lane_retains_pages_two_states_and_a_fingerprint() -> None:  # spec: LANE-1
    world = lane_world()
    assert world.run(HOME, output=4) == RESET
    assert bundle_on(world, 0) == (2, 98, 103)
    kept = world.controller.store.retained[LaneId(0)]
    assert len(kept.fingerprint.ledger) == 103, "the last drawn token was never consumed"
    ledger = world.controller.ledger
    assert (ledger.pages.taken_count, ledger.slots.taken_count) == (2, 2)


def test_ordinary_turns_resume_from_the_checkpoint() -> None:  # spec: LANE-2, DES-2
    world = lane_world()
    world.run(HOME)
    assert world.run(next_turn(HOME, [5, 6, 7, 8])) == RESTORED
    assert lost(world) == [
        (Destroyer.CAPTURE_NEW, Lost.CHECKPOINT, 98),
        (Destroyer.OVERWRITTEN, Lost.FINGERPRINT, 100),
    ]
    assert bundle_on(world, 0) == (2, 102, 104)


def test_a_prompt_that_extends_everything_appends() -> None:  # spec: LANE-2
    world = lane_world()
    world.run(range(100), output=1)
    assert world.run(range(101)) == ("append_at_frontier", 100)
    assert lost(world) == []


def test_a_full_reset_returns_the_pages_at_entry_and_evicts_nobody() -> None:  # spec: DES-1, LANE-5
    world = lane_world()
    world.run(HOME)
    ledger = world.controller.ledger
    request = world.ask(TITLE)
    world.world.engine.step()
    assert lost(world) == [(Destroyer.FULL_RESET, Lost.PAGES, 100)]
    assert ledger.pages.taken_count == 1, "the title's own"
    assert world.world.finish(request).log.prefix_cache_hit_tokens == 0
    assert world.run(next_turn(HOME, [5])) == RESET
    assert world.trace.evict_calls_count == 0
    assert not any("pass 2" in str(line) for a in world.trace.admissions for line in a.lines)


def test_pages_alive_is_not_pivot_alive() -> None:  # spec: DES-3, DES-2, RT-1
    world = lane_world()
    world.run(HOME)
    assert world.run(next_turn(HOME, TITLE)) == RESTORED
    assert not any(what is Lost.PAGES for _, what, _ in lost(world))
    assert world.run(next_turn(HOME, [5])) == RESET


def test_what_declares_nothing_clears_as_well() -> None:  # spec: NOT-5, LANE-3
    world = lane_world()
    world.run(HOME)
    plain = [*HOME.tokens[:98], *TITLE]
    assert world.run(prepared(plain)) == RESTORED
    assert lost(world)[0] == (Destroyer.DROP, Lost.CHECKPOINT, 98)
    assert world.run(next_turn(HOME, [5])) == RESET


def test_one_bundle_is_claimed_by_one_request_at_a_time() -> None:  # spec: LANE-6
    world = lane_world(lanes=2)
    world.run(HOME)
    first = world.ask(next_turn(HOME, [5]), output=9)
    second = world.ask(next_turn(HOME, [6]), output=9)
    paths = [world.world.finish(each).log.prefix_reuse_path for each in (first, second)]
    assert [path.value for path in paths if path is not None] == [
        "restore_turn_checkpoint",
        "full_reset",
    ]


def test_a_pin_is_holding_the_places_and_no_more() -> None:  # spec: LANE-6, LANE-5
    world = lane_world(lanes=2)
    world.run(HOME)
    kept = world.controller.store.retained[LaneId(0)]
    world.ask(TITLE, output=3)
    world.ask(opening(range(300, 340)), output=3)
    world.world.settle()
    assert lost(world) == [(Destroyer.FULL_RESET, Lost.PAGES, 100)]
    assert world.controller.ledger.pages.taken_count == 2, "one each, and home's two are free"
    assert set(kept.pages) & set(world.controller.store.retained[LaneId(0)].pages)


def test_preserving_writes_nothing_and_only_the_checkpoint_can_be_resumed() -> None:
    # spec: RT-2, LANE-6
    world = lane_world(PRESERVE_EXISTING)
    world.run(HOME)
    before = world.controller.store.retained[LaneId(0)]
    assert world.run(next_turn(HOME, TITLE), is_side=True) == RESTORED
    after = world.controller.store.retained[LaneId(0)]
    assert after.fingerprint == before.fingerprint
    assert after.rewrite == before.rewrite
    assert after.frontier is None
    assert lost(world) == []
    world.run(next_turn(HOME, TITLE), is_side=True)
    answer = world.world.finish(world.ask(HOME, is_side=True)).output_tokens
    assert len(answer) == 1
    assert world.run(next_turn(HOME, [5])) == RESTORED


def test_the_old_frontier_is_gone_after_a_preserving_request() -> None:  # spec: RT-2
    """The ledger still says what it said; the pages and the state beyond the checkpoint do not."""
    tails = {}
    for switches, is_side in ((PRESERVE_EXISTING, True), (AS_IT_WAS, False)):
        world = lane_world(switches)
        answer = world.world.finish(world.ask(HOME, output=3)).output_tokens
        onward = [*HOME.tokens, *answer, 5]
        if is_side:
            world.run(next_turn(HOME, TITLE, output=3), is_side=True)
        cuts = HOME.rewrite_execution_frontiers
        tails[is_side] = world.run(prepared(onward, cuts=cuts))
    assert tails == {True: RESTORED, False: ("append_at_frontier", 102)}


def test_preserving_after_a_full_reset_has_nothing_to_preserve() -> None:  # spec: RT-2
    world = lane_world(PRESERVE_EXISTING)
    world.run(HOME)
    assert world.run(TITLE, is_side=True) == RESET
    assert not world.controller.store.retained
    assert world.controller.ledger.pages.taken_count == 0
    assert world.run(next_turn(HOME, [5])) == RESET


def test_the_registry_keeps_what_a_reset_would_destroy() -> None:  # spec: RT-3
    world = lane_world(DETACHED_REGISTRY)
    world.run(HOME)
    kept = world.controller.store.retained[LaneId(0)]
    world.run(TITLE)
    assert world.controller.store.detached == (kept,)
    assert world.run(next_turn(HOME, [5])) == RESTORED
    told = [type(each) for each in world.trace.records if isinstance(each, Detached | Attached)]
    assert told == [Detached, Detached, Attached]
    assert not any(what is Lost.PAGES for _, what, _ in lost(world))


def test_the_least_reusable_leaves_the_registry_first() -> None:  # spec: RT-3
    world = lane_world(DETACHED_REGISTRY, pages=8, extra_slots=5)
    for tokens in (range(100, 230), range(300, 340), range(400, 440)):
        world.run(opening(tokens))
    reusable = [e.reusable_prompt_tokens for e in world.controller.store.detached]
    assert reusable == [130, 40]
    world.run(range(500, 720), output=30)
    gone = [each for each in world.trace.destructions if each.destroyer is Destroyer.REGISTRY]
    assert [(each.owner, each.tokens) for each in gone] == [(2, 40)], "of equals the older"
    assert [e.reusable_prompt_tokens for e in world.controller.store.detached] == [130, 40]


def test_a_lane_key_sends_the_title_to_the_empty_lane() -> None:  # spec: RT-4
    for switches, lane, found in ((AS_IT_WAS, 0, RESET), (LANE_SELECTION, 1, RESTORED)):
        world = lane_world(switches, lanes=2)
        world.run(HOME)
        world.run(TITLE)
        assert world.trace.admissions[1].lane == lane
        assert world.run(next_turn(HOME, [5])) == found
        assert world.trace.evict_calls_count == 0


def test_what_must_do_without_the_cache_leaves_nothing_behind() -> None:  # spec: MODE-2
    world = lane_world()
    request = world.world.submit(HOME, mode=CacheMode.DISABLED)
    world.world.finish(request)
    assert not world.controller.store.retained
    assert world.run(HOME) == RESET


def test_an_engine_without_a_cache_retains_nothing() -> None:  # spec: MODE-3
    trace = LaneTrace()
    design, built = building(DETACHED_REGISTRY, trace)
    options = EngineOptions(max_context_tokens=256, context_cache=ContextCache.DISABLED)
    world = engine_world(options, design=design, without=NOT_OWED)
    for _ in range(2):
        log = world.finish(world.submit(HOME)).log
        assert log.prefix_cache_hit_tokens == 0
        assert not list(built.last.store.bundles)
        assert built.last.ledger.pages.taken_count == 0


def test_a_lane_writes_past_its_own_checkpoint_and_into_no_other() -> None:  # spec: LANE-6
    world = lane_world(lanes=2, pages=8)
    options = world.world.engine.options
    world.ask(HOME, output=9)
    world.ask(opening(range(300, 370)), output=9)
    exposed: set[str] = set()
    while not world.world.engine.is_idle:
        world.world.engine.step()
        now = world.world.snapshot
        exposed.update(CheckpointsAreProtected().violations(now, options))
    own = {f"sequence {n} in lane {n - 1} may write main pages" for n in (1, 2)}
    assert {said[: said.index(" pages") + 6] for said in exposed} == own
    assert all(f"of owner {said.split()[1]}" in said for said in exposed)


def test_with_a_slot_for_each_lane_alone_nothing_is_captured() -> None:  # spec: ACT-6
    world = lane_world(lanes=2, extra_slots=0)
    world.run(HOME, output=4)
    assert bundle_on(world, 0) == (2, None, 103)
    assert world.run([*HOME.tokens, 1]) == RESET


def test_one_slot_too_few_costs_the_checkpoint_and_nothing_else() -> None:
    """Two lanes, three slots: the third is one lane's checkpoint, then the other's."""
    world = lane_world(PRESERVE_EXISTING, lanes=2, extra_slots=1)
    world.run(HOME)
    world.run(next_turn(HOME, TITLE), is_side=True)
    held = world.ask(HOME, output=30)
    other = world.ask(opening(range(300, 370)), output=30)
    world.world.settle()
    assert [world.world.engine.outcome(each).log.completion_tokens for each in (held, other)] == [
        30,
        30,
    ]


def test_a_trace_reads_as_a_text() -> None:
    world = lane_world()
    world.run(HOME)
    world.run(TITLE)
    assert str(world.trace).splitlines() == [
        "request 1 enters lane 0 by full_reset, reuse 0, checkpoint action capture_new",
        "  pass 1: taken, its key is greater or the first, lane 0, reuse 0",
        "  pass 1: one was taken, so it returns",
        "  request 2: full_reset, at entry takes the pages of owner 1, worth 100 tokens",
        "request 2 enters lane 0 by full_reset, reuse 0, checkpoint action drop",
        "  pass 1: taken, its key is greater or the first, lane 0, reuse 0",
        "  pass 1: one was taken, so it returns",
        "eviction function called 0 times",
    ]
    assert all(isinstance(each, Destruction) for each in world.trace.destructions)
