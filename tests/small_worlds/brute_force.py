"""Does one target fit, and what does every stage use? Played on plain sets, place by place.

An independent reading of the rules (STG, REC, STATE, KV, CAP-2), which imports the contract alone
and nothing that Program plans with. Every holder wants a set of replicas; a replica stays as long
as anybody wants it; the Host arena is a list of granules. Where something does not fit the play
goes on in places that are not there, so that every stage of every target can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from copy import copy

from ninfer_lab.contract.capacity import Axis, KvPool
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions
from ninfer_lab.contract.placement import LedgerSnapshot
from ninfer_lab.contract.target import StageName, StateTransition
from small_worlds.plain_sets import (
    AXES,
    NEW,
    Content,
    Kind,
    Move,
    Played,
    Replica,
    Tier,
    contents_of,
    image_of,
    lineage_of,
    pages_of,
    replicas_in,
    units_of,
)


class BruteForce:
    """Plays any number of targets from one picture without an open transition."""

    def __init__(self, picture: LedgerSnapshot, options: ResolvedOptions) -> None:
        self._picture = picture
        self._start = _Table(picture, options)

    def play(self, move: Move) -> Played:
        """Plays one target to its commit."""
        table = self._start.copied()
        table.stage(StageName.NOW)
        for owner, keeps in move.outcomes.items():
            table.wants[owner] = keeps
        coming = table.wanted() - table.there
        copied_from = {Replica(replica.content, Tier.DEVICE) for replica in coming}
        assert copied_from <= table.there - coming, (
            "an outcome makes Host replicas of what is there"
        )
        table.release(besides=copied_from)
        table.stage(StageName.RELEASED)
        if coming:
            table.held = coming
            for owner in sorted(move.outcomes):
                for pool in table.options.capacity.pools:
                    table.place(pool, coming & table.wants[owner])
            table.stage(StageName.DEMOTION_RESERVED)
            table.fill()
            table.release()
            table.stage(StageName.DEMOTED)
        _admit(table, move, self._picture)
        table.played.there = frozenset(table.there)
        return table.played


def _admit(table: _Table, move: Move, picture: LedgerSnapshot) -> None:
    """The candidate's own half: destinations, then the commit."""
    played, source, lineage = table.played, move.source, set[Content]()
    consumed = move.owner if move.is_consumed else None
    if consumed is not None and source is not None:
        lineage.update(*map(contents_of, lineage_of(picture, move)))
        table.wants[consumed] = table.replicas_of(lineage, contents_of(source))
        table.release()
    others = {r.content for o, w in table.wants.items() if o != consumed for r in w} | lineage
    if source is not None:
        played.read_image = image_of(source)
        played.state = StateTransition.FORK
        if Replica(played.read_image, Tier.DEVICE) not in table.there:
            played.state, played.read_image = StateTransition.RESTORE, played.write_image
        elif played.read_image not in others:
            played.state, played.write_image = StateTransition.MOVE, played.read_image
    own = {played.write_image}
    coverage_tokens = table.options.coverage_tokens
    for pool in table.options.capacity.pools:
        full_pages, tail_tokens = divmod(coverage_tokens(pool, move.frontier_tokens), PAGE_TOKENS)
        space = [] if source is None else pages_of(source, pool)
        if tail_tokens and space[-1] in others:
            space[-1] = Content(Kind.of_pool(pool), NEW)
            played.cow_pages += 1
        own.update(space[full_pages:])
        entitled_pages = -(-coverage_tokens(pool, move.entitled_tokens) // PAGE_TOKENS)
        table.promise(pool, entitled_pages - len(space))
        played.spaces[pool] = space
    mapped = {page for space in played.spaces.values() for page in space}
    table.held = {Replica(content, Tier.DEVICE) for content in mapped | own} - table.there
    table.stage(StageName.DESTINATIONS_RESERVED)

    table.fill()
    if played.read_image is not None:
        mapped.add(played.read_image)  # a Fork's is pinned until the first commit
    writable = {Replica(content, Tier.DEVICE) for content in own}
    table.wants["sequence"] = table.replicas_of(mapped - own) | writable
    if consumed is not None:
        table.wants[consumed] = table.replicas_of(lineage)
    table.release()
    table.stage(StageName.COMMITTED)


class _Table:
    """The places, and who wants what is on them."""

    def __init__(self, picture: LedgerSnapshot, options: ResolvedOptions) -> None:
        self.options, self.geometry = options, options.capacity.host_kv
        self.there, granules = replicas_in(picture)
        self.held: set[Replica] = set()
        self.promised = [0] * len(AXES)
        self.played = Played(granules=granules)
        self.arena = [False] * self.geometry.granules_count
        for page, first in granules.items():
            self._mark(page, first, taken=True)
        self.wants: dict[OwnerId | str, Set[Replica]] = {}
        for owner in picture.owners:
            self.wants[owner.owner] = self.replicas_of(*map(contents_of, owner.checkpoints))
        for active in picture.sequences:
            refers = {Content(Kind.IMAGE, active.write_image)}
            if active.read_image is not None:
                refers.add(Content(Kind.IMAGE, active.read_image))
            for space in active.spaces:
                refers.update(pages_of(space, space.pool))
                self.promise(space.pool, space.reserved_pages)
            lineage = map(contents_of, active.checkpoints)
            self.wants[f"{active.sequence}"] = self.replicas_of(refers, *lineage)

    def copied(self) -> _Table:
        """The same places, to play on."""
        table = copy(self)
        table.there, table.wants = set(self.there), dict(self.wants)
        table.promised, table.arena = list(self.promised), list(self.arena)
        granules = dict(self.played.granules)
        table.played = Played(granules=granules, arena_end=self.played.arena_end)
        return table

    def replicas_of(self, *contents: Iterable[Content]) -> set[Replica]:
        """Those there are of some contents."""
        return self.there & {Replica(c, tier) for some in contents for c in some for tier in Tier}

    def wanted(self) -> set[Replica]:
        """By anybody."""
        return set[Replica]().union(*self.wants.values())

    def fill(self) -> None:
        """The copies have arrived."""
        self.there |= self.held
        self.held = set()

    def release(self, besides: Iterable[Replica] = ()) -> None:
        """What nobody wants goes, granule by granule."""
        for replica in self.there - self.wanted() - set(besides):
            self.there.remove(replica)
            if replica.content.kind is not Kind.IMAGE and replica.tier is Tier.HOST:
                self._mark(replica.content, self.played.granules.pop(replica.content), taken=False)

    def place(self, pool: KvPool, coming: Iterable[Replica]) -> None:
        """One extent for pages of one pool that have no place yet: the first hole that is large
        enough, else granules behind the arena's end.
        """
        pages = sorted(r.content for r in coming if r.content.kind is Kind.of_pool(pool))
        left = [page for page in pages if page not in self.played.granules]
        step, size = self.geometry.page_granules(pool), self.geometry.granules_count
        run = step * len(left)
        holes = (i for i in range(size - run + 1) if not any(self.arena[i : i + run]))
        first = next(holes, None)
        if first is None:
            self.played.unplaced_count += 1
            first = len(self.arena)
            self.arena += [False] * run
        for i, page in enumerate(left):
            self.played.granules[page] = first + i * step
            self._mark(page, first + i * step, taken=True)

    def promise(self, pool: KvPool, pages_count: int) -> None:
        """Growth of a sequence."""
        self.promised[AXES.index(Axis.of_device_pool(pool))] += pages_count

    def stage(self, name: StageName) -> None:
        """Counts every axis."""
        filled, held = units_of(self.there, self.geometry), units_of(self.held, self.geometry)
        uses = zip(filled, held, self.promised, strict=True)
        self.played.stages[name] = tuple((filled, held + more) for filled, held, more in uses)

    def _mark(self, page: Content, first: int, *, taken: bool) -> None:
        for granule in range(first, first + self.geometry.page_granules(page.kind.pool)):
            assert self.arena[granule] is not taken
            self.arena[granule] = taken
            self.played.arena_end = max(self.played.arena_end, granule + 1)
