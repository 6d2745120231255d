"""Law: between two pictures the revision tells of every change and of nothing else, what is
published stays as it is, and sessions only move forward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from laws.worlds import busy_world, with_ledger, with_owner, with_sequence
from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, OwnerId, PageId, SessionKey, StateSlotId
from ninfer_lab.lab.checkers.authority import RevisionFollowsFacts, SessionsMoveForward
from ninfer_lab.lab.checkers.publication import PublishedNeverChanges
from ninfer_lab.lab.laws import CHANGE_LAWS, check_laws

SOUND = busy_world().snapshot
REVISION = SOUND.ledger.resource_revision
CLOSURE, ENDPOINT = SOUND.ledger.owners[0].checkpoints

Change = Callable[[], ControllerSnapshot]


def moved(snapshot: ControllerSnapshot, by: int) -> ControllerSnapshot:
    return with_ledger(snapshot, resource_revision=REVISION + by)


def more_free() -> ControllerSnapshot:
    occupancy = SOUND.ledger.occupancy
    kv = replace(occupancy.device_kv, reserved_count=occupancy.device_kv.reserved_count - 1)
    return with_ledger(SOUND, occupancy=replace(occupancy, device_kv=kv))


def mapped() -> ControllerSnapshot:
    """A promised page became a real one: the same use, split differently."""
    occupancy = SOUND.ledger.occupancy
    kv = replace(
        occupancy.device_kv,
        allocated_count=occupancy.device_kv.allocated_count + 1,
        reserved_count=occupancy.device_kv.reserved_count - 1,
    )
    grown = with_sequence(SOUND, 0, pages=(PageId(4), PageId(9)), reserved_pages=1)
    references = (*SOUND.ledger.page_references, (PageId(9), 1))
    return with_ledger(
        grown, occupancy=replace(occupancy, device_kv=kv), page_references=references
    )


FACTS: list[tuple[str, Change]] = [
    ("an owner is gone", lambda: with_ledger(SOUND, owners=SOUND.ledger.owners[1:])),
    ("an owner lost a checkpoint", lambda: with_owner(SOUND, 0, checkpoints=(CLOSURE,))),
    ("a sequence ended", lambda: with_ledger(SOUND, sequences=SOUND.ledger.sequences[1:])),
    ("a sequence captured", lambda: with_sequence(SOUND, 0, checkpoints=(CLOSURE,))),
    ("a Fork has its own state", lambda: with_sequence(SOUND, 2, borrowed_read=False)),
    ("a pin ended", lambda: with_ledger(SOUND, state_pins=())),
    ("capacity became free", more_free),
    (
        "a checkpoint's page has one more user",
        lambda: with_ledger(
            SOUND,
            page_references=tuple(
                (page, n + 1 if page == 0 else n) for page, n in SOUND.ledger.page_references
            ),
        ),
    ),
]

NO_FACTS: list[tuple[str, Change]] = [
    ("nothing", lambda: SOUND),
    ("a frontier moved", lambda: with_sequence(SOUND, 0, frontier_tokens=53, history_tokens=54)),
    ("a promised page was mapped", mapped),
]


@pytest.mark.parametrize(("what", "change"), FACTS, ids=[what for what, _ in FACTS])
def test_a_changed_fact_moves_the_revision(what: str, change: Change) -> None:  # spec: REV-2
    law = RevisionFollowsFacts()
    assert list(law.violations(SOUND, moved(change(), 1))) == [], what
    assert list(law.violations(SOUND, change())) == [f"global facts changed at revision {REVISION}"]


@pytest.mark.parametrize(("what", "change"), NO_FACTS, ids=[what for what, _ in NO_FACTS])
def test_nothing_else_moves_it(what: str, change: Change) -> None:  # spec: REV-3
    law = RevisionFollowsFacts()
    assert list(law.violations(SOUND, change())) == [], what
    assert list(law.violations(SOUND, moved(change(), 1))) == [
        f"revision {REVISION + 1} stands for no change"
    ]
    # There and back again: two transitions that nobody looked at in between.
    assert list(law.violations(SOUND, moved(change(), 2))) == []


def test_a_revision_never_falls() -> None:  # spec: REV-1
    assert list(RevisionFollowsFacts().violations(moved(SOUND, 1), SOUND)) == [
        "the revision fell by 1"
    ]


@pytest.mark.parametrize(
    "changed",
    [
        replace(CLOSURE, pages=(PageId(0), PageId(4))),
        replace(CLOSURE, state_slot=StateSlotId(7)),
        replace(CLOSURE, summary=replace(CLOSURE.summary, frontier_tokens=71)),
        replace(CLOSURE, summary=replace(CLOSURE.summary, prefix_digest=b"other")),
    ],
)
def test_a_published_checkpoint_stays_as_it_is(changed: object) -> None:  # spec: OWN-6
    law, after = PublishedNeverChanges(), with_owner(SOUND, 0, checkpoints=(changed, ENDPOINT))
    assert len(list(law.violations(SOUND, after))) == 1
    with pytest.raises(InvariantBroken):
        check_laws(moved(after, 1), SOUND)


def test_a_checkpoint_may_go_and_may_pass_to_a_lineage() -> None:
    law = PublishedNeverChanges()
    gone = with_ledger(SOUND, owners=SOUND.ledger.owners[1:])
    assert list(law.violations(SOUND, gone)) == []
    passed = with_sequence(gone, 0, lane=LaneId(0), checkpoints=(CLOSURE,))
    assert list(law.violations(SOUND, passed)) == []


def entry(owner: int, session: str | None, order: int) -> CatalogEntry:
    return CatalogEntry(
        owner=OwnerId(owner),
        session_key=None if session is None else SessionKey(session),
        publication_order=order,
        checkpoints=(),
    )


def sessions(*entries: CatalogEntry) -> ControllerSnapshot:
    return replace(SOUND, catalog=entries)


@pytest.mark.parametrize(
    ("before", "after", "lawful"),
    [
        ((entry(1, "a", 3),), (entry(1, None, 3), entry(2, "a", 4)), True),
        ((entry(1, "a", 3),), (entry(1, None, 3), entry(2, "a", 2)), False),
        ((entry(1, "a", 3),), (entry(1, None, 3), entry(2, "a", 3)), False),
        ((entry(1, "a", 3),), (entry(1, "a", 5),), True),
        ((entry(1, "a", 3),), (entry(1, "a", 2),), False),
        ((entry(1, "a", 3),), (entry(1, None, 3),), True),
        ((entry(1, "a", 3),), (entry(2, "a", 2),), True),  # the later owner has been evicted
        ((entry(1, None, 3),), (entry(1, None, 2),), False),
    ],
)
def test_a_session_is_rebound_only_to_what_came_later(  # spec: INV-14, SES-1
    before: tuple[CatalogEntry, ...], after: tuple[CatalogEntry, ...], lawful: bool
) -> None:
    found = list(SessionsMoveForward().violations(sessions(*before), sessions(*after)))
    assert (found == []) is lawful


def test_every_change_law_is_tested_here() -> None:
    tested = {RevisionFollowsFacts, PublishedNeverChanges, SessionsMoveForward}
    assert {type(law) for law in CHANGE_LAWS} == tested


def test_a_whole_run_is_lawful_step_by_step() -> None:
    world = busy_world()
    before = world.snapshot
    while not world.engine.is_idle:
        world.engine.step()
        check_laws(world.snapshot, before)
        before = world.snapshot
    assert world.controller.checks_count > 200
