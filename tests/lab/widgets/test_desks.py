"""Law: a desk does by its buttons what it does by name, shows Program's verdict, and has a static
form.
"""

from __future__ import annotations

import base64

import pytest

from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.result import Aborted, Committed
from ninfer_lab.contract.transaction import TransactionPhase
from ninfer_lab.lab.experiments import split_host, two_aliases
from ninfer_lab.lab.wanted import Fate, Wanted
from ninfer_lab.lab.widgets.ledger_desk import LedgerDesk
from ninfer_lab.lab.widgets.transition_desk import TransitionDesk

NEW, GOES_ON = "a new request", "owner 2 goes on"
REQUESTS = {
    NEW: Wanted(prompt_tokens=100),
    GOES_ON: Wanted(prompt_tokens=300, source=OwnerId(2), consume=True),
}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def test_a_verdict_is_of_all_choices_together() -> None:
    desk = LedgerDesk(two_aliases, REQUESTS)
    assert str(desk) == (
        f"{NEW}; every owner stays as it is\nIt fits, by root; 0 pages copied on the Device."
    )
    desk.choose(NEW, {OwnerId(1): Fate.GOES, OwnerId(2): Fate.TO_HOST})
    assert "owner 1 is evicted; owner 2 goes to the Host" in str(desk)
    assert [ref.id for ref in desk.assessment.target.evicted] == [1]
    desk.run()
    assert desk.bench.owners == (2, 3, 4)
    assert desk.bench.whereabouts(OwnerId(2)) == "Host"
    desk.reset()
    assert desk.bench.owners == (1, 2, 3)


def test_the_owner_that_goes_on_has_no_other_fate() -> None:
    desk = LedgerDesk(two_aliases, REQUESTS)
    desk.choose(GOES_ON, {OwnerId(2): Fate.GOES, OwnerId(1): Fate.GOES})
    assert desk.wanted.fates == ((1, Fate.GOES),)
    desk.choose(NEW, {OwnerId(2): Fate.GOES})
    desk.run()
    desk.choose(NEW)
    assert desk._request.options == (NEW,), "whose source is gone is not offered"


def test_what_does_not_fit_is_told_and_not_done() -> None:
    desk = LedgerDesk(lambda: split_host()[0], {NEW: REQUESTS[NEW]})
    desk.choose(NEW, {OwnerId(5): Fate.TO_HOST})
    before = desk.bench.ledger
    desk.run()
    assert desk.bench.ledger == before
    assert "an extent of 4096 bytes finds no hole" in str(desk)
    assert "Nothing has happened" in desk._verdict.value
    assert "free runs" in desk._verdict.value, "with the explanation"


def test_a_transition_is_stepped_to_its_end() -> None:
    desk = TransitionDesk()
    phases = [desk.phase]
    while desk.result is None:
        desk.go_on()
        phases.append(desk.phase)
    assert phases == [
        TransactionPhase.HOST_RELEASES,
        TransactionPhase.COPIES_IN_FLIGHT,
        TransactionPhase.COPY_PUBLICATION,
        TransactionPhase.COMMITTED,
    ]
    assert isinstance(desk.result, Committed)
    desk.go_on()
    assert desk._go_on.disabled


@pytest.mark.parametrize(
    ("which", "victim"), [("the demotion fails", "Device"), ("the restore fails", "Host")]
)
def test_a_copy_that_fails_ends_it_where_it_is(which: str, victim: str) -> None:
    desk = TransitionDesk()
    desk.fail(which)
    for _ in range(3):
        desk.go_on()
    assert isinstance(desk.result, Aborted)
    assert desk.scene.bench.whereabouts(desk.scene.victim) == victim
    assert "what was published stays" in str(desk)


def test_a_cancellation_is_asked_for_and_taken_at_the_next_boundary() -> None:
    desk = TransitionDesk()
    desk.cancel()
    assert "asked for" in str(desk)
    desk.go_on()
    assert isinstance(desk.result, Aborted)
    assert desk.scene.bench.whereabouts(desk.scene.gone) == "Device", "nothing had happened"


@pytest.mark.parametrize("make", [lambda: LedgerDesk(two_aliases, REQUESTS), TransitionDesk])
def test_a_desk_is_seen_without_a_kernel(make: type[TransitionDesk]) -> None:  # spec: W-5
    desk = make()
    bundle = desk._repr_mimebundle_()
    assert WIDGET_VIEW in bundle
    assert bundle["text/plain"] == str(desk)
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
