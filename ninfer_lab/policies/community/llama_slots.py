"""llama.cpp's server: slots chosen by similarity, context checkpoints, a pool in main memory.

Owns which slot a request gets, from where it goes on, and where checkpoints are taken. Source:
llama.cpp's public server sources and documentation, late 2026, and what a build of that time
(b11549) does. A slot's keys and values are its own. The slot that shares more than a tenth of the
prompt gets it, else the one used longest ago; where less than half of what the slot holds would be
of use, or it was only the oldest, its content is first copied to the pool, and a better one taken
out. A recurrent state cannot be cut back: a prompt that does not go on from the very end needs a
checkpoint, the newest that lies within what is shared, and the deeper ones are erased. Checkpoints
are taken where a batch begins near the prompt's end (4 tokens before it, and a small batch before
that) and where a user's message begins, 32 of them at most, the oldest given up.

Left out: the time of copies to and from main memory (pool and checkpoints lie in pages and state
slots of the engine here, the pool held to its limit in bytes, and what a slot and the pool both
have lies there once); saving to a file; where a user's message begins, every message's does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ninfer_lab.contract.cache_controller import (
    Admission,
    CatalogEntry,
    ControllerSnapshot,
    PermanentlyInfeasible,
)
from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import (
    LaneId,
    OwnerRef,
    PageId,
    SequenceHandle,
    SequenceId,
    StateSlotId,
)
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import (
    PAGE_TOKENS,
    CacheMode,
    ContextCache,
    ResolvedOptions,
    pages_of_tokens,
)
from ninfer_lab.contract.result import (
    CaptureOutcome,
    CaptureResult,
    OwnerState,
    SequenceEnd,
    Settlement,
)
from ninfer_lab.contract.work import PageCopy
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.policies.community.llama_contents import Content, Contents, RamPool, SavedAt
from ninfer_lab.policies.row_ledger import RowStart, checkpoint_placement
from ninfer_lab.policies.synchronous_design import SynchronousDesign

SIMILAR, MOSTLY_KEPT = 0.1, 0.5
LAST_TOKENS = 4
"""Left for a last batch of their own, so that the same prompt again finds a state before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaOptions:
    """Of the server; the defaults are its own.

    Attributes:
        ram_bytes: `cache-ram`.
        checkpoints_count: `ctx-checkpoints`, of one slot.
        min_step_tokens: Between checkpoints that are neither near the end nor the last message's.
        small_batch_tokens: `ubatch-size`.
        clears_at_entry: As no llama.cpp does: a slot's pages are given back before its next request
            is looked at, so that its checkpoints go with them (PEER-3).
    """

    ram_bytes: int = 8 * 2**30
    checkpoints_count: int = 32
    min_step_tokens: int = 8_192
    small_batch_tokens: int = 512
    clears_at_entry: bool = False


@dataclass(slots=True, kw_only=True)
class _Running:
    """A slot at work.

    Attributes:
        checkpoints: Those that its content has so far.
        lent: A state that its first forward reads and that is none of them.
        wanted: Frontiers at which one is taken.
    """

    checkpoints: list[SavedAt]
    lent: StateSlotId | None
    wanted: frozenset[int]
    is_caching: bool


class LlamaSlots(SynchronousDesign):
    """Implements `CacheController`.

    Where there are fewer state slots than the lists of checkpoints could fill, lists are shorter;
    where there are fewer pages than contexts, an idle slot is emptied for a request.
    """

    def __init__(self, options: ResolvedOptions, machine: MachineApi, server: LlamaOptions) -> None:
        super().__init__(options, machine)
        self._server = server
        self._machine = machine
        self._contents = Contents(self.ledger)
        self._pool = RamPool(
            self._contents,
            limit_bytes=server.ram_bytes,
            page_bytes=options.page_bytes.main,
            state_bytes=options.state_image_bytes,
        )
        self._held: dict[LaneId, Content] = {}
        self._used: dict[LaneId, int] = {}
        self._running: dict[SequenceId, _Running] = {}
        self._uses_count = 0
        places = options.capacity.device_state_slots // options.max_concurrency - 3
        self._checkpoints_count = max(0, min(server.checkpoints_count, places))

    # ── admission ───────────────────────────────────────────────────────────────────────────────

    def admit(self, request: AdmissionRequest) -> Admission:
        """The slot, what the pool has for it, and the deepest state within what is shared."""
        wanted_pages, capacity = self.ledger.entitled_pages(request), self.options.capacity
        if wanted_pages > capacity.device_kv_pages:
            return PermanentlyInfeasible(reason=f"{wanted_pages} pages are more than there are")
        promised_pages = sum(len(r.pages) + r.promised_pages for r in self.ledger.rows)
        if promised_pages + wanted_pages > capacity.device_kv_pages:
            return self.blocked(request)
        is_caching = self._is_caching(request)
        lane, updates_pool = self._slot_for(request)
        self._uses_count += 1
        self._used[lane] = self._uses_count
        content = self._held.pop(lane, None)
        if content is not None and self._server.clears_at_entry:
            self._contents.release(content)
            content = None
        if updates_pool and is_caching:
            content = self._swapped(content, request)
        at = source_of(content, request) if content is not None and is_caching else None
        reuse_tokens = 0 if at is None else at.frontier_tokens
        wanted = self._wanted(request, reuse_tokens) if is_caching else ()
        near_tokens = self._near_tokens(len(request.prompt.tokens))
        start, running = self._entered(content, at, frozenset(wanted), near_tokens)
        running.is_caching = is_caching
        needs_slot = start.slot is None or start.is_lent
        self._make_room(wanted_pages - len(start.pages), slots=1 if needs_slot else 0)
        row = self.ledger.start(request, lane, start)
        self._running[row.handle.id] = running
        path = _PATHS[None if at is None else at.summary.kind]
        return self.admitted(row, path)

    def _is_caching(self, request: AdmissionRequest) -> bool:
        enabled = self.options.context_cache is ContextCache.ENABLED
        return enabled and request.mode is CacheMode.READ_WRITE

    def _slot_for(self, request: AdmissionRequest) -> tuple[LaneId, bool]:
        """The most similar slot, else the one used longest ago; whether the pool is asked."""
        prompt, best, best_tokens = request.prompt, None, 0
        for lane in request.free_lanes:
            if (content := self._held.get(lane)) is not None:
                common_tokens = content.common_tokens(prompt.identity, prompt.tokens)
                is_similar = common_tokens > SIMILAR * len(prompt.tokens)
                if is_similar and common_tokens > best_tokens:
                    best, best_tokens = lane, common_tokens
        if best is None:
            return min(request.free_lanes, key=lambda lane: self._used.get(lane, 0)), True
        return best, best_tokens < MOSTLY_KEPT * len(self._held[best].tokens)

    def _swapped(self, content: Content | None, request: AdmissionRequest) -> Content | None:
        """What the slot holds after its content was copied to the pool and a better one found."""
        prompt = request.prompt
        if content is not None:
            self._pool.save(content)
        better = self._pool.better_than(content, prompt.identity, prompt.tokens)
        if better is not None and content is not None:
            self._contents.release(content)
        return content if better is None else better

    def _near_tokens(self, prompt_tokens: int) -> int:
        """From where on a batch begins near the end."""
        return prompt_tokens - LAST_TOKENS - self._server.small_batch_tokens

    def _wanted(self, request: AdmissionRequest, reuse_tokens: int) -> Iterable[int]:
        """Where batches begin near the end, and where messages do."""
        if self._checkpoints_count == 0:
            return ()
        prompt_tokens = len(request.prompt.tokens)
        near_tokens = self._near_tokens(prompt_tokens)
        wanted = {near_tokens, prompt_tokens - LAST_TOKENS}
        batches = range(reuse_tokens, prompt_tokens, self.options.prefill_chunk_tokens)
        wanted.update(at for at in batches[1:] if at > near_tokens)
        *earlier, last = (0, *request.prompt.message_boundaries_tokens[:-1])
        before_tokens = reuse_tokens
        for at in earlier:
            if at - before_tokens > self._server.min_step_tokens:
                wanted.add(at)
                before_tokens = at
        wanted.add(last)
        return sorted(each for each in wanted if each > reuse_tokens)

    def _entered(
        self, content: Content | None, at: SavedAt | None, wanted: frozenset[int], near_tokens: int
    ) -> tuple[RowStart, _Running]:
        """What the row takes over of the content; the rest is given back."""
        captures_tokens = tuple(sorted(wanted))
        if content is None or at is None:
            if content is not None:
                self._contents.release(content)
            running = _Running(checkpoints=[], lent=None, wanted=wanted, is_caching=True)
            return RowStart(captures_tokens=captures_tokens), running
        self._make_room(0, slots=1)
        kept = [each for each in content.checkpoints if each.frontier_tokens <= at.frontier_tokens]
        if at not in kept and at.frontier_tokens >= near_tokens:
            kept = [*kept, at][max(0, len(kept) + 1 - self._checkpoints_count) :]
        gone = [each for each in content.states if each not in kept and each is not at]
        self._contents.release_slots(each.slot for each in gone)
        if self.ledger.slots.free_count == 0:  # then its own is written, and it is no more
            kept = [each for each in kept if each is not at]
        is_lent = at in kept or self._contents.is_shared_slot(at.slot)
        start = RowStart(
            pages=self._own_pages(content, at.frontier_tokens),
            frontier_tokens=at.frontier_tokens,
            slot=at.slot,
            is_lent=is_lent,
            captures_tokens=captures_tokens,
        )
        places = [(each.frontier_tokens, each.slot) for each in kept]
        named = self._contents.named(content.tokens, places, has_end=False)
        lent = at.slot if is_lent and at not in kept else None
        return start, _Running(checkpoints=[*named], lent=lent, wanted=wanted, is_caching=True)

    def _own_pages(self, content: Content, frontier_tokens: int) -> tuple[PageId, ...]:
        """Those up to a frontier; the one that will be written is nobody else's."""
        covered = pages_of_tokens(frontier_tokens)
        pages = content.pages[:covered]
        self._contents.release_pages(content.pages[covered:])
        if frontier_tokens % PAGE_TOKENS and self._contents.is_shared(pages[-1]):
            self._make_room(1, slots=0)
        if frontier_tokens % PAGE_TOKENS and self._contents.is_shared(pages[-1]):
            (own,) = self.ledger.pages.take(1)
            self._machine.copy_pages([PageCopy(source=pages[-1], destination=own)])
            self._contents.release_pages(pages[-1:])
            pages = (*pages[:-1], own)
        return pages

    def _make_room(self, pages: int, slots: int) -> None:
        """The pool gives way, the oldest first, and then idle slots; as far as there are some."""
        while self.ledger.unpromised_pages < pages or self.ledger.slots.free_count < slots:
            if self._pool.drop_oldest():
                continue
            if not self._held:
                return
            oldest = min(self._held, key=lambda lane: self._used[lane])
            self._contents.release(self._held.pop(oldest))

    # ── forwards, and the end ───────────────────────────────────────────────────────────────────

    def on_forward(self, handle: SequenceHandle) -> CaptureResult:
        """The batch has run; a checkpoint is taken where the next one begins."""
        row, running = self.ledger.commit(handle), self._running[handle.id]
        frontier_tokens = row.frontier_tokens
        if running.lent is not None:
            self._contents.release_slots((running.lent,))
            running.lent = None
            self.moved()
        if frontier_tokens not in running.wanted:
            return CaptureResult(CaptureOutcome.NOT_WANTED, frontier_tokens)
        if len(running.checkpoints) == self._checkpoints_count:
            self._contents.release_slots((running.checkpoints.pop(0).slot,))
        self._make_room(0, slots=1)
        if self.ledger.slots.free_count == 0:
            return CaptureResult(CaptureOutcome.NO_STATE_SLOT, frontier_tokens)
        place = (frontier_tokens, self.ledger.freeze(row))
        owner = running.checkpoints[0].summary.ref.owner if running.checkpoints else None
        consumed = row.consumed(frontier_tokens)
        running.checkpoints += self._contents.named(consumed, [place], has_end=False, owner=owner)
        self.moved()
        summary = running.checkpoints[-1].summary
        return CaptureResult(CaptureOutcome.CAPTURED, frontier_tokens, summary)

    def finish(self, handle: SequenceHandle, end: SequenceEnd) -> Settlement:
        """The slot holds what was computed, as far as there is a state to go on from."""
        ended, running = self.ledger.end(handle), self._running.pop(handle.id)
        if running.lent is not None:
            self._contents.release_slots((running.lent,))
        keeps = running.is_caching and end is not SequenceEnd.DISCARD
        places = [(each.frontier_tokens, each.slot) for each in running.checkpoints]
        has_end = keeps and end is SequenceEnd.PUBLISH and ended.slot is not None
        if ended.slot is not None:
            if has_end:
                places.append((ended.frontier_tokens, ended.slot))
            else:
                self._contents.release_slots((ended.slot,))
        if not keeps or not places:
            self._contents.release_slots(slot for _, slot in places)
            self._contents.release_pages(ended.pages)
            return self.settled(ended, None)
        identity = ended.request.prompt.identity
        content = self._contents.made(
            identity, ended.consumed, ended.pages, places, has_end=has_end
        )
        self._contents.release_pages(ended.pages[len(content.pages) :])
        self._held[handle.lane] = content
        checkpoints = tuple(each.summary for each in content.states)
        owner = OwnerRef(id=content.owner, generation=0)
        return self.settled(ended, OwnerState(ref=owner, checkpoints=checkpoints))

    # ── pictures ────────────────────────────────────────────────────────────────────────────────

    def describe(self) -> ControllerSnapshot:
        """Every content as an owner, in a slot or in the pool, and what running slots carry."""
        contents = sorted(
            (*self._held.values(), *self._pool.entries), key=lambda content: content.owner
        )
        captured = {
            row.handle.id: tuple(
                checkpoint_placement(at.summary, at.slot, row.pages)
                for at in self._running[row.handle.id].checkpoints
            )
            for row in self.ledger.rows
        }
        owners = tuple(content.placement for content in contents)
        catalog = tuple(
            CatalogEntry(
                owner=content.owner,
                session_key=None,
                publication_order=content.owner,
                checkpoints=tuple(at.summary for at in content.states),
            )
            for content in contents
        )
        snapshot = self.ledger.snapshot(self.revision, owners, captured)
        return ControllerSnapshot(ledger=snapshot, catalog=catalog)


def source_of(content: Content, request: AdmissionRequest) -> SavedAt | None:
    """The deepest state that a prompt can go on from: the end, if the prompt goes on there, else
    the newest checkpoint within what is shared, one token left to compute.
    """
    tokens = request.prompt.tokens
    common_tokens = content.common_tokens(request.prompt.identity, tokens)
    limit_tokens = min(common_tokens, len(tokens) - 1)
    if content.has_end and common_tokens == len(content.tokens) < len(tokens):
        return content.states[-1]
    within = [at for at in content.checkpoints if at.frontier_tokens <= limit_tokens]
    return within[-1] if within else None


_PATHS = {
    None: ReusePath.ROOT,
    CheckpointKind.SESSION_ENDPOINT: ReusePath.PRIVATE_ENDPOINT,
    CheckpointKind.TURN_CLOSURE: ReusePath.PRIVATE_TURN_CLOSURE,
}

LlamaFactory = Callable[[ResolvedOptions, MachineApi, MachineCostModel], LlamaSlots]


def llama_slots(server: LlamaOptions | None = None) -> LlamaFactory:
    """A factory, as assembly takes it.

    Args:
        server: The server's own defaults by default.
    """
    chosen = LlamaOptions() if server is None else server

    def design(
        options: ResolvedOptions, machine: MachineApi, belief: MachineCostModel
    ) -> LlamaSlots:
        return LlamaSlots(options, machine, chosen)

    return design
