"""Law: of a consumed owner everything below the source goes on, a long anchor goes on itself, and
what lies above ends; of a retained one nothing changes.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.candidate import SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.program.storage.source_lineage import SourceLineage, source_lineage
from program.scenes import ledger_of
from simulation.program_world import (
    CONSUME,
    RETAIN,
    ProgramWorld,
    Start,
    closure_at,
    planned,
)


def read_lineage(
    ordinal: int, disposition: SourceDisposition
) -> tuple[SourceLineage, ProgramWorld]:
    """The lineage of one of three checkpoints: an anchor at 40, a closure at 70, an endpoint."""
    world = ProgramWorld(extra_slots=3, pages=6)
    anchor = planned(CheckpointKind.LONG_ANCHOR, 40)
    owner = world.published(range(100), captures=(anchor, closure_at(70)))
    start = Start(
        checkpoint=world.checkpoints(owner)[ordinal].ref,
        disposition=disposition,
    )
    candidate = world.candidate(world.request(range(120)), start)
    return source_lineage(ledger_of(world).continuations, candidate), world


def frontiers(lineage: SourceLineage) -> list[int]:
    return [checkpoint.summary.frontier_tokens for checkpoint in lineage.kept]


@pytest.mark.parametrize(
    ("ordinal", "kept", "tail_end_count", "ended_count"),
    [
        (0, [40], 2, 2),  # the anchor is the source and goes on all the same
        (1, [40], 1, 2),
        (2, [40, 70], 0, 1),
    ],
)
def test_what_goes_on_of_a_consumed_owner(  # spec: OWN-4
    ordinal: int, kept: list[int], tail_end_count: int, ended_count: int
) -> None:
    lineage, _ = read_lineage(ordinal, CONSUME)
    assert lineage.consumed is lineage.owner is not None
    assert frontiers(lineage) == kept
    assert (len(lineage.tail_end), len(lineage.ended)) == (tail_end_count, ended_count)
    assert lineage.source is not None
    assert lineage.source.summary.ref not in lineage.tail_end
    assert lineage.tail_end <= lineage.ended


@pytest.mark.parametrize("ordinal", range(3))
def test_a_retained_owner_stays_as_it_is(ordinal: int) -> None:
    lineage, _ = read_lineage(ordinal, RETAIN)
    assert lineage.owner is not None
    assert (lineage.consumed, lineage.kept) == (None, ())
    assert not lineage.tail_end
    assert not lineage.ended


def test_root_has_none() -> None:
    world = ProgramWorld()
    candidate = world.candidate(world.request(range(9)), Start())
    lineage = source_lineage(ledger_of(world).continuations, candidate)
    assert lineage == SourceLineage()
    assert not lineage.tail_end
    assert not lineage.ended


def test_a_source_whose_owner_has_changed_is_none_any_more() -> None:  # spec: REV-4
    lineage, world = read_lineage(2, RETAIN)
    assert lineage.owner is not None
    start = Start(checkpoint=world.deepest(lineage.owner.ref))
    candidate = world.candidate(world.request(range(120)), start)
    world.degrade(world.program.ladder(lineage.owner.ref)[0])
    with pytest.raises(InvariantBroken, match="not inactive at this generation"):
        source_lineage(ledger_of(world).continuations, candidate)
