"""Law: each checker passes a sound engine, and refuses a picture in which its own law is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from laws.worlds import busy_world, with_ledger, with_owner, with_sequence
from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, OwnerId, PageId, SessionKey, StateSlotId
from ninfer_lab.lab.laws import CHANGE_LAWS, LAWS, check_laws

SOUND = busy_world().snapshot
LEDGER = SOUND.ledger
KV = LEDGER.occupancy.device_kv
STATE = LEDGER.occupancy.device_state
CLOSURE, ENDPOINT = LEDGER.owners[0].checkpoints
BRANCH = LEDGER.owners[1].checkpoints[0]
DECODING, CAPTURED, FORKED = range(3)

Break = Callable[[], ControllerSnapshot]


def page(number: int) -> PageId:
    return PageId(number)


def slot(number: int) -> StateSlotId:
    return StateSlotId(number)


def with_use(**counts: object) -> ControllerSnapshot:
    """Another count on the KV axis."""
    return with_ledger(
        SOUND,
        occupancy=replace(LEDGER.occupancy, device_kv=replace(KV, **counts)),  # type: ignore[arg-type]
    )


def with_closure(**changes: object) -> ControllerSnapshot:
    """Another first checkpoint of owner 1, in the catalog too."""
    closure = replace(CLOSURE, **changes)  # type: ignore[arg-type]
    broken = with_owner(SOUND, 0, checkpoints=(closure, ENDPOINT))
    entry = replace(SOUND.catalog[0], checkpoints=(closure.summary, ENDPOINT.summary))
    return replace(broken, catalog=(entry, *SOUND.catalog[1:]))


def without(
    pairs: tuple[tuple[int, int], ...], key: int, count: int
) -> tuple[tuple[int, int], ...]:
    """The same counts but one; zero leaves it out."""
    changed = {**dict(pairs), key: count}
    return tuple((each, n) for each, n in sorted(changed.items()) if n)


BROKEN: list[tuple[str, str, Break]] = [
    (
        "StateReferencesAreAccountedFor",
        "a slot nobody holds keeps its reference",
        lambda: with_ledger(SOUND, state_references=without(LEDGER.state_references, 7, 1)),
    ),
    (
        "StateReferencesAreAccountedFor",
        "a checkpoint's slot has been given back",
        lambda: with_ledger(SOUND, state_references=without(LEDGER.state_references, 2, 0)),
    ),
    (
        "StateReferencesAreAccountedFor",
        "a Fork's source is not pinned",
        lambda: with_ledger(SOUND, state_pins=without(LEDGER.state_pins, 1, 0)),
    ),
    (
        "StateReferencesAreAccountedFor",
        "a pin outlived its Fork",
        lambda: with_ledger(SOUND, state_pins=without(LEDGER.state_pins, 2, 1)),
    ),
    (
        "PageReferencesAreAccountedFor",
        "a shared page is counted once too often",
        lambda: with_ledger(SOUND, page_references=without(LEDGER.page_references, 0, 5)),
    ),
    (
        "PageReferencesAreAccountedFor",
        "a shared page lost a reference",
        lambda: with_ledger(SOUND, page_references=without(LEDGER.page_references, 5, 1)),
    ),
    (
        "PageReferencesAreAccountedFor",
        "a page leaked",
        lambda: with_ledger(SOUND, page_references=without(LEDGER.page_references, 20, 1)),
    ),
    (
        "OccupancyIsCounted",
        "a shared page counts twice",
        lambda: with_use(allocated_count=KV.allocated_count + 1),
    ),
    (
        "OccupancyIsCounted",
        "a promise is not counted",
        lambda: with_use(reserved_count=KV.reserved_count - 1),
    ),
    (
        "OccupancyIsCounted",
        "a pinned slot is not counted",
        lambda: with_ledger(
            SOUND,
            occupancy=replace(
                LEDGER.occupancy,
                device_state=replace(STATE, allocated_count=STATE.allocated_count - 1),
            ),
        ),
    ),
    (
        "OccupancyFits",
        "more is promised than there is",
        lambda: with_use(capacity_count=KV.used_count - 1),
    ),
    (
        "EverythingHasOneWriter",
        "two sequences write one page",
        lambda: with_sequence(SOUND, FORKED, pages=(page(0), page(7))),
    ),
    (
        "EverythingHasOneWriter",
        "a sequence writes its own slot's other reader",
        lambda: with_sequence(SOUND, FORKED, state_write_slot=slot(3)),
    ),
    (
        "EverythingHasOneWriter",
        "one writes what another reads",
        lambda: with_sequence(SOUND, FORKED, state_write_slot=slot(4)),
    ),
    (
        "CheckpointsAreProtected",
        "a writable tail is a checkpoint's",
        lambda: with_sequence(SOUND, FORKED, pages=(page(0), page(2))),
    ),
    (
        "CheckpointsAreProtected",
        "a shared page was not frozen",
        lambda: with_sequence(SOUND, CAPTURED, immutable_pages=0),
    ),
    (
        "CheckpointsAreProtected",
        "a sequence writes a checkpoint's slot",
        lambda: with_sequence(SOUND, FORKED, state_write_slot=slot(1)),
    ),
    ("CheckpointsAreComplete", "a page is missing", lambda: with_closure(pages=(page(0),))),
    (
        "CheckpointsAreComplete",
        "a page too many",
        lambda: with_closure(pages=(page(0), page(1), page(4))),
    ),
    ("CheckpointsAreComplete", "no image", lambda: with_closure(state_slot=slot(7))),
    (
        "CheckpointsAreComplete",
        "a frontier beyond its pages",
        lambda: with_closure(summary=replace(CLOSURE.summary, frontier_tokens=129)),
    ),
    (
        "LineagesNest",
        "checkpoints in the wrong order",
        lambda: with_owner(SOUND, 0, checkpoints=(ENDPOINT, CLOSURE)),
    ),
    (
        "LineagesNest",
        "two checkpoints of one owner share no page",
        lambda: with_closure(pages=(page(5), page(1))),
    ),
    (
        "LineagesNest",
        "a checkpoint of another owner",
        lambda: with_owner(SOUND, 1, checkpoints=(ENDPOINT, BRANCH)),
    ),
    ("LineagesNest", "tokens nobody keeps", lambda: with_owner(SOUND, 1, history_tokens=104)),
    (
        "LineagesNest",
        "a lineage that is no prefix of its sequence",
        lambda: with_sequence(SOUND, CAPTURED, pages=(page(9), page(7))),
    ),
    (
        "SequencesHoldTheirFrontier",
        "consumed tokens without a page",
        lambda: with_sequence(SOUND, DECODING, frontier_tokens=65),
    ),
    (
        "SequencesHoldTheirFrontier",
        "a frozen page behind the frontier",
        lambda: with_sequence(SOUND, DECODING, immutable_pages=2),
    ),
    (
        "SequencesHoldTheirFrontier",
        "a state that came from nowhere",
        lambda: with_sequence(SOUND, DECODING, state_read_slot=None),
    ),
    (
        "SequencesHoldTheirFrontier",
        "a foreign read without a pin",
        lambda: with_sequence(SOUND, FORKED, borrowed_read=False),
    ),
    (
        "SequencesHoldTheirFrontier",
        "a borrowed read of one's own",
        lambda: with_sequence(SOUND, DECODING, borrowed_read=True),
    ),
    (
        "CompletionIsGuaranteed",
        "a promise was lent",
        lambda: with_sequence(SOUND, DECODING, reserved_pages=1),
    ),
    (
        "CompletionIsGuaranteed",
        "a mapped page is still promised",
        lambda: with_sequence(SOUND, DECODING, reserved_pages=3),
    ),
    (
        "RowTablesAreCopies",
        "the machine missed a page",
        lambda: with_ledger(SOUND, row_tables=((LaneId(0), ()), *LEDGER.row_tables[1:])),
    ),
    (
        "RowTablesAreCopies",
        "a lane stayed bound",
        lambda: with_ledger(SOUND, row_tables=(*LEDGER.row_tables, (LaneId(7), (page(9),)))),
    ),
    (
        "RowTablesAreCopies",
        "two sequences in one lane",
        lambda: with_sequence(SOUND, FORKED, lane=LaneId(0)),
    ),
    ("CatalogIsExact", "an owner is missing", lambda: replace(SOUND, catalog=SOUND.catalog[1:])),
    (
        "CatalogIsExact",
        "an owner that is no more",
        lambda: replace(
            SOUND, catalog=(*SOUND.catalog, replace(SOUND.catalog[0], owner=OwnerId(9)))
        ),
    ),
    (
        "CatalogIsExact",
        "as many checkpoints, but others",
        lambda: replace(
            SOUND,
            catalog=(
                replace(SOUND.catalog[0], checkpoints=(CLOSURE.summary, BRANCH.summary)),
                *SOUND.catalog[1:],
            ),
        ),
    ),
    (
        "CatalogIsExact",
        "one session, two owners",
        lambda: replace(
            SOUND,
            catalog=tuple(replace(entry, session_key=SessionKey("a")) for entry in SOUND.catalog),
        ),
    ),
]


def test_a_sound_engine_breaks_no_law() -> None:
    check_laws(SOUND)
    check_laws(SOUND, SOUND)


@pytest.mark.parametrize(
    ("law", "broken"),
    [pytest.param(law, broken, id=f"{law}: {what}") for law, what, broken in BROKEN],
)
def test_a_law_about_a_moment_bites(law: str, broken: Break) -> None:
    # spec: INV-3, INV-6, INV-7, INV-8, ACC-1, ACC-2, ACC-4, OWN-3, OWN-7, ACT-1, ROLE-2, TXN-5
    (checker,) = (each for each in LAWS if type(each).__name__ == law)
    assert list(checker.violations(broken())), "the checker itself sees nothing"
    with pytest.raises(InvariantBroken):
        check_laws(broken())


def test_every_law_about_a_moment_is_shown_to_bite() -> None:
    assert {type(law).__name__ for law in LAWS} == {law for law, _, _ in BROKEN}


def test_a_violation_names_rules_checker_and_numbers() -> None:
    with pytest.raises(InvariantBroken) as caught:
        check_laws(with_sequence(SOUND, DECODING, reserved_pages=1, completion_pages=2))
    assert caught.value.law == "INV-3 ACC-1 OccupancyIsCounted"
    assert "recount gives (allocated, reserved) (9, 4)" in caught.value.detail
    with pytest.raises(InvariantBroken) as caught:
        check_laws(with_sequence(SOUND, DECODING, completion_pages=4))
    assert str(caught.value) == (
        "INV-8 ACT-1 ACT-2 CompletionIsGuaranteed: sequence 9 in lane 0 has 1 pages and 2 reserved"
        " of 4 promised"
    )


def test_every_law_names_the_rules_it_stands_for() -> None:
    rules = [*(law.rules for law in LAWS), *(law.rules for law in CHANGE_LAWS)]
    assert all(rules)
    assert len(rules) == 15
