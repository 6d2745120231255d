"""Law: a session that leaves an engine and comes into another is reused there as if it had never
left; one that cannot come in changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.events import OwnerPublished
from ninfer_lab.contract.options import PAGE_TOKENS, EngineOptions, SpeculativeBackend
from ninfer_lab.contract.session_snapshot import SessionError, SessionSnapshot
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, engine_world, prepared

FIRST = tuple(range(100))
ENDPOINT, CLOSURE = CheckpointKind.SESSION_ENDPOINT, CheckpointKind.TURN_CLOSURE


def world_of(
    *,
    lanes: int = 1,
    pages: int = 24,
    slots: int | None = None,
    host_slots: int = 0,
    places: int = 4,
    backend: bool = False,
) -> EngineWorld:
    return engine_world(
        EngineOptions(
            max_concurrency=lanes,
            max_context_tokens=256,
            kv_capacity_tokens=PAGE_TOKENS * pages,
            prefill_chunk_tokens=128,
            device_state_slots=slots,
            host_state_slots=host_slots,
            max_private_continuations=places,
            backend=SpeculativeBackend() if backend else None,
        )
    )


def spoken(world: EngineWorld, *, session: str = "a") -> tuple[int, ...]:
    """A first turn with a turn closure at 70; what was said, answer included."""
    world.finish(world.submit(prepared(FIRST, closure=70), output=6, session=session))
    return (*FIRST, *answer_to(FIRST, 6))


def saved_session(*, backend: bool = False) -> SessionSnapshot:
    world = world_of(slots=3, backend=backend)
    spoken(world)
    return world.engine.sessions.save("a")


def goes_on(world: EngineWorld, said: tuple[int, ...]) -> ReusePath:
    """The next turn answers as one that computes everything; where it started."""
    prompt = (*said, 7, 8, 9)
    request = world.submit(prepared(prompt, cuts=(70,)), output=10, session="b")
    assert world.finish(request).output_tokens == answer_to(prompt, 10)
    return world.admission_of(request).path


@pytest.mark.parametrize("backend", [False, True])
def test_a_session_goes_on_in_another_engine(backend: bool) -> None:  # spec: PER-2, PER-3
    here, there = world_of(slots=3, backend=backend), world_of(slots=3, backend=backend)
    said = spoken(here)
    restored = there.engine.sessions.restore(here.engine.sessions.save("a"))
    assert [each.kind for each in restored.state.checkpoints] == [CLOSURE, ENDPOINT]
    assert (restored.dropped, restored.on_host) == ((), ())
    assert goes_on(there, said) is ReusePath.PRIVATE_ENDPOINT
    assert goes_on(here, said) is ReusePath.PRIVATE_ENDPOINT  # a copy went, nothing was taken


def test_every_checkpoint_comes_in_and_none_is_written() -> None:  # spec: PER-3, OWN-6
    world = world_of(slots=3)
    world.engine.sessions.restore(saved_session())
    prompt = (*FIRST[:70], 500, 501)
    request = world.submit(prompt, output=4)
    assert world.finish(request).output_tokens == answer_to(prompt, 4)
    assert world.admission_of(request).path is ReusePath.PRIVATE_TURN_CLOSURE
    assert goes_on(world, (*FIRST, *answer_to(FIRST, 6))) is ReusePath.PRIVATE_ENDPOINT


def test_images_and_pages_stand_once_and_end_at_the_frontier() -> None:  # spec: PER-2
    world = world_of(slots=3)
    spoken(world)
    for owner in world.snapshot.ledger.owners:
        for placed in owner.checkpoints:
            world.machine.fill_behind(placed, world.snapshot.ledger)
    session = world.engine.sessions.save("a")
    closure, endpoint = session.checkpoints
    assert (closure.frontier_tokens, endpoint.frontier_tokens) == (70, 105)
    assert closure.pages[0] == endpoint.pages[0]  # the full page is shared, each tail is its own
    assert (len(session.images), len(session.pages)) == (2, 3)
    for checkpoint in session.checkpoints:
        tail, cells_count = session.pages[checkpoint.pages[-1]], checkpoint.frontier_tokens - 64
        size = len(tail) // PAGE_TOKENS
        written = [any(tail[at : at + size]) for at in range(0, len(tail), size)]
        assert written == [at < cells_count for at in range(PAGE_TOKENS)]


def test_a_session_on_the_host_is_saved_from_there() -> None:  # spec: PER-2
    world = world_of(slots=1, pages=5, host_slots=4)
    said = spoken(world)
    world.finish(world.submit(range(300, 500), output=2, session="c"))
    (owner,) = (o for o in world.snapshot.ledger.owners if o.checkpoints[-1].summary.ref.owner == 1)
    images = {each.image: each for each in world.snapshot.ledger.images}
    assert images[owner.checkpoints[-1].image].device_slot is None, "the world is too roomy"
    there = world_of(slots=3)
    there.engine.sessions.restore(world.engine.sessions.save("a"))
    assert goes_on(there, said) is ReusePath.PRIVATE_ENDPOINT


def test_it_is_nobodys_and_is_found_by_its_tokens() -> None:  # spec: PER-3
    world = world_of(slots=3)
    spoken(world, session="other")
    restored = world.engine.sessions.restore(saved_session())
    (entry,) = (e for e in world.snapshot.catalog if e.owner == restored.state.ref.id)
    assert entry.session_key is None
    assert entry.publication_order == max(e.publication_order for e in world.snapshot.catalog)
    with pytest.raises(SessionError, match="nothing kept"):
        world.engine.sessions.save("a")


def test_a_restored_session_is_told_once_and_moves_the_revision() -> None:  # spec: PER-1, REV-2
    world = world_of(slots=3)
    before = world.controller.revision
    restored = world.engine.sessions.restore(saved_session())
    assert world.controller.revision == restored.resource_revision > before
    (event,) = world.events(OwnerPublished)
    assert (event.request, event.owner) == (None, restored.state.ref.id)


# ── room ────────────────────────────────────────────────────────────────────────────────────────


def test_a_state_without_a_device_slot_goes_to_the_host() -> None:  # spec: PER-3
    world = world_of(slots=1, host_slots=2)
    world.finish(world.submit(range(400, 420), session="other"))
    restored = world.engine.sessions.restore(saved_session())
    assert [each.kind for each in restored.on_host] == [CLOSURE]  # the endpoint chooses first
    assert goes_on(world, (*FIRST, *answer_to(FIRST, 6))) is ReusePath.PRIVATE_ENDPOINT


def test_what_is_optional_is_dropped_for_want_of_a_slot() -> None:  # spec: PER-3
    world = world_of(slots=0)
    restored = world.engine.sessions.restore(saved_session())
    assert [each.kind for each in restored.state.checkpoints] == [ENDPOINT]
    assert [each.kind for each in restored.dropped] == [CLOSURE]
    occupied = {use.axis.name: use.used_count for use in world.snapshot.ledger.occupancy.axes}
    assert (occupied["DEVICE_STATE"], occupied["DEVICE_KV"]) == (1, 2)


@pytest.mark.parametrize(("pages", "kept"), [(7, [CLOSURE, ENDPOINT]), (6, [ENDPOINT]), (5, None)])
def test_pages_that_are_guaranteed_to_another_are_not_free(
    pages: int, kept: list[CheckpointKind] | None
) -> None:  # spec: PER-3, ACT-1
    world = world_of(lanes=2, slots=3, pages=pages)
    request = world.submit(range(400, 560), output=90)  # four pages, three of them mapped
    world.engine.step()
    if kept is None:
        with pytest.raises(SessionError, match=r"1 main pages.* 2 main pages"):
            world.engine.sessions.restore(saved_session())
    else:
        restored = world.engine.sessions.restore(saved_session())
        assert [each.kind for each in restored.state.checkpoints] == kept
    assert world.finish(request).output_tokens == answer_to(range(400, 560), 90)


# ── refusals: nothing has changed (the watcher compares) ────────────────────────────────────────


def test_without_a_free_lane_nothing_comes_in() -> None:  # spec: PER-3
    world = world_of(slots=3)
    request = world.submit(range(300, 330), output=8)
    world.engine.step()
    with pytest.raises(SessionError, match="a free lane"):
        world.engine.sessions.restore(saved_session())
    world.finish(request)
    world.engine.sessions.restore(saved_session())


def test_without_a_free_place_in_the_catalog_nothing_comes_in() -> None:  # spec: PER-3
    world = world_of(slots=3, places=1)
    spoken(world)
    with pytest.raises(SessionError, match="no free place"):
        world.engine.sessions.restore(saved_session())


def test_beside_a_transition_nothing_comes_in_or_leaves() -> None:  # spec: PER-1
    world = world_of(lanes=2, slots=0, pages=5, host_slots=4)
    spoken(world)
    world.submit(range(300, 500), output=2)
    world.engine.step()
    assert world.controller.opening is not None, "the world is too roomy"
    with pytest.raises(SessionError, match="a transition under way"):
        world.engine.sessions.restore(saved_session())
    with pytest.raises(SessionError, match="a transition under way"):
        world.engine.sessions.save("a")
    with pytest.raises(InvariantBroken, match="INV-9"):  # and Program does not rely on that
        world.controller.restore_session(saved_session())
    world.settle()


@pytest.mark.parametrize("failing_write", [1, 2, 3])
def test_a_device_that_gives_up_leaves_nothing_taken(failing_write: int) -> None:  # spec: PER-3
    world = world_of(slots=3)
    session, before = saved_session(), world.snapshot
    failing = iter([*[0] * (failing_write - 1), 1, *[0] * 9])
    world.machine.fails_write = lambda: bool(next(failing))
    with pytest.raises(OSError, match="gave up"):
        world.engine.sessions.restore(session)
    assert world.snapshot == before
    world.machine.fails_write = lambda: False
    world.engine.sessions.restore(session)


def test_another_machines_bytes_are_refused() -> None:  # spec: PER-3, BAD-1
    world, session = world_of(slots=3), saved_session()
    world.machine.contents_signature = "other weights"
    with pytest.raises(SessionError, match="other weights: what this engine serves"):
        world.engine.sessions.restore(session)


def forged(session: SessionSnapshot, how: str) -> SessionSnapshot:
    closure, endpoint = session.checkpoints
    match how:
        case "short image":
            return replace(session, images=(session.images[0][:-1], session.images[1]))
        case "a page too many":
            more = replace(closure, pages=(*closure.pages, 0))
            return replace(session, checkpoints=(more, endpoint))
        case "another branch":
            swapped = replace(closure, pages=closure.pages[::-1])
            return replace(session, checkpoints=(swapped, endpoint))
        case "no endpoint":
            return replace(session, checkpoints=(closure,))
        case "other tokens":
            return replace(session, history=session.history[1:] + session.history[:1])
        case "an image nobody names":
            return replace(session, images=(*session.images, session.images[0]))
        case _:
            return replace(session, execution_frontiers_tokens=(9, 9))


@pytest.mark.parametrize(
    ("how", "part"),
    [
        ("short image", "images"),
        ("a page too many", "checkpoints, turn_closure@70"),
        ("another branch", "checkpoints, turn_closure@70"),
        ("no endpoint", "checkpoints"),
        ("other tokens", "history"),
        ("an image nobody names", "images"),
        ("cuts that stand still", "execution_frontiers_tokens"),
    ],
)
def test_what_contradicts_itself_is_refused(how: str, part: str) -> None:  # spec: PER-3, BAD-1
    world = world_of(slots=3)
    with pytest.raises(SessionError) as refused:
        world.engine.sessions.restore(forged(saved_session(), how))
    assert refused.value.what == f"session.{part}"


def test_what_cannot_be_gone_on_with_is_not_saved() -> None:  # spec: PER-2
    world = world_of(slots=3)
    world.machine.failing_forwards.add(1)
    world.finish(world.submit(prepared(FIRST, closure=70), output=6, session="a"))
    assert world.snapshot.catalog[0].session_key == "a"
    with pytest.raises(SessionError, match="an owner with an endpoint"):
        world.engine.sessions.save("a")
