"""Law: two targets are never equal, and what tells them apart comes in one fixed order."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from random import Random

import pytest

from context_cache.decisions import decided, evicted, flat, owner, price, problem, searched
from ninfer_lab.context_cache.exhaustive_search import every_target
from ninfer_lab.context_cache.judged_targets import judge
from ninfer_lab.context_cache.target_order import TargetKey
from ninfer_lab.context_cache.valuation import PriceWork
from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.planning import TargetHandle
from ninfer_lab.engine.decision_problem import DecisionProblem, KeptOwner, RetentionClass
from ninfer_lab.engine.decision_room import count_targets, open_problem
from ninfer_lab.lab.planner_problems import generated

RETAIN = SourceDisposition.RETAIN
LIVE, RECENT = RetentionClass.LIVE_SESSION, RetentionClass.RECENT_PRIVATE


def test_the_order_of_the_key() -> None:  # spec: SRCH-8
    assert TargetKey._fields == (
        "total_ns",
        "affected_hits_count",
        "newest_affected_hit",
        "evictions_count",
        "deletions_count",
        "copies_count",
        "copied_bytes",
        "prefill_tokens",
        "vision_patches_count",
        "missed_tokens",
        "is_other_session",
        "candidate",
        "given",
    )


def test_no_two_targets_are_equal() -> None:  # spec: SRCH-8
    posed = open_problem(problem(owner(640), owner(640), owner(320, 640), pages=40), price)
    session = posed.session
    choices = [
        {step.choice for step in session.steps(session.identity(0)) if step.owner == o} | {0}
        for o in range(3)
    ]
    keys = [judge(posed, TargetHandle(0, c)).key for c in product(*map(sorted, choices))]
    assert len(set(keys)) == len(keys) == 16


@pytest.mark.parametrize(("believed", "costs_count"), [(flat, 1), (price, 8)])
def test_who_beats_whom_is_what_the_keys_say(
    believed: PriceWork, costs_count: int
) -> None:  # spec: SRCH-8
    posed = open_problem(problem(owner(640), owner(320), owner(160), pages=40), believed)
    judged = [judge(posed, TargetHandle(0, c)) for c in product(range(2), repeat=3)]
    assert len({each.cost.total_ns for each in judged}) == costs_count
    for one, other in product(judged, judged):
        assert one.beats(other) == (one.key < other.key)


def test_what_the_key_of_a_target_counts() -> None:  # spec: SRCH-8
    written = problem(
        owner(320, 640, hits=(2, 7)),
        owner(640, hits=(1, 9)),
        owner(640),
        continued=((2, 0, RETAIN),),
        session_owner=2,
        pages=60,
    )
    posed = open_problem(written, price)
    maximal = judge(posed, posed.session.maximal(1)).key
    assert (maximal.affected_hits_count, maximal.newest_affected_hit) == (3, 9)
    assert (maximal.evictions_count, maximal.deletions_count) == (2, 3)
    assert (maximal.prefill_tokens, maximal.missed_tokens) == (128, -640)
    assert not maximal.is_other_session
    root = judge(posed, posed.session.identity(0)).key
    assert (root.evictions_count, root.missed_tokens, root.is_other_session) == (0, 0, True)


FAVOURED = {
    "a smaller loss": (owner(640, retention=RECENT), owner(640, retention=LIVE)),
    "never hit": (owner(640), owner(640, hits=(1, 3))),
    "hit longer ago": (owner(640, hits=(5, 3)), owner(640, hits=(1, 8))),
}


@pytest.mark.parametrize("reason", FAVOURED)
def test_who_gives_way_does_not_depend_on_the_order_of_owners(reason: str) -> None:  # spec: SRCH-8
    gives_way, stays = FAVOURED[reason]
    for order in permutations((gives_way, stays, stays)):
        found = decided(problem(*order, new_tokens=640, pages=32))
        assert found.best is not None
        posed = open_problem(problem(*order, new_tokens=640, pages=32), price)
        assert evicted(posed.session, posed.session.maximal(0)) == [0, 1, 2]
        (gone,) = [o for o, choice in enumerate(found.best.target.choices) if choice]
        assert order[gone] == gives_way


SEEDS_TRIED = [s for s in range(40) if count_targets(generated(s), 500)]


@pytest.mark.parametrize("seed", SEEDS_TRIED)
def test_the_best_does_not_depend_on_the_order_of_owners(seed: int) -> None:  # spec: SRCH-8
    written = generated(seed)
    best = every_target(open_problem(written, price)).best
    assert best is not None
    for way in range(3):
        order = reordered(written, way)
        again = decided(permuted(written, order))
        assert again.best is not None
        # All of the key but the ordinals: who is asked first decides nothing else.
        assert again.best.key[:-1] == best.key[:-1]


def reordered(written: DecisionProblem, seed: int) -> tuple[int, ...]:
    """An order of the owners in which whoever branches comes after the one it branches from."""
    draw = Random(seed)
    order: list[int] = []
    while len(order) < len(written.owners):
        ready = [
            ordinal
            for ordinal, owner in enumerate(written.owners)
            if ordinal not in order
            and (owner.branches_from is None or owner.branches_from[0] in order)
        ]
        order.append(draw.choice(ready))
    return tuple(order)


def permuted(written: DecisionProblem, order: tuple[int, ...]) -> DecisionProblem:
    """The same problem with its owners in another order."""
    place = {old: new for new, old in enumerate(order)}

    def moved(owner: KeptOwner) -> KeptOwner:
        if owner.branches_from is None:
            return owner
        parent, checkpoint = owner.branches_from
        return replace(owner, branches_from=(place[parent], checkpoint))

    bound = written.session_owner
    return replace(
        written,
        owners=tuple(moved(written.owners[old]) for old in order),
        continued=tuple(replace(c, owner=place[c.owner]) for c in written.continued),
        session_owner=None if bound is None else place[bound],
    )


def test_of_equal_owners_the_older_gives_way() -> None:  # spec: SRCH-8
    for count in (2, 3, 4):
        owners = [owner(640)] * count
        found = decided(problem(*owners, new_tokens=640, pages=10 * count + 2))
        assert found.best is not None
        assert [bool(choice) for choice in found.best.target.choices] == [True] + [False] * (
            count - 1
        )


def test_of_equal_candidates_the_sessions_own_is_taken() -> None:  # spec: SRCH-8
    # Both continue from the same 640 tokens; the second owner branched from the first there.
    owners = (owner(640, 704), owner(704, branches_from=(0, 0)))
    written = problem(*owners, continued=((0, 0, RETAIN), (0, 1, RETAIN)), pages=60)
    best = {}
    for bound in (0, 1):
        found = decided(replace(written, session_owner=bound))
        assert found.best is not None
        best[bound] = found.best.key.is_other_session
    assert best == {0: False, 1: True}


def test_an_equal_j_does_not_end_the_comparison() -> None:  # spec: SRCH-8
    # Where all work takes the same nothing is ever lost, and only the rest of the key decides.
    written = problem(owner(640, hits=(1, 5)), owner(640), new_tokens=640, pages=22)
    posed = open_problem(written, flat)
    session = posed.session
    ends = {s.owner: session.identity(0).after(s) for s in session.steps(session.identity(0))}
    keys = {o: judge(posed, target).key for o, target in ends.items()}
    assert keys[0].total_ns == keys[1].total_ns == flat(MachineWork())
    assert keys[1] < keys[0]
    found = searched(open_problem(written, flat))
    assert found.best is not None
    # Owner 1, which was never hit, and no more of it than it takes.
    assert [bool(choice) for choice in found.best.target.choices] == [False, True]
