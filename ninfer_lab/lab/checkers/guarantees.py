"""Can every active sequence run and finish, and does the machine see what the ledger sees?

Owns the laws of active sequences (ACT, INV-8) and of the row tables. Does not know inactive owners.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import LaneId, PageId
from ninfer_lab.contract.options import ResolvedOptions, pages_of_tokens
from ninfer_lab.contract.placement import LedgerSnapshot, SequencePlacement
from ninfer_lab.lab.checkers.lineages import images_of, name_of, spaces_of


class SequencesHoldTheirFrontier:
    """A sequence maps in every pool what it has consumed, and reads its state where it lies or
    borrows it.
    """

    rules = "ACT-1 STATE-4 KV-1"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        for sequence in now.ledger.sequences:
            pools = tuple(space.pool for space in sequence.spaces)
            if pools != options.capacity.pools:
                yield f"{name_of(sequence)} has spaces in {pools} of {options.capacity.pools}"
                continue
            for space in sequence.spaces:
                coverage_tokens = options.coverage_tokens(space.pool, sequence.frontier_tokens)
                covered = pages_of_tokens(coverage_tokens)
                if not covered <= len(space.pages) or space.immutable_pages > covered:
                    yield (
                        f"{name_of(sequence)} consumed {coverage_tokens} {space.pool.value} tokens"
                        f" with {len(space.pages)} pages, {space.immutable_pages} of them frozen"
                    )
            if not _reads_lawfully(sequence):
                yield (
                    f"{name_of(sequence)} at {sequence.frontier_tokens} tokens reads image"
                    f" {sequence.read_image} and writes {sequence.write_image}, borrowed:"
                    f" {sequence.borrowed_read}"
                )


class SequencesRunOnDevice:
    """Every page an active sequence maps and every image it reads or writes is on the Device."""

    rules = "OWN-7 ACT-1"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        slots = {each.image: each.device_slot for each in now.ledger.images}
        for sequence in now.ledger.sequences:
            for image in sorted(images_of(sequence)):
                if slots.get(image) is None:
                    yield f"image {image} of {name_of(sequence)} is not on the Device"
        for pool in KvPool:
            places = {each.page: each.device_page for each in now.ledger.pages_of(pool)}
            for sequence, space in spaces_of(now.ledger, pool):
                away = [page for page in space.pages if places.get(page) is None]
                if away:
                    yield f"{pool.value} pages {away} of {name_of(sequence)} are not on the Device"


class CompletionIsGuaranteed:
    """What a sequence has mapped and what is reserved for it is exactly what it was promised."""

    rules = "INV-8 ACT-1 ACT-2"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        for sequence in now.ledger.sequences:
            for space in sequence.spaces:
                guaranteed = len(space.pages) + space.reserved_pages
                if guaranteed != space.entitled_pages or space.reserved_pages < 0:
                    yield (
                        f"{name_of(sequence)} has {len(space.pages)} {space.pool.value} pages and"
                        f" {space.reserved_pages} reserved of {space.entitled_pages} promised"
                    )


class GuaranteesNeverShrink:
    """While a sequence is active it keeps its lane, its frontier and what was promised to it."""

    rules = "INV-8 ACT-2"

    def violations(self, before: ControllerSnapshot, after: ControllerSnapshot) -> Iterator[str]:
        still = {sequence.sequence: sequence for sequence in after.ledger.sequences}
        for was in before.ledger.sequences:
            now = still.get(was.sequence, was)
            if now.lane != was.lane:
                yield f"{name_of(was)} went to lane {now.lane}"
            if now.frontier_tokens < was.frontier_tokens:
                yield f"{name_of(was)} went back from {was.frontier_tokens} tokens"
            promised = {space.pool: space.entitled_pages for space in now.spaces}
            for space in was.spaces:
                if promised.get(space.pool, 0) < space.entitled_pages:
                    yield (
                        f"{name_of(was)} was promised {space.entitled_pages} {space.pool.value}"
                        f" pages, has {promised.get(space.pool, 0)}"
                    )


class RowTablesAreCopies:
    """The machine's row tables are the ledger's address spaces, through their Device places."""

    rules = "ROLE-3 KV-1"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        lanes = Counter(sequence.lane for sequence in now.ledger.sequences)
        yield from (f"lane {lane} has {n} sequences" for lane, n in lanes.items() if n > 1)
        for pool in KvPool:
            spaces = _mapped_places(now.ledger, pool)
            tables = {t.lane: t.pages for t in now.ledger.row_tables if t.pool is pool}
            for lane in sorted(spaces.keys() | tables.keys()):
                if spaces.get(lane) != tables.get(lane):
                    yield (
                        f"lane {lane}, {pool.value}: ledger {spaces.get(lane)},"
                        f" machine {tables.get(lane)}"
                    )


def _mapped_places(ledger: LedgerSnapshot, pool: KvPool) -> dict[LaneId, tuple[PageId | None, ...]]:
    places = {each.page: each.device_page for each in ledger.pages_of(pool)}
    return {
        sequence.lane: tuple(places.get(page) for page in space.pages)
        for sequence, space in spaces_of(ledger, pool)
    }


def _reads_lawfully(sequence: SequencePlacement) -> bool:
    """From nowhere at the root, in place, from its own lineage's checkpoint, or borrowed."""
    if sequence.read_image is None:
        return sequence.frontier_tokens == 0 and not sequence.borrowed_read
    if sequence.read_image == sequence.write_image:
        return not sequence.borrowed_read
    own = {checkpoint.image for checkpoint in sequence.checkpoints}
    return sequence.borrowed_read or sequence.read_image in own
