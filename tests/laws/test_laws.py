"""Law: each checker passes a sound picture, and refuses one in which its own law is broken."""

from __future__ import annotations

import pytest

from laws.broken_contents import BROKEN_CONTENTS, Break
from laws.broken_holders import BROKEN_HOLDERS
from laws.pictures import (
    DECODING,
    IN_FLIGHT,
    OPTIONS,
    RESERVED,
    SOUND,
    with_ledger,
    with_page,
    with_space,
)
from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.lab.laws import CHANGE_LAWS, LAWS, check_laws

BROKEN = (*BROKEN_CONTENTS, *BROKEN_HOLDERS)


@pytest.mark.parametrize("sound", [SOUND, IN_FLIGHT, RESERVED])
def test_a_sound_picture_breaks_no_law(sound: ControllerSnapshot) -> None:
    check_laws(sound, OPTIONS)
    check_laws(sound, OPTIONS, sound)


def test_a_victim_that_is_gone_already_may_still_be_catalogued() -> None:
    gone = with_ledger(IN_FLIGHT, owners=IN_FLIGHT.ledger.owners[:1])
    (catalog,) = (law for law in LAWS if type(law).__name__ == "CatalogIsExact")
    assert list(catalog.violations(gone, OPTIONS)) == []


@pytest.mark.parametrize(
    ("law", "broken"),
    [pytest.param(law, broken, id=f"{law}: {what}") for law, what, broken in BROKEN],
)
def test_a_law_about_a_moment_bites(law: str, broken: Break) -> None:
    # spec: INV-2, INV-3, INV-6, INV-7, INV-8, ACC-1, ACC-2, ACC-3, ACC-4, ACT-1, ACT-3, CAP-1,
    # spec: CAP-2, KV-1, OWN-3, OWN-7, ROLE-2, TXN-3, TXN-5
    (checker,) = (each for each in LAWS if type(each).__name__ == law)
    assert list(checker.violations(broken(), OPTIONS)), "the checker itself sees nothing"
    with pytest.raises(InvariantBroken):
        check_laws(broken(), OPTIONS)


def test_every_law_about_a_moment_is_shown_to_bite() -> None:
    assert {type(law).__name__ for law in LAWS} == {law for law, _, _ in BROKEN}


def test_a_violation_names_rules_checker_and_numbers() -> None:
    with pytest.raises(InvariantBroken) as caught:
        check_laws(with_space(SOUND, DECODING, reserved_pages=1, entitled_pages=2), OPTIONS)
    assert caught.value.law == "INV-3 ACC-1 ACT-3 OccupancyIsCounted"
    assert "recount gives (allocated, reserved) (8, 4)" in caught.value.detail
    with pytest.raises(InvariantBroken) as caught:
        check_laws(with_space(SOUND, DECODING, entitled_pages=4), OPTIONS)
    assert str(caught.value) == (
        "INV-8 ACT-1 ACT-2 CompletionIsGuaranteed: sequence 9 in lane 0 has 1 main pages and 2"
        " reserved of 4 promised"
    )
    with pytest.raises(InvariantBroken) as caught:
        check_laws(with_page(SOUND, KvPool.MAIN, 0, (10, 5)), OPTIONS)
    assert caught.value.detail == "main page 0 at granules [5, 9) reaches into backend page 1"


def test_every_law_names_the_rules_it_stands_for() -> None:
    rules = [*(law.rules for law in LAWS), *(law.rules for law in CHANGE_LAWS)]
    assert all(rules)
    assert len(rules) == len(LAWS) + len(CHANGE_LAWS) == 21
