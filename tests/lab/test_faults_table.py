"""Law: each of twelve faults of a machine is caught by a check that can be named, a clean run by
none.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.numerics import Numerics
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.lab.faults.fault import Fault
from ninfer_lab.lab.faults.trial import (
    Check,
    FaultTable,
    checks_that_catch,
    fault_table,
    run_trial,
)
from ninfer_lab.lab.faults.world import FaultWorld, random_world
from ninfer_lab.models.qwen3_5.geometries import TINY
from ninfer_lab.models.qwen3_5.weights import random_weights, save_checkpoint

pytestmark = pytest.mark.usefixtures("one_thread")

BITS, DRIFT, LAW, BYTES = (
    Check.LOGIT_BITS,
    Check.LOGIT_DRIFT,
    Check.LEDGER_LAW,
    Check.PUBLISHED_BYTES,
)

CAUGHT_BY = {
    Fault.WRONG_STATE_SLOT: {BITS, DRIFT},
    Fault.STATE_NOT_RESTORED: {BITS, DRIFT},
    Fault.STALE_CONV_HISTORY: {BITS, DRIFT},
    Fault.STALE_RECURRENT_STATE: {BITS, DRIFT},
    Fault.FRONTIER_OFF_BY_ONE: {BITS, DRIFT},
    Fault.WRITE_INTO_FROZEN_STATE: {BITS, DRIFT, BYTES},
    Fault.FOREIGN_PAGE: {BITS, DRIFT, LAW},
    # Attention does not see the order of keys that carry their own positions: only rounding moves.
    Fault.SWAPPED_PAGES: {BITS, LAW},
    Fault.LOST_COPY: {BITS, DRIFT},
    Fault.TORN_COPY: {BITS, DRIFT},
    Fault.SWAPPED_KEYS_AND_VALUES: {BITS, DRIFT, BYTES},
    Fault.STALE_ROW_TABLE: {BITS, DRIFT, LAW},
}
"""Without `Check.ANSWER`: on random weights an answer changes or not by chance."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> FaultWorld:
    folder = tmp_path_factory.mktemp("random_weights")
    save_checkpoint(folder, TINY, random_weights(TINY, seed=1))
    return random_world(folder)


@pytest.fixture(scope="module")
def table(world: FaultWorld) -> FaultTable:
    return fault_table(world)


def test_there_are_twelve_kinds_each_said_in_a_sentence_of_its_own() -> None:
    assert len(Fault) == len(CAUGHT_BY) == 12


def test_every_fault_is_caught_by_the_checks_that_can_see_it(
    table: FaultTable, capsys: pytest.CaptureFixture[str]
) -> None:  # spec: IDN-2, OWN-6
    with capsys.disabled():
        print(f"\n{table}", end="")
    found = {row.fault: set(row.caught_by) - {Check.ANSWER} for row in table.rows}
    assert found == CAUGHT_BY


def test_the_drift_of_a_fault_is_no_rounding(table: FaultTable) -> None:
    assert 0.0 < table.clean_drift < 1e-5
    for row in table.rows:
        if row.fault is not Fault.SWAPPED_PAGES:
            assert row.drift > 1_000 * table.clean_drift, row
    assert table.row(Fault.SWAPPED_PAGES).drift < 10 * table.clean_drift


def test_a_law_that_catches_says_what_the_ledger_has_and_what_the_machine(
    table: FaultTable,
) -> None:
    evidence = table.row(Fault.FOREIGN_PAGE).evidence
    assert evidence is not None
    assert "RowTablesAreCopies: lane 0, main: ledger (" in evidence
    assert "machine (" in evidence


def test_a_write_into_a_frozen_image_is_told_by_the_checkpoint_it_ruined(
    table: FaultTable,
) -> None:  # spec: STATE-2, OWN-6
    row = table.row(Fault.WRITE_INTO_FROZEN_STATE)
    assert row.evidence is not None
    assert "conv, recurrent changed" in row.evidence
    # The request that did it is served right; whoever comes next is not.
    assert row.answers[0] == table.clean_answers[0]
    assert row.answers[1] != table.clean_answers[1]


def test_a_machine_that_could_fail_and_does_not_is_caught_by_nothing(world: FaultWorld) -> None:
    clean = run_trial(world, None, Numerics.CANONICAL)
    assert checks_that_catch(clean, clean, clean, clean) == ()
    assert clean.drift == 0.0, "a canonical restore of the same cuts is the cold run itself"


def test_a_scenario_without_a_chance_for_the_fault_is_refused(world: FaultWorld) -> None:
    short = FaultWorld(
        name="a conversation of one page",
        checkpoint=world.checkpoint,
        frontend=world.frontend,
        other=world.other,
        opening=TokenPrompt(tokens=TokenSpan(range(2, 40))),
        go_on=lambda answered, ordinal: TokenPrompt(
            tokens=TokenSpan(range(2, 40))
            + TokenSpan(answered.output_tokens)
            + TokenSpan((7, 8 + ordinal))
        ),
    )
    with pytest.raises(NinferLabError, match="two full pages and a tail"):
        run_trial(short, Fault.SWAPPED_PAGES, Numerics.CANONICAL)
    with pytest.raises(NinferLabError, match="committed: False"):
        run_trial(short, Fault.STALE_ROW_TABLE, Numerics.CANONICAL)
