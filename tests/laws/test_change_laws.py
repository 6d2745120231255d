"""Law: between two pictures the revision tells of every change and of nothing else, what is
published stays as it is, promises are kept, a transition stays within its claims, and sessions only
move forward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from laws.pictures import (
    BRANCH,
    CAPTURED,
    CLOSURE,
    DECODING,
    ENDPOINT,
    FORKED,
    IN_FLIGHT,
    OPTIONS,
    RESERVED,
    SOUND,
    with_image,
    with_ledger,
    with_owner,
    with_page,
    with_sequence,
    with_space,
    with_transition,
    with_use,
)
from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.capacity import Axis, KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import (
    KvPageId,
    LaneId,
    OwnerId,
    SequenceId,
    SessionKey,
    StateImageId,
    TransactionId,
)
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.lab.checkers.authority import RevisionFollowsFacts, SessionsMoveForward
from ninfer_lab.lab.checkers.guarantees import GuaranteesNeverShrink
from ninfer_lab.lab.checkers.publication import PublishedNeverChanges
from ninfer_lab.lab.checkers.transitions import TransitionsTouchOnlyTheirClaims
from ninfer_lab.lab.laws import CHANGE_LAWS, check_laws

REVISION = SOUND.ledger.resource_revision
MAIN, BACKEND = KvPool.MAIN, KvPool.BACKEND

Change = Callable[[], ControllerSnapshot]


def moved(snapshot: ControllerSnapshot, by: int) -> ControllerSnapshot:
    return with_ledger(snapshot, resource_revision=REVISION + by)


def mapped() -> ControllerSnapshot:
    """A promised page became a real one: the same use, split differently."""
    grown = with_space(SOUND, DECODING, pages=(4, 9), reserved_pages=1)
    used = with_use(grown, Axis.DEVICE_KV, allocated_count=1, reserved_count=-1)
    return with_page(used, MAIN, 9, (19, None))


FACTS: list[tuple[str, Change]] = [
    ("an owner is gone", lambda: with_ledger(SOUND, owners=SOUND.ledger.owners[1:])),
    ("an owner lost a checkpoint", lambda: with_owner(SOUND, 0, checkpoints=(CLOSURE,))),
    ("a sequence ended", lambda: with_ledger(SOUND, sequences=SOUND.ledger.sequences[1:])),
    ("a sequence captured", lambda: with_sequence(SOUND, DECODING, checkpoints=(CLOSURE,))),
    ("a Fork has its own state", lambda: with_sequence(SOUND, FORKED, borrowed_read=False)),
    ("an image was given a Host replica", lambda: with_image(SOUND, 2, 1, 0)),
    ("an image lost its Device replica", lambda: with_image(SOUND, 1, None, 1)),
    ("a checkpoint's page was demoted", lambda: with_page(SOUND, MAIN, 3, (None, 12))),
    ("a checkpoint's backend page moved", lambda: with_page(SOUND, BACKEND, 3, (0, None))),
    ("a lease grew", lambda: with_space(SOUND, DECODING, entitled_pages=4)),
    ("a backend lease grew", lambda: with_space(SOUND, DECODING, BACKEND, entitled_pages=4)),
    ("capacity became free", lambda: with_use(SOUND, Axis.DEVICE_KV, reserved_count=-1)),
    ("Host bytes became free", lambda: with_use(SOUND, Axis.HOST_KV, allocated_count=-100)),
]

NO_FACTS: list[tuple[str, Change]] = [
    ("nothing", lambda: SOUND),
    (
        "a frontier moved",
        lambda: with_sequence(SOUND, DECODING, frontier_tokens=53, history_tokens=54),
    ),
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


# ── while a transition is open ──────────────────────────────────────────────────────────────────


def closed(snapshot: ControllerSnapshot) -> ControllerSnapshot:
    return with_ledger(snapshot, transition=None)


def test_stages_publish_no_revision_and_the_end_publishes_one() -> None:  # spec: REV-4
    law = RevisionFollowsFacts()
    assert list(law.violations(SOUND, IN_FLIGHT)) == []
    assert list(law.violations(IN_FLIGHT, RESERVED)) == []
    assert list(law.violations(IN_FLIGHT, moved(RESERVED, 1))) == [
        "transaction 4 is open and published a revision"
    ]
    # Another may have been opened since: then settlements in between published theirs.
    another = with_transition(RESERVED, transaction=TransactionId(5))
    assert list(law.violations(IN_FLIGHT, moved(another, 3))) == []
    demoted = closed(RESERVED)
    assert list(law.violations(SOUND, moved(demoted, 1))) == []
    assert list(law.violations(SOUND, demoted)) == [f"global facts changed at revision {REVISION}"]
    assert list(law.violations(IN_FLIGHT, demoted)) == [
        f"global facts changed at revision {REVISION}"
    ]


def test_an_abort_without_effect_publishes_none() -> None:  # spec: REV-4
    law = RevisionFollowsFacts()
    assert list(law.violations(IN_FLIGHT, SOUND)) == []  # the places it held are free again
    assert list(law.violations(SOUND, SOUND)) == []
    demoted_before = moved(closed(RESERVED), 1)
    assert list(law.violations(RESERVED, demoted_before)) == []


BEYOND_THE_CLAIMS: list[tuple[str, Change]] = [
    (
        "the phase fell",
        lambda: with_transition(RESERVED, phase=TransactionPhase.COPY_PREPARATION),
    ),
    ("the claims changed", lambda: with_transition(RESERVED, claimed=(OwnerId(1),))),
    ("an unclaimed owner lost a checkpoint", lambda: with_owner(RESERVED, 0, checkpoints=())),
    ("an unclaimed owner went", lambda: with_ledger(RESERVED, owners=RESERVED.ledger.owners[1:])),
    ("a sequence ended", lambda: with_ledger(RESERVED, sequences=RESERVED.ledger.sequences[1:])),
    (
        "another admission",
        lambda: with_sequence(RESERVED, DECODING, sequence=SequenceId(12)),
    ),
    ("a capture", lambda: with_sequence(RESERVED, DECODING, checkpoints=(BRANCH,))),
    ("an unpin", lambda: with_sequence(RESERVED, FORKED, borrowed_read=False)),
    (
        "a writer went on in another image",
        lambda: with_sequence(RESERVED, CAPTURED, write_image=StateImageId(9)),
    ),
    ("an early adoption", lambda: replace(RESERVED, catalog=RESERVED.catalog[:1])),
]


@pytest.mark.parametrize(
    "change",
    [pytest.param(change, id=what) for what, change in BEYOND_THE_CLAIMS],
)
def test_a_transition_touches_only_what_it_claimed(change: Change) -> None:  # spec: TXN-4, TXN-7
    law = TransitionsTouchOnlyTheirClaims()
    assert list(law.violations(IN_FLIGHT, change()))
    another = with_transition(change(), transaction=TransactionId(5))
    assert list(law.violations(IN_FLIGHT, another)) == []


def test_beside_an_open_transition_decode_goes_on() -> None:  # spec: TXN-7
    law = TransitionsTouchOnlyTheirClaims()
    gone = with_ledger(RESERVED, owners=RESERVED.ledger.owners[:1])
    assert list(law.violations(IN_FLIGHT, RESERVED)) == []
    assert list(law.violations(IN_FLIGHT, gone)) == []  # a claimed victim was released
    decoded = with_sequence(RESERVED, DECODING, frontier_tokens=60, history_tokens=61)
    assert list(law.violations(RESERVED, decoded)) == []
    assert list(law.violations(SOUND, IN_FLIGHT)) == []
    assert list(law.violations(RESERVED, closed(gone))) == []


# ── promises and what is published ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "changed",
    [
        with_space(SOUND, DECODING, reserved_pages=1, entitled_pages=2),
        with_space(SOUND, DECODING, BACKEND, reserved_pages=1, entitled_pages=2),
        with_sequence(SOUND, DECODING, spaces=SOUND.ledger.sequences[DECODING].spaces[:1]),
        with_sequence(SOUND, DECODING, lane=LaneId(3)),
        with_sequence(SOUND, DECODING, frontier_tokens=50),
    ],
)
def test_a_promise_is_kept_to_the_end(changed: ControllerSnapshot) -> None:  # spec: INV-8, ACT-2
    law = GuaranteesNeverShrink()
    assert len(list(law.violations(SOUND, changed))) == 1
    ended = with_ledger(SOUND, sequences=SOUND.ledger.sequences[1:])
    assert list(law.violations(SOUND, ended)) == []
    assert list(law.violations(SOUND, mapped())) == []


@pytest.mark.parametrize(
    "changed",
    [
        replace(CLOSURE, pages=(KvPageId(0), KvPageId(4))),
        replace(CLOSURE, backend_pages=(KvPageId(0), KvPageId(4))),
        replace(CLOSURE, image=StateImageId(7)),
        replace(CLOSURE, summary=replace(CLOSURE.summary, frontier_tokens=71)),
        replace(CLOSURE, summary=replace(CLOSURE.summary, prefix_digest=b"other")),
    ],
)
def test_a_published_checkpoint_stays_as_it_is(changed: object) -> None:  # spec: OWN-6
    law, after = PublishedNeverChanges(), with_owner(SOUND, 0, checkpoints=(changed, ENDPOINT))
    assert len(list(law.violations(SOUND, after))) == 1
    with pytest.raises(InvariantBroken):
        check_laws(moved(after, 1), OPTIONS, SOUND)


def test_a_checkpoint_may_go_may_pass_to_a_lineage_and_may_lie_elsewhere() -> None:
    law = PublishedNeverChanges()
    gone = with_ledger(SOUND, owners=SOUND.ledger.owners[1:])
    assert list(law.violations(SOUND, gone)) == []
    passed = with_sequence(gone, DECODING, checkpoints=(CLOSURE,))
    assert list(law.violations(SOUND, passed)) == []
    assert list(law.violations(SOUND, closed(RESERVED))) == []


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
    tested = {
        RevisionFollowsFacts,
        PublishedNeverChanges,
        GuaranteesNeverShrink,
        TransitionsTouchOnlyTheirClaims,
        SessionsMoveForward,
    }
    assert {type(law) for law in CHANGE_LAWS} == tested
