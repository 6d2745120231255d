"""Law: ResourceManager says where the prefill is cut once the candidate is fixed, for that one
alone, and nothing that is told of it is otherwise when it runs.
"""

from __future__ import annotations

from random import Random

import pytest

from context_cache.shared_worlds import STRUCTURE, head, shared_world
from context_cache.test_private_anchors import OPTIONS, cuts_of
from ninfer_lab.context_cache import resource_manager
from ninfer_lab.context_cache.private_capture import final_choice
from ninfer_lab.contract.events import RequestAdmitted
from ninfer_lab.contract.options import CacheMode
from simulation.content_machine import answer_to
from simulation.engine_world import EngineWorld, engine_world, prepared

SEEDS = range(6)


def _streamed(seed: int) -> EngineWorld:
    """Three conversations in turns, with heads that they share and anchors of every kind."""
    world, draw = shared_world(extra=5, host=6), Random(seed)
    histories = {session: head(session % 2) for session in range(3)}
    for _ in range(9):
        session = draw.randrange(3)
        history = histories[session]
        if draw.random() < 0.2:
            history = history[: draw.randrange(40, len(history))]
        prompt = [*history, *(draw.randrange(500) for _ in range(draw.randrange(2, 20)))][:240]
        closure = draw.randrange(1, len(prompt)) if draw.random() < 0.6 else None
        request = world.submit(
            prepared(
                prompt,
                closure=closure,
                anchors=sorted(draw.sample(range(1, len(prompt)), 3)),
                shared={100: STRUCTURE} if len(prompt) > 100 else {},
            ),
            output=2,
            session=f"{session}",
            mode=CacheMode.DISABLED if draw.random() < 0.1 else CacheMode.READ_WRITE,
        )
        world.finish(request)
        histories[session] = [*prompt, *answer_to(prompt, 2)]
    return world


@pytest.mark.parametrize("seed", SEEDS)
def test_the_forwards_that_were_told_at_admission_are_those_that_ran(seed: int) -> None:
    # spec: CPT-4
    world = _streamed(seed)
    cuts_count = 0
    for admitted in world.events(RequestAdmitted):
        ran = cuts_of(world, admitted.request)
        assert admitted.schedule is not None
        assert admitted.schedule.prefill.chunk_count == len(ran)
        assert set(admitted.schedule.cuts_tokens) <= set(ran)
        cuts_count += len(admitted.schedule.cuts_tokens)
    assert cuts_count > 9


def test_offers_lie_where_the_candidate_that_was_taken_comes_by() -> None:  # spec: CPT-4, CPT-1
    """A head at 50 that nobody has kept, and a start at 102: it is wanted, and no cut of this
    request, though the root would come by there.
    """
    first = list(range(100))
    world = engine_world(OPTIONS, endpoint_gain_tokens=50)
    world.finish(world.submit(first, output=3, session="a"))
    prompt = [*first, *answer_to(first, 3), 7, 8]
    second = world.submit(prepared(prompt, shared={50: STRUCTURE}), output=3, session="a")
    world.finish(second)
    admitted = world.admission_of(second)
    assert (admitted.reuse_tokens, cuts_of(world, second)) == (102, [105])
    assert admitted.schedule is not None
    assert admitted.schedule.cuts_tokens == ()


def test_who_leaves_nothing_is_offered_and_captures_nothing(  # spec: CPT-4, MODE-2
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = []

    def looked(*arguments: object, **named: object) -> object:
        chosen.append(final_choice(*arguments, **named))  # type: ignore[arg-type]
        return chosen[-1]

    monkeypatch.setattr(resource_manager, "final_choice", looked)
    world = engine_world(OPTIONS)
    prompt = prepared(range(100), anchors=(30,), closure=90, shared={50: STRUCTURE})
    world.finish(world.submit(prompt, mode=CacheMode.DISABLED))
    (intent,) = chosen
    assert (intent.captures, intent.terms_at_start, intent.offers_tokens) == ((), None, ())
