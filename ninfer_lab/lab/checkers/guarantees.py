"""Can every active sequence finish, and does the machine see what the ledger sees?

Owns the laws of active sequences (ACT, INV-8) and of the row tables. Does not know inactive owners.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.options import pages_of_tokens
from ninfer_lab.contract.placement import SequencePlacement
from ninfer_lab.lab.checkers.lineages import name_of


class SequencesHoldTheirFrontier:
    """A sequence maps what it has consumed, and reads its state where it lies or borrows it."""

    rules = "ACT-1 STATE-4"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        for sequence in now.ledger.sequences:
            covered = pages_of_tokens(sequence.frontier_tokens)
            if not covered <= len(sequence.pages) or sequence.immutable_pages > covered:
                yield (
                    f"{name_of(sequence)} consumed {sequence.frontier_tokens} tokens with"
                    f" {len(sequence.pages)} pages, {sequence.immutable_pages} of them frozen"
                )
            if not _reads_lawfully(sequence):
                yield (
                    f"{name_of(sequence)} at {sequence.frontier_tokens} tokens reads slot"
                    f" {sequence.state_read_slot} and writes {sequence.state_write_slot}, borrowed:"
                    f" {sequence.borrowed_read}"
                )


class CompletionIsGuaranteed:
    """What a sequence has mapped and what is reserved for it is exactly what it was promised."""

    rules = "INV-8 ACT-1 ACT-2"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        for sequence in now.ledger.sequences:
            guaranteed = len(sequence.pages) + sequence.reserved_pages
            if guaranteed != sequence.completion_pages or sequence.reserved_pages < 0:
                yield (
                    f"{name_of(sequence)} has {len(sequence.pages)} pages and"
                    f" {sequence.reserved_pages} reserved of {sequence.completion_pages} promised"
                )


class RowTablesAreCopies:
    """The machine's row tables are the ledger's address spaces, lane by lane, and no more."""

    rules = "ROLE-3 KV-1"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        lanes = Counter(sequence.lane for sequence in now.ledger.sequences)
        yield from (f"lane {lane} has {n} sequences" for lane, n in lanes.items() if n > 1)
        spaces = {sequence.lane: sequence.pages for sequence in now.ledger.sequences}
        tables = dict(now.ledger.row_tables)
        for lane in sorted(spaces.keys() | tables.keys()):
            if spaces.get(lane) != tables.get(lane):
                yield f"lane {lane}: ledger {spaces.get(lane)}, machine {tables.get(lane)}"


def _reads_lawfully(sequence: SequencePlacement) -> bool:
    """From nowhere at the root, from its own slot, or borrowed from another."""
    if sequence.state_read_slot is None:
        return sequence.frontier_tokens == 0 and not sequence.borrowed_read
    own_read = sequence.state_read_slot == sequence.state_write_slot
    return own_read is not sequence.borrowed_read
