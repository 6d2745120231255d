"""How is a written-down decision posed to the planner? (SRCH)

Owns the way from a `DecisionProblem` to the planner's own problem over Program's own session: a
ledger filled by hand, so that no request has to be served to get there. Every source is compared
token by token, as Program does. Does not know how the problem is solved.
"""

from __future__ import annotations

from collections.abc import Iterator

from ninfer_lab.context_cache.exhaustive_search import Truth, best_target, targets_count
from ninfer_lab.context_cache.judged_targets import ARENA_TARGETS, Problem
from ninfer_lab.context_cache.materialization_planner import publication_slot
from ninfer_lab.context_cache.resource_search import Found, search
from ninfer_lab.context_cache.search_budget import BoundaryAllowance
from ninfer_lab.context_cache.valuation import OwnerWorth, PriceWork, Valuation
from ninfer_lab.contract.candidate import (
    AdmissionCandidate,
    AdmissionRequest,
    CheckpointSource,
)
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.ids import (
    CheckpointId,
    CheckpointRef,
    KvPageId,
    LaneId,
    OwnerId,
    OwnerRef,
    RequestId,
    StateImageId,
)
from ninfer_lab.contract.machine_work import MachineWork
from ninfer_lab.contract.options import PAGE_TOKENS, CacheMode, pages_of_tokens
from ninfer_lab.contract.prompt import (
    RAW_TOKENS,
    PreparedPrompt,
    PromptIdentity,
    PromptModality,
)
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.decision_problem import Continued, DecisionProblem, KeptOwner, Where
from ninfer_lab.program.planning.exact_identity import compare
from ninfer_lab.program.planning.ledger_readied import LedgerReadied
from ninfer_lab.program.planning.planning_session import ProgramSession
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger

REVISION = 1
"""The one revision that an opened problem ever has."""

UNLIMITED_NS = 10**15
"""A boundary allowance that no search reaches."""

_IDENTITY = PromptIdentity(modality=PromptModality.TEXT, template=RAW_TOKENS)


def open_problem(
    problem: DecisionProblem, price: PriceWork, *, target_budget: int = ARENA_TARGETS
) -> Problem:
    """The planner's own problem, with a session nobody has looked at yet.

    Args:
        price: What work is believed to take.
        target_budget: Targets that may be judged within the budget.

    Raises:
        InvariantBroken: The owners do not fit the room.
    """
    return _posed(FilledLedger(problem), problem, price, target_budget)


def opened_again(problem: DecisionProblem, price: PriceWork, count: int) -> Iterator[Problem]:
    """The same problem over one ledger, so many times, each with a session of its own."""
    filled = FilledLedger(problem)
    for _ in range(count):
        yield _posed(filled, problem, price, ARENA_TARGETS)


def _posed(
    filled: FilledLedger, problem: DecisionProblem, price: PriceWork, target_budget: int
) -> Problem:
    session = filled.session()
    worth = {
        OwnerId(ordinal): OwnerWorth(
            retention=owner.retention,
            hits={
                filled.checkpoint_ref(ordinal, i): checkpoint.hits
                for i, checkpoint in enumerate(owner.checkpoints)
            },
        )
        for ordinal, owner in enumerate(problem.owners)
    }
    bound = problem.session_owner
    return Problem(
        session=session,
        valuation=Valuation(session, price, worth.__getitem__),
        worth=worth.__getitem__,
        has_slot=publication_slot(session, needed=True, vacant=problem.vacant_catalog_slots > 0),
        session_owner=None if bound is None else OwnerId(bound),
        recency=problem.recency,
        target_budget=target_budget,
    )


def decide(
    problem: DecisionProblem,
    price: PriceWork,
    *,
    target_budget: int = ARENA_TARGETS,
    allowance_ns: int = UNLIMITED_NS,
) -> Found:
    """What the engine would do.

    Args:
        target_budget: Targets that may be judged within the budget.
        allowance_ns: Work that may be spent at the boundary; by default as much as nobody runs out
            of, so that the target budget is what ends the search.
    """
    return solve(
        open_problem(problem, price, target_budget=target_budget), allowance_ns=allowance_ns
    )


def solve(posed: Problem, *, allowance_ns: int | None = None) -> Found:
    """The search of an opened problem, once.

    Args:
        allowance_ns: Work that may be spent at the boundary; `None` is the engine's own, where
            nobody else waits.
    """
    allowance = BoundaryAllowance(0)
    if allowance_ns is not None:
        allowance.remaining_ns = allowance_ns
    return search(posed, allowance)


def truth_of(problem: DecisionProblem, price: PriceWork, known: Found | None = None) -> Truth:
    """What would have been best.

    Args:
        known: A decision about the same problem: spares looking, and decides nothing.

    Raises:
        OptionsError: The graph is too large to be looked through.
    """
    best = None if known is None else known.best
    incumbent = best if best is not None and best.is_adoptable else None
    return best_target(open_problem(problem, price), incumbent)


def count_targets(problem: DecisionProblem, limit: int) -> int | None:
    """Targets of the whole graph; `None` where there are more than the limit."""
    return targets_count(open_problem(problem, _nothing).session, limit)


def _nothing(work: MachineWork) -> int:
    """A belief by which everything is free."""
    return 0


class FilledLedger:
    """A ledger with the owners of a problem in it."""

    def __init__(self, problem: DecisionProblem) -> None:
        self._problem = problem
        self._options = problem.room.resolved()
        self._ledger = Ledger(self._options.capacity, lanes_count=1)
        self._histories: list[TokenSpan] = []
        self._pages: dict[int, tuple[KvPageId, ...]] = {}
        self._tails: dict[tuple[int, int], KvPageId] = {}
        self._images: dict[tuple[int, int], StateImageId] = {}
        for ordinal in range(len(problem.owners)):
            self._histories.append(self._history(ordinal))
        # What ends on the Host needs a place on the Device for a moment: it comes first.
        for pages in (Where.HOST, Where.BOTH, Where.DEVICE):
            for ordinal, owner in enumerate(problem.owners):
                if owner.pages is pages:
                    self._fill_pages(ordinal, owner)
        for image in (Where.HOST, Where.BOTH, Where.DEVICE):
            for ordinal, owner in enumerate(problem.owners):
                for i, checkpoint in enumerate(owner.checkpoints):
                    if checkpoint.image is image:
                        self._images[ordinal, i] = self._fill_image(image)
        for ordinal, owner in enumerate(problem.owners):
            self._ledger.continuations.publish(self._continuation(ordinal, owner))

    def session(self) -> ProgramSession:
        """With every owner that exists as a victim, unless the request leans on it."""
        victims = [continuation.ref for continuation in self._ledger.continuations.all()]
        return ProgramSession(self.readied(), self.candidates(), victims)

    def readied(self) -> LedgerReadied:
        """The ledger, to project targets on."""
        return LedgerReadied(self._ledger, self._options, REVISION)

    def checkpoint_ref(self, owner: int, checkpoint: int) -> CheckpointRef:
        before = sum(len(o.checkpoints) for o in self._problem.owners[:owner])
        return CheckpointRef(id=CheckpointId(before + checkpoint), owner=OwnerId(owner))

    def candidates(self) -> list[AdmissionCandidate]:
        """Root, then every source, compared token by token."""
        problem = self._problem
        deepest = max(
            problem.continued,
            key=lambda c: problem.owners[c.owner].checkpoints[c.checkpoint].frontier_tokens,
            default=None,
        )
        prefix = TokenSpan()
        if deepest is not None:
            kept = problem.owners[deepest.owner].checkpoints[deepest.checkpoint]
            prefix = self._histories[deepest.owner][: kept.frontier_tokens]
        new = TokenSpan([len(problem.owners) + 1] * problem.new_tokens)
        request = AdmissionRequest(
            request=RequestId(1),
            prompt=PreparedPrompt(tokens=prefix + new, identity=_IDENTITY),
            max_output_tokens=problem.output_tokens,
            mode=CacheMode.READ_WRITE,
            session_key=None,
            publication_order=1,
            free_lanes=(LaneId(0),),
        )
        root = AdmissionCandidate(
            request=request, source=None, reuse_tokens=0, prefill_tokens=len(request.prompt.tokens)
        )
        return [root, *(self._candidate(request, each) for each in problem.continued)]

    def _candidate(self, request: AdmissionRequest, continued: Continued) -> AdmissionCandidate:
        owner = self._ledger.continuations.require(
            OwnerRef(id=OwnerId(continued.owner), generation=1)
        )
        summary = owner.checkpoints[continued.checkpoint].summary
        different = compare(request.prompt, owner, summary.frontier_tokens)
        assert different is None, f"{self._problem.name}: {continued} {different}"
        return AdmissionCandidate(
            request=request,
            source=CheckpointSource(
                owner=owner.ref,
                checkpoint=summary.ref,
                kind=summary.kind,
                disposition=continued.disposition,
            ),
            reuse_tokens=summary.frontier_tokens,
            prefill_tokens=len(request.prompt.tokens) - summary.frontier_tokens,
        )

    # ── filling ─────────────────────────────────────────────────────────────────────────────────

    def _history(self, ordinal: int) -> TokenSpan:
        """Tokens that no other owner has, behind those of the one it branches from."""
        owner = self._problem.owners[ordinal]
        deepest_tokens = owner.checkpoints[-1].frontier_tokens
        shared = TokenSpan()
        if owner.branches_from is not None:
            parent, checkpoint = owner.branches_from
            kept = self._problem.owners[parent].checkpoints[checkpoint]
            assert parent < ordinal, "an owner branches from an earlier one"
            assert kept.frontier_tokens < owner.checkpoints[0].frontier_tokens
            shared = self._histories[parent][: kept.frontier_tokens]
        return shared + TokenSpan([ordinal + 1] * (deepest_tokens - len(shared)))

    def _shared_pages(self, owner: KeptOwner) -> int:
        """Full pages that are the other branch's."""
        if owner.branches_from is None:
            return 0
        parent, checkpoint = owner.branches_from
        kept = self._problem.owners[parent].checkpoints[checkpoint]
        return kept.frontier_tokens // PAGE_TOKENS

    def _fill_pages(self, ordinal: int, owner: KeptOwner) -> None:
        """The pages of its own writer, and the partial tails that its checkpoints kept (KV-4)."""
        deepest_tokens = owner.checkpoints[-1].frontier_tokens
        own_count = pages_of_tokens(deepest_tokens) - self._shared_pages(owner)
        self._pages[ordinal] = tuple(self._fill_page(owner.pages) for _ in range(own_count))
        for i, checkpoint in enumerate(owner.checkpoints[:-1]):
            if checkpoint.frontier_tokens % PAGE_TOKENS:
                self._tails[ordinal, i] = self._fill_page(owner.pages)

    def _fill_page(self, where: Where) -> KvPageId:
        store, arena = self._ledger.kv[KvPool.MAIN], self._ledger.arena
        (page,) = store.create(store.device_places.take(1))
        if where is not Where.DEVICE:
            granule = arena.free_runs.first_fit(store.page_granules)
            assert granule is not None, f"{self._problem.name}: the arena is too small"
            arena.take(granule, store.page_granules)
            store.publish_host(page, granule)
        if where is Where.HOST:
            store.drop(device_pages=1 << page, host_pages=0)
        return page

    def _fill_image(self, where: Where) -> StateImageId:
        states = self._ledger.states
        image = states.create(states.device_places.take(1)[0])
        if where is not Where.DEVICE:
            states.publish_host(image, states.host_places.take(1)[0])
        if where is Where.HOST:
            states.drop(device_images=1 << image, host_images=0)
        return image

    def _whole_pages(self, ordinal: int) -> tuple[KvPageId, ...]:
        """In the order of its tokens, those of the branch below included."""
        owner = self._problem.owners[ordinal]
        if owner.branches_from is None:
            return self._pages[ordinal]
        below = self._whole_pages(owner.branches_from[0])
        return below[: self._shared_pages(owner)] + self._pages[ordinal]

    def _continuation(self, ordinal: int, owner: KeptOwner) -> Continuation:
        history, whole = self._histories[ordinal], self._whole_pages(ordinal)
        records = []
        for i, checkpoint in enumerate(owner.checkpoints):
            frontier = checkpoint.frontier_tokens
            tail = self._tails.get((ordinal, i))
            pages = whole[: pages_of_tokens(frontier)]
            if tail is not None:
                pages = (*pages[:-1], tail)
            summary = CheckpointSummary(
                ref=self.checkpoint_ref(ordinal, i),
                kind=checkpoint.kind,
                frontier_tokens=frontier,
                prefix_digest=history.prefix_digest(frontier),
            )
            image = self._images[ordinal, i]
            records.append(CheckpointRecord.of(summary, image, {KvPool.MAIN: pages}))
        return Continuation.of(
            OwnerRef(id=OwnerId(ordinal), generation=1),
            identity=_IDENTITY,
            history=history,
            execution_frontiers_tokens=(),
            checkpoints=tuple(records),
        )
