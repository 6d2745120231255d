"""What is the same in every design that keeps blocks and states in one tree?

Owns how a request is looked up, bound to what it shares, copied a tail where it will write behind
it, and entered into the tree block by block as it runs. A design says at which frontiers states are
kept and who goes when room is short; that it cannot give up what a row reads is seen to here.
Shared blocks are counted by their readers and never written: a row's first page behind them is its
own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from ninfer_lab.contract.cache_controller import (
    Admission,
    ControllerSnapshot,
    PermanentlyInfeasible,
)
from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath, SourceDisposition
from ninfer_lab.contract.checkpoint import CheckpointKind, CheckpointSummary
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    OwnerId,
    OwnerRef,
    PageId,
    SequenceHandle,
    SequenceId,
    StateSlotId,
)
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import (
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
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import PageCopy
from ninfer_lab.policies.prefix_tree.blocks import Block, KeptState, PrefixTree
from ninfer_lab.policies.prefix_tree.pool import Room, UnifiedPool
from ninfer_lab.policies.prefix_tree.running import Entry, Found, Running
from ninfer_lab.policies.prefix_tree.tree_choices import TreeChoices, Victim
from ninfer_lab.policies.prefix_tree.tree_picture import tree_picture
from ninfer_lab.policies.prefix_tree.tree_room import TreeRoom
from ninfer_lab.policies.row_ledger import EndedRow, Row, RowStart
from ninfer_lab.policies.synchronous_design import SynchronousDesign


class TreeDesign(TreeChoices, SynchronousDesign):
    """To derive a design from.

    Args:
        options: Capacities.
        machine: On which rows are bound.
        block_pages: Pages of one block.
        pool: One budget for pages and states; by default each has its own.

    Attributes:
        tree: Blocks and states.
        room: What is free, and what could be.
    """

    def __init__(
        self,
        options: ResolvedOptions,
        machine: MachineApi,
        *,
        block_pages: int = 1,
        pool: UnifiedPool | None = None,
    ) -> None:
        super().__init__(options, machine, granule_pages=block_pages)
        self.tree = PrefixTree(block_pages, keeps_copies=self.keeps_copies)
        self.room = TreeRoom(self.ledger, self.tree, block_pages=block_pages, pool=pool)
        self._machine = machine
        self._running: dict[SequenceId, Running] = {}
        self._ids = count(1)

    # ── admission ───────────────────────────────────────────────────────────────────────────────

    def admit(self, request: AdmissionRequest) -> Admission:
        """From the deepest state that the prompt runs through, if there is room; the state is lent,
        and taken over only where there is no slot beside it.
        """
        alone = Room(pages=self.ledger.entitled_pages(request), slots=1)
        if not self.room.fits(alone, self.room.everything):
            return PermanentlyInfeasible(reason=f"{alone} is more than there is")
        found = self.look(request)
        for source, is_lent in ((found.state, True), (found.state, False)):
            entry = self._entry(found, source, is_lent=is_lent)
            if entry is not None and self.room.fits(entry.room, self.room.within_reach(entry)):
                return self._enter(entry)
        return self.blocked(request)

    def look(self, request: AdmissionRequest) -> Found:
        """What is there of a prompt. Reads only."""
        prompt, tree = request.prompt, self.tree
        root = tree.root(prompt.identity)
        if not self._is_caching(request):
            return Found(request=request, root=root, path=(), state=None)
        path = tree.match(prompt.identity, prompt.tokens)
        state = next(tree.states_on(root, path, prompt.tokens), None)
        return Found(request=request, root=root, path=path, state=state)

    def _is_caching(self, request: AdmissionRequest) -> bool:
        enabled = self.options.context_cache is ContextCache.ENABLED
        return enabled and request.mode is CacheMode.READ_WRITE

    def _entry(self, found: Found, source: KeptState | None, *, is_lent: bool) -> Entry | None:
        wanted_pages = self.ledger.entitled_pages(found.request)
        if source is None:
            room = Room(pages=wanted_pages, slots=1)
            return Entry(found=found, source=None, is_lent=False, room=room)
        wanted_pages -= sum(len(block.pages) for block in source.block.lineage)
        if is_lent:
            room = Room(pages=wanted_pages, slots=1)
            return Entry(found=found, source=source, is_lent=True, room=room)
        if source.readers_count:
            return None
        room = Room(pages=wanted_pages - len(source.tail_pages))
        return Entry(found=found, source=source, is_lent=False, room=room)

    def _enter(self, entry: Entry) -> Admission:
        request, source, found = entry.found.request, entry.source, entry.found
        for block in entry.path:
            self.tree.lock(block)
        if source is not None:
            self.tree.pin(source)
            source.hits_count += 1
            self.used(source)
        gone = self.make_room(entry.room)
        wanted = frozenset(self.wanted_tokens(found) if self._is_caching(request) else ())
        start, cow_pages = self._start_on(entry, tuple(sorted(wanted)))
        row = self.ledger.start(request, request.free_lanes[0], start)
        self._running[row.handle.id] = Running(
            found=found,
            path=list(entry.path),
            lent=source if entry.is_lent else None,
            wanted=wanted,
            is_caching=self._is_caching(request),
        )
        path = ReusePath.ROOT if source is None else ReusePath.SHARED_STABLE_PREFIX
        owner = None if source is None else source.summary.ref.owner
        kept = SourceDisposition.RETAIN if entry.is_lent else SourceDisposition.CONSUME
        looked_at = self.verdict(request, path, start.frontier_tokens, owner, disposition=kept)
        return self.admitted(row, path, (looked_at,), evicted=gone, cow_pages=cow_pages)

    def _start_on(self, entry: Entry, captures_tokens: tuple[int, ...]) -> tuple[RowStart, int]:
        """Shared pages, and a tail of its own."""
        source = entry.source
        if source is None:
            return RowStart(captures_tokens=captures_tokens), 0
        tail_pages, cow_pages = source.tail_pages, 0
        if entry.is_lent and tail_pages:
            tail_pages = self._copied(tail_pages)
            cow_pages = len(tail_pages)
        if not entry.is_lent:
            self.tree.unpin(source)
            self.tree.drop(source)
            self.dropped(source)
        start = RowStart(
            pages=(*(page for block in entry.path for page in block.pages), *tail_pages),
            frontier_tokens=source.frontier_tokens,
            slot=source.slot,
            is_lent=entry.is_lent,
            captures_tokens=captures_tokens,
        )
        return start, cow_pages

    def _copied(self, pages: tuple[PageId, ...]) -> tuple[PageId, ...]:
        copies = self.ledger.pages.take(len(pages))
        pairs = zip(pages, copies, strict=True)
        self._machine.copy_pages([PageCopy(source=a, destination=b) for a, b in pairs])
        return copies

    # ── room ────────────────────────────────────────────────────────────────────────────────────

    def make_room(self, wanted: Room) -> tuple[OwnerId, ...]:
        """Gives up until it fits; the caller has proven that it will.

        Returns:
            The owners of states that could be gone on from and are no more.
        """
        gone: list[OwnerId] = []
        page_victims, state_victims = self.page_victims(), self.state_victims()
        while not self.room.fits(wanted, self.room.free):
            slots_short = wanted.slots > self.ledger.slots.free_count
            victim = next(state_victims) if slots_short else next(page_victims)
            gone += self.give_up(victim)
        return tuple(gone)

    def give_up(self, victim: Victim) -> Iterator[OwnerId]:
        """A block or a state goes; a block takes the states on it along, and where the design wants
        it, the blocks before it behind which no state is left.
        """
        behind = victim.block if isinstance(victim, KeptState) else victim.parent
        if isinstance(victim, Block):
            for state in () if self.keeps_dangling else tuple(victim.states.values()):
                yield from self._drop(state)
            self.ledger.pages.give_back(self.tree.empty(victim))
        else:
            yield from self._drop(victim)
        while self.trims and behind is not None and behind in self.tree.idle_blocks:
            if behind.states or not behind.is_leaf:
                return
            bare, behind = behind, behind.parent
            self.ledger.pages.give_back(self.tree.empty(bare))

    def _drop(self, state: KeptState) -> Iterator[OwnerId]:
        was_complete = state.is_complete
        self.tree.drop(state)
        self.dropped(state)
        self.ledger.slots.give_back((state.slot,))
        self.ledger.pages.give_back(state.tail_pages)
        if was_complete:
            yield state.summary.ref.owner

    # ── forwards ────────────────────────────────────────────────────────────────────────────────

    def on_forward(self, handle: SequenceHandle) -> CaptureResult:
        """The cut has run: what was lent is free, full blocks join the tree, and a state may."""
        row, running = self.ledger.commit(handle), self._running[handle.id]
        self._return_lent(running)
        if not running.is_caching:
            return CaptureResult(CaptureOutcome.NOT_WANTED, row.frontier_tokens)
        self._enter_blocks(row, running)
        if self.is_wanted(row, running):
            return self._capture(row, running)
        return CaptureResult(CaptureOutcome.NOT_WANTED, row.frontier_tokens)

    def _return_lent(self, running: Running) -> None:
        if running.lent is not None:
            self.tree.unpin(running.lent)
            running.lent = None
            self.moved()

    def _enter_blocks(self, row: Row, running: Running) -> None:
        while running.end.end_tokens + self.tree.block_tokens <= row.frontier_tokens:
            start_tokens = running.end.end_tokens
            end_tokens = start_tokens + self.tree.block_tokens
            first, stop = pages_of_tokens(start_tokens), pages_of_tokens(end_tokens)
            tokens = row.tokens_between(start_tokens, end_tokens)
            pages = tuple(row.pages[first:stop])
            running.path.append(self.tree.enter(running.end, tokens, pages))
            self.entered(running.end, running)
            row.immutable_pages = max(row.immutable_pages, stop)

    def _capture(self, row: Row, running: Running) -> CaptureResult:
        """Keeps the state where the row stands; the row goes on in another slot."""
        frontier_tokens = row.frontier_tokens
        block, tail = running.end, row.tokens_between(running.end.end_tokens, frontier_tokens)
        if (there := block.states.get(tail)) is not None:
            self.tree.release_state(there)
            return CaptureResult(CaptureOutcome.NOT_WANTED, frontier_tokens)
        room = Room(pages=pages_of_tokens(len(tail)), slots=1)
        if not self.room.fits(room, self.room.within_reach()) or (
            self.ledger.slots.free_count == 0
            and not self.displaces(frontier_tokens, running, next(self.state_victims()))
        ):
            return CaptureResult(CaptureOutcome.NO_STATE_SLOT, frontier_tokens)
        self.make_room(room)
        first = pages_of_tokens(block.end_tokens)
        tail_pages = self._copied(tuple(row.pages[first : pages_of_tokens(frontier_tokens)]))
        slot = self.ledger.freeze(row)
        consumed = row.consumed(frontier_tokens)
        state = self._keep(block, tail, tail_pages, slot, consumed)
        self.tree.pin(state)
        running.lent = state
        running.kept.append(state)
        self.left(state, running)
        self.moved()
        return CaptureResult(CaptureOutcome.CAPTURED, frontier_tokens, state.summary)

    def _keep(
        self,
        block: Block,
        tail: TokenSpan,
        tail_pages: tuple[PageId, ...],
        slot: StateSlotId,
        consumed: TokenSpan,
    ) -> KeptState:
        owner = OwnerId(next(self._ids))
        summary = CheckpointSummary(
            ref=CheckpointRef(id=CheckpointId(owner), owner=owner),
            kind=CheckpointKind.SHARED_STABLE_PREFIX,
            frontier_tokens=len(consumed),
            prefix_digest=consumed.prefix_digest(len(consumed)),
        )
        state = KeptState(block=block, tail=tail, tail_pages=tail_pages, slot=slot, summary=summary)
        self.tree.keep(state)
        return state

    # ── the end of a request ────────────────────────────────────────────────────────────────────

    def finish(self, handle: SequenceHandle, end: SequenceEnd) -> Settlement:
        """What it computed stays in the tree, its last state only where the design keeps those."""
        ended, running = self.ledger.end(handle), self._running.pop(handle.id)
        self._return_lent(running)
        publishes = running.is_caching and end is SequenceEnd.PUBLISH
        held = {page for block in running.path for page in block.pages}
        held.update(self._keep_endpoint(ended, running, publishes=publishes))
        self.ledger.pages.give_back(page for page in ended.pages if page not in held)
        self.tree.unlock(running.path)
        still = [each for each in running.kept if each.block.states.get(each.tail) is each]
        return self.settled(ended, _published(still))

    def _keep_endpoint(
        self, ended: EndedRow, running: Running, *, publishes: bool
    ) -> tuple[PageId, ...]:
        """Keeps the state at the end, where the design wants that.

        Returns:
            The last pages of the row, where nobody writes any more: they hold the tail.
        """
        block, tail = running.end, ended.consumed[running.end.end_tokens :]
        if (there := block.states.get(tail)) is not None:
            self.tree.release_state(there)
        if ended.slot is None:
            return ()
        if there is not None or not (publishes and self.keeps_endpoints):
            self.ledger.slots.give_back((ended.slot,))
            return ()
        first = pages_of_tokens(block.end_tokens)
        tail_pages = ended.pages[first : pages_of_tokens(ended.frontier_tokens)]
        state = self._keep(block, tail, tail_pages, ended.slot, ended.consumed)
        running.kept.append(state)
        self.left(state, running)
        return tail_pages

    # ── pictures ────────────────────────────────────────────────────────────────────────────────

    def describe(self) -> ControllerSnapshot:
        """Every state with its pages as an owner, every other place bare."""
        return tree_picture(self.ledger, self.revision, self.tree)


def _published(kept: Iterable[KeptState]) -> OwnerState | None:
    """The deepest of what a row has left."""
    deepest = max(kept, key=lambda state: state.frontier_tokens, default=None)
    if deepest is None:
        return None
    owner = OwnerRef(id=deepest.summary.ref.owner, generation=0)
    return OwnerState(ref=owner, checkpoints=(deepest.summary,))
