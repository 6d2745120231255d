"""What does each running request hold, and what is its next forward?

Owns the Device pages and state slots that a policy divides, the growth promised to running rows,
and the rows themselves: their pages, frontier, state slots and next cut. What every design needs
and none decides by: whom a row starts from, what is kept when it ends and whose places are given
back is the policy's. Keeps no reference counts; who lends a slot keeps it until the row has moved
on. Serves the Main pool and the Device alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.capacity import KvPool, Occupancy
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken, OptionsError
from ninfer_lab.contract.ids import (
    KvPageId,
    LaneId,
    PageId,
    SequenceHandle,
    SequenceId,
    StateImageId,
    StateSlotId,
)
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions, pages_of_tokens
from ninfer_lab.contract.placement import (
    CheckpointPlacement,
    ImageReplicas,
    LedgerSnapshot,
    OwnerPlacement,
    PageReplicas,
    RowTable,
    SequencePlacement,
    SpacePlacement,
)
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import Cut
from ninfer_lab.program.storage.place_pool import PlacePool


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStart:
    """From where a row starts, and what it brings along.

    Attributes:
        pages: The policy's, handed to the row; they hold the tokens `[0, frontier_tokens)`.
        frontier_tokens: Prompt tokens that need no forward.
        slot: Where the state at the frontier lies; `None` for the root.
        is_lent: The slot stays whose it is: the first forward reads it and writes elsewhere. Else
            the row takes it over and writes in place.
        captures_tokens: Frontiers at which the policy wants to be asked, beside those at which the
            prompt is cut anyway.
    """

    pages: tuple[PageId, ...] = ()
    frontier_tokens: int = 0
    slot: StateSlotId | None = None
    is_lent: bool = False
    captures_tokens: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class Row:
    """One running request; mutable, and `RowLedger`'s.

    Attributes:
        pages: In order; `[0, immutable_pages)` are never written again.
        promised_pages: Growth that is its own and not yet mapped.
        frontier_tokens: Tokens the state in `read_slot` has consumed.
        read_slot: `None` before a root's first forward; another than `write_slot` while it is lent.
        output: Accepted tokens.
    """

    handle: SequenceHandle
    request: AdmissionRequest
    pages: list[PageId]
    promised_pages: int
    immutable_pages: int
    frontier_tokens: int
    read_slot: StateSlotId | None
    write_slot: StateSlotId
    captures_tokens: tuple[int, ...]
    output: list[int] = field(default_factory=list)
    cut: Cut | None = None

    @property
    def is_reading_lent(self) -> bool:
        """Whether the state at its frontier lies in somebody else's slot."""
        return self.read_slot is not None and self.read_slot != self.write_slot

    def consumed(self, frontier_tokens: int) -> TokenSpan:
        """The exact tokens `[0, frontier_tokens)`."""
        tokens = self.request.prompt.tokens
        answered = self.output[: max(0, frontier_tokens - len(tokens))]
        return tokens[:frontier_tokens] + TokenSpan(answered)

    def tokens_between(self, start_tokens: int, end_tokens: int) -> TokenSpan:
        """The exact tokens `[start, end)` of prompt and answer, without making the whole."""
        tokens = self.request.prompt.tokens
        said_tokens = len(tokens)
        if end_tokens <= said_tokens:
            return tokens[start_tokens:end_tokens]
        answered = self.output[max(0, start_tokens - said_tokens) : end_tokens - said_tokens]
        return tokens[start_tokens:] + TokenSpan(answered)

    def next_end_tokens(self, prefill_chunk_tokens: int) -> int:
        """The frontier after the next forward: one chunk, one token, or up to a cut."""
        start_tokens, prompt = self.frontier_tokens, self.request.prompt
        if start_tokens >= len(prompt.tokens):
            return start_tokens + 1
        stops = (*prompt.rewrite_execution_frontiers, *self.captures_tokens)
        ahead = (stop for stop in stops if stop > start_tokens)
        return min(start_tokens + prefill_chunk_tokens, len(prompt.tokens), *ahead)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRow:
    """What an ended row hands back; all of it is the policy's to keep or to give back.

    Attributes:
        slot: Of the state at the frontier; `None` if nothing was consumed, or if that state lies in
            a slot that had only been lent.
    """

    request: AdmissionRequest
    pages: tuple[PageId, ...]
    frontier_tokens: int
    consumed: TokenSpan
    slot: StateSlotId | None


class RowLedger:
    """Pages, slots and rows of one design.

    Args:
        options: Capacities.
        machine: On which rows are bound.
        granule_pages: An admission promises whole multiples of it.

    Raises:
        OptionsError: A backend's pool or leased growth, which no policy serves.

    Attributes:
        pages: Of the Main pool.
        slots: Of whole StateImages.
    """

    def __init__(
        self, options: ResolvedOptions, machine: MachineApi, *, granule_pages: int = 1
    ) -> None:
        if options.backend is not None:
            raise OptionsError(
                "options.backend", found=options.backend, legal="None: policies know the Main pool"
            )
        if options.lease_window_tokens is not None:
            raise OptionsError(
                "options.kv_lease_growth",
                found=True,
                legal="False: policies promise the whole output at admission",
            )
        self.options = options
        self.pages = PlacePool("device KV pages", options.capacity.device_kv_pages, PageId)
        self.slots = PlacePool(
            "device state slots", options.capacity.device_state_slots, StateSlotId
        )
        self._machine = machine
        self._granule_pages = granule_pages
        self._rows: dict[SequenceId, Row] = {}
        self._ids = count(1)

    # ── what there is room for ──────────────────────────────────────────────────────────────────

    @property
    def rows(self) -> tuple[Row, ...]:
        """Those that run, in the order of their admission."""
        return tuple(self._rows.values())

    @property
    def unpromised_pages(self) -> int:
        """Free pages that nobody has been promised."""
        return self.pages.free_count - sum(row.promised_pages for row in self._rows.values())

    def entitled_pages(self, request: AdmissionRequest) -> int:
        """Pages that an admission guarantees: prompt and longest output (ACT-1)."""
        pages = pages_of_tokens(len(request.prompt.tokens) + request.max_output_tokens)
        return -(-pages // self._granule_pages) * self._granule_pages

    # ── a row's life ────────────────────────────────────────────────────────────────────────────

    def start(self, request: AdmissionRequest, lane: LaneId, start: RowStart) -> Row:
        """Binds a row; its growth is promised, and a slot taken if it needs one.

        Raises:
            InvariantBroken: There is no room; who admits proves room first.
        """
        promised_pages = self.entitled_pages(request) - len(start.pages)
        if not 0 <= promised_pages <= self.unpromised_pages:
            raise InvariantBroken(
                "ACC-4 occupancy",
                f"{promised_pages} pages wanted beside {len(start.pages)},"
                f" {self.unpromised_pages} unpromised",
            )
        if start.slot is None or start.is_lent:
            (write_slot,) = self.slots.take(1)
        else:
            write_slot = start.slot
        handle = SequenceHandle(id=SequenceId(next(self._ids)), lane=lane)
        row = self._rows[handle.id] = Row(
            handle=handle,
            request=request,
            pages=list(start.pages),
            promised_pages=promised_pages,
            immutable_pages=start.frontier_tokens // PAGE_TOKENS,
            frontier_tokens=start.frontier_tokens,
            read_slot=start.slot,
            write_slot=write_slot,
            captures_tokens=start.captures_tokens,
        )
        self._machine.bind(lane, KvPool.MAIN, row.pages)
        return row

    def row(self, handle: SequenceHandle) -> Row:
        """The running row of a handle.

        Raises:
            InvariantBroken: It is not active.
        """
        row = self._rows.get(handle.id)
        if row is None:
            raise InvariantBroken("ACT-5 handles", f"{handle} is not active")
        return row

    def next_cut(self, handle: SequenceHandle) -> Cut:
        """Gives out the row's next forward, its pages mapped out of the promise (ACT-2)."""
        row = self.row(handle)
        assert row.cut is None, "the cut given out before has not been committed"
        end_tokens = row.next_end_tokens(self.options.prefill_chunk_tokens)
        missing_pages = pages_of_tokens(end_tokens) - len(row.pages)
        if missing_pages > 0:
            assert missing_pages <= row.promised_pages, "an admission promises every page"
            places = self.pages.take(missing_pages)
            row.promised_pages -= missing_pages
            row.pages.extend(places)
            self._machine.extend(row.handle.lane, KvPool.MAIN, places)
        row.cut = Cut(row.frontier_tokens, end_tokens, row.read_slot, row.write_slot)
        return row.cut

    def commit(self, handle: SequenceHandle) -> Row:
        """The cut given out last has run: the state is in the row's own slot."""
        row = self.row(handle)
        assert row.cut is not None, "no cut was given out"
        row.frontier_tokens, row.cut = row.cut.end_tokens, None
        row.read_slot = row.write_slot
        return row

    def freeze(self, row: Row) -> StateSlotId:
        """The row's state stays where it is, the policy's from now on; the next forward reads it
        there and writes to a fresh slot, so nothing is copied. The caller has proven that one is
        free.
        """
        assert row.read_slot == row.write_slot, "only a row's own state can be frozen"
        frozen = row.write_slot
        (row.write_slot,) = self.slots.take(1)
        row.immutable_pages = max(row.immutable_pages, row.frontier_tokens // PAGE_TOKENS)
        return frozen

    def end(self, handle: SequenceHandle) -> EndedRow:
        """Unbinds the row; what is left of its promise is nobody's again (ACT-5)."""
        row = self.row(handle)
        del self._rows[handle.id]
        self._machine.unbind(handle.lane)
        slot = None if row.read_slot is None or row.is_reading_lent else row.read_slot
        if slot is None:
            self.slots.give_back((row.write_slot,))
        return EndedRow(
            request=row.request,
            pages=tuple(row.pages),
            frontier_tokens=row.frontier_tokens,
            consumed=row.consumed(row.frontier_tokens),
            slot=slot,
        )

    # ── pictures ────────────────────────────────────────────────────────────────────────────────

    def occupancy(self) -> Occupancy:
        """Used_r now (ACC-1)."""
        promised_pages = self.pages.free_count - self.unpromised_pages
        counts = (self.slots.taken_count, 0), (0, 0), (self.pages.taken_count, promised_pages)
        return Occupancy.of(self.options.capacity, (*counts, (0, 0), (0, 0)))

    def snapshot(
        self,
        resource_revision: int,
        owners: Iterable[OwnerPlacement],
        captured: Mapping[SequenceId, tuple[CheckpointPlacement, ...]],
        *,
        bare_pages: Iterable[PageId] = (),
        bare_slots: Iterable[StateSlotId] = (),
    ) -> LedgerSnapshot:
        """Everything held. A place is its content's name here: nothing has two replicas.

        Args:
            resource_revision: The policy's.
            owners: What it keeps and nobody runs on.
            captured: Checkpoints that running rows carry along.
            bare_pages: Kept, and under no checkpoint: nobody can go on from them as they are.
            bare_slots: States that are kept likewise, some page below them being gone.
        """
        inactive = tuple(sorted(owners, key=lambda each: each.owner))
        active = tuple(_placed(row, captured.get(row.handle.id, ())) for row in self.rows)
        kept = [c for owner in inactive for c in owner.checkpoints]
        kept += [c for row in active for c in row.checkpoints]
        images = {c.image for c in kept}.union(map(StateImageId, bare_slots))
        pages = {page for c in kept for page in c.pages}.union(map(KvPageId, bare_pages))
        for each in active:
            pages.update(each.pages)
            images.update(i for i in (each.read_image, each.write_image) if i is not None)
        tables = (
            (LaneId(lane), self._machine.row_table(LaneId(lane), KvPool.MAIN))
            for lane in range(self.options.max_concurrency)
        )
        return LedgerSnapshot(
            resource_revision=resource_revision,
            occupancy=self.occupancy(),
            owners=inactive,
            sequences=active,
            images=tuple(ImageReplicas(i, StateSlotId(i), None) for i in sorted(images)),
            pages=tuple(PageReplicas(p, PageId(p), None) for p in sorted(pages)),
            backend_pages=(),
            row_tables=tuple(RowTable(lane, KvPool.MAIN, t) for lane, t in tables if t is not None),
        )


def checkpoint_placement(
    summary: CheckpointSummary, slot: StateSlotId, pages: Iterable[PageId]
) -> CheckpointPlacement:
    """A kept state and as many of the pages as its frontier needs, as a picture shows it."""
    covering = tuple(pages)[: pages_of_tokens(summary.frontier_tokens)]
    return CheckpointPlacement(
        summary=summary, image=StateImageId(slot), pages=tuple(map(KvPageId, covering))
    )


def _placed(row: Row, captured: tuple[CheckpointPlacement, ...]) -> SequencePlacement:
    own = {checkpoint.image for checkpoint in captured}
    read = None if row.read_slot is None else StateImageId(row.read_slot)
    space = SpacePlacement(
        pool=KvPool.MAIN,
        pages=tuple(KvPageId(page) for page in row.pages),
        immutable_pages=row.immutable_pages,
        reserved_pages=row.promised_pages,
        entitled_pages=len(row.pages) + row.promised_pages,
    )
    return SequencePlacement(
        sequence=row.handle.id,
        lane=row.handle.lane,
        history_tokens=len(row.request.prompt.tokens) + len(row.output),
        frontier_tokens=row.frontier_tokens,
        spaces=(space,),
        read_image=read,
        write_image=StateImageId(row.write_slot),
        borrowed_read=row.is_reading_lent and read not in own,
        checkpoints=captured,
    )
