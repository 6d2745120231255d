"""Wrong versions of the engine: each breaks one rule in one place.

They are planted by name into the rooms they spoil, so a function that moves must be found again
here; a mutant that no longer fits is an error, not a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ninfer_lab.program.storage.page_pool import PagePool

from ninfer_lab.context_cache import resource_manager
from ninfer_lab.context_cache.candidate_shortlist import ShortlistEntry
from ninfer_lab.context_cache.catalog import Catalog
from ninfer_lab.context_cache.owner_edges import OwnerEdges
from ninfer_lab.context_cache.resource_manager import ResourceManager
from ninfer_lab.context_cache.session_index import SessionBinding, SessionIndex
from ninfer_lab.contract.candidate import NotReusable
from ninfer_lab.contract.output import AcceptedText
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.work import PageCopy
from ninfer_lab.engine import engine as engine_module
from ninfer_lab.engine.catalog_controller import CatalogController
from ninfer_lab.program import program as program_module
from ninfer_lab.program.execution import forward_step
from ninfer_lab.program.planning import exact_identity, resource_projection
from ninfer_lab.program.program import Program
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.kv_store import AddressSpace, SnapshotShape
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.state_store import StateStore
from ninfer_lab.program.transactions import activation, capture, settlement
from ninfer_lab.scheduler.scheduler import Scheduler
from ninfer_lab.scheduler.waiting_queue import WaitingQueue

Plant = Callable[[pytest.MonkeyPatch], None]
MUTANTS: dict[str, Plant] = {}

# A mutant has the shape of what it replaces, whatever that is.
Mutant = Any


def mutant(rule: str, what: str) -> Callable[[Plant], Plant]:
    """Registers one wrong version of one function under the rule that it breaks."""

    def register(plant: Plant) -> Plant:
        MUTANTS[f"{rule}: {what}"] = plant
        return plant

    return register


def replacing(rule: str, what: str, where: object, name: str, wrong: Mutant) -> None:
    """A mutant that is one attribute with another value."""
    mutant(rule, what)(lambda patch: patch.setattr(where, name, wrong))


# ── Move, Fork and the copied tail ──────────────────────────────────────────────────────────────

replacing(
    "STATE-3",
    "a Move although the source is pinned",
    resource_projection._Survivors,
    "of_slot",
    lambda self, slot: dict(self._ledger.states.references()).get(slot, 0) - self._slot_drops[slot],
)
replacing(
    "STATE-3",
    "a Move although the source stays",
    resource_projection,
    "_state_transition",
    lambda _candidate, source, _survivors: (
        StateTransition.ROOT if source is None else StateTransition.MOVE
    ),
)
replacing("STATE-3", "a Fork that is not pinned", StateStore, "pin", lambda self, slot: None)
replacing("STATE-3", "a pin that never ends", StateStore, "unpin", lambda self, slot: None)
replacing(
    "STATE-4",
    "a pin that does not hold",
    StateStore,
    "_free_if_unused",
    lambda self, slot: self._free.append(slot) if not self._references[slot] else None,
)


@mutant("KV-4", "a Fork that writes into the tail it shares")
def _(patch: pytest.MonkeyPatch) -> None:
    right = resource_projection._address_space

    def wrong(*arguments: Mutant) -> Mutant:
        pages, immutable, _ = right(*arguments)
        return pages, immutable, 0

    patch.setattr(resource_projection, "_address_space", wrong)


@mutant("KV-4", "a capture that copies no tail")
def _(patch: pytest.MonkeyPatch) -> None:
    def untailed(frontier_tokens: int) -> SnapshotShape:
        return SnapshotShape(
            frontier_tokens=frontier_tokens, full_pages=frontier_tokens // 64, tail_tokens=0
        )

    patch.setattr(capture, "snapshot_shape", untailed)


replacing(
    "KV-4",
    "a tail copied the wrong way round",
    capture,
    "PageCopy",
    lambda *, source, destination: PageCopy(source=destination, destination=source),
)
replacing("OWN-6", "a capture that freezes nothing", AddressSpace, "freeze", lambda *_: None)


@mutant("OWN-6", "a writer that goes on in the slot it froze")
def _(patch: pytest.MonkeyPatch) -> None:
    right = capture.capture

    def wrong(ledger: Ledger, machine: Mutant, sequence: ActiveSequence, *rest: Mutant) -> Mutant:
        frozen = sequence.state_write_slot
        result = right(ledger, machine, sequence, *rest)
        sequence.state_write_slot = frozen
        return result

    patch.setattr(program_module, "capture", wrong)


# ── references, reservations, order ─────────────────────────────────────────────────────────────

replacing("ACC-2", "shared pages without a reference", PagePool, "retain", lambda self, pages: None)
replacing("ACC-2", "pages that are never given back", PagePool, "release", lambda self, pages: None)


@mutant("STG-2", "a state released before its endpoint holds it")
def _(patch: pytest.MonkeyPatch) -> None:
    right = settlement._kept_checkpoints

    def wrong(ledger: Ledger, sequence: ActiveSequence, *rest: Mutant) -> Mutant:
        ledger.states.release(sequence.state_write_slot)
        kept = right(ledger, sequence, *rest)
        ledger.states.retain(sequence.state_write_slot)
        return kept

    patch.setattr(settlement, "_kept_checkpoints", wrong)


@mutant("ACT-5", "a settlement that keeps its reservation")
def _(patch: pytest.MonkeyPatch) -> None:
    right = settlement.settle

    def wrong(
        ledger: Ledger, machine: Mutant, sequence: ActiveSequence, *rest: Mutant, **named: Mutant
    ) -> Mutant:
        published = right(ledger, machine, sequence, *rest, **named)
        ledger.sequences[sequence.handle.id] = sequence
        return published

    patch.setattr(program_module, "settle", wrong)


replacing(
    "ACT-1",
    "only the prompt is promised",
    resource_projection,
    "growth_pages",
    lambda candidate, covered: max(0, -(-len(candidate.request.prompt.tokens) // 64) - covered),
)
replacing(
    "INV-8",
    "a capture out of what is promised to others",
    Ledger,
    "free_pages",
    property(lambda self: self.pages.capacity_pages - self.pages.allocated_pages),
)


@mutant("ACT-2", "mapped pages that stay promised")
def _(patch: pytest.MonkeyPatch) -> None:
    right = forward_step.begin_cut

    def wrong(ledger: Ledger, machine: Mutant, sequence: ActiveSequence, chunk: int) -> Mutant:
        promised = sequence.reserved_pages
        cut = right(ledger, machine, sequence, chunk)
        sequence.reserved_pages = promised
        return cut

    patch.setattr(program_module, "begin_cut", wrong)


# ── identity ────────────────────────────────────────────────────────────────────────────────────


@mutant("IDN-3", "reuse that ignores the cuts")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(exact_identity, "_below", lambda frontiers, frontier: ())


@mutant("IDN-3", "reuse that ignores the template")
def _(patch: pytest.MonkeyPatch) -> None:
    right = exact_identity.compare

    def wrong(prompt: Mutant, owner: Mutant, frontier: int) -> Mutant:
        answer = right(prompt, owner, frontier)
        return None if answer is NotReusable.IDENTITY_DIFFERS else answer

    patch.setattr(program_module, "compare", wrong)


@mutant("IDN-4", "reuse that trusts the shortlist, and a shortlist of everything")
def _(patch: pytest.MonkeyPatch) -> None:
    def everything(request: Mutant, owners: Mutant) -> Mutant:
        return tuple(
            ShortlistEntry(owner=owner, checkpoint=checkpoint)
            for owner in owners
            for checkpoint in owner.checkpoints
            if checkpoint.frontier_tokens < len(request.prompt.tokens)
        )

    patch.setattr(resource_manager, "shortlist", everything)
    patch.setattr(program_module, "compare", lambda prompt, owner, frontier: None)


@mutant("ACT-5", "an endpoint that claims the token just drawn")
def _(patch: pytest.MonkeyPatch) -> None:
    right = settlement._endpoint

    def wrong(ledger: Ledger, sequence: ActiveSequence, endpoint: Mutant) -> Mutant:
        if sequence.frontier_tokens < sequence.history_tokens:
            sequence.frontier_tokens += 1
        return right(ledger, sequence, endpoint)

    patch.setattr(settlement, "_endpoint", wrong)


replacing(
    "IDN-5",
    "an endpoint above the cut of a stop string",
    AcceptedText,
    "allows_endpoint_at",
    lambda self, consumed: True,
)

# ── authorities, sessions, revision ─────────────────────────────────────────────────────────────


@mutant("TXN-5", "an evicted owner that stays in the catalog")
def _(patch: pytest.MonkeyPatch) -> None:
    right = Catalog.remove

    def wrong(self: Catalog, end: Mutant, *, surviving: Mutant = frozenset()) -> Mutant:
        return right(self, end, surviving=surviving) if surviving else None

    patch.setattr(Catalog, "remove", wrong)


@mutant("TXN-5", "an owner end that forgets a deleted checkpoint")
def _(patch: pytest.MonkeyPatch) -> None:
    right = activation._end_owner

    def wrong(ledger: Ledger, owner: Mutant, *, survivors: int) -> Mutant:
        end = right(ledger, owner, survivors=survivors)
        return type(end)(ref=end.ref, deleted=frozenset(sorted(end.deleted, key=str)[1:]))

    patch.setattr(activation, "_end_owner", wrong)


@mutant("INV-14", "a session that goes back to an older publication")
def _(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: SessionIndex, key: Mutant, owner: Mutant, publication_order: int) -> bool:
        self._bindings[key] = SessionBinding(owner=owner, publication_order=publication_order)
        return True

    patch.setattr(SessionIndex, "bind", wrong)


replacing("ROLE-5", "owner edges nobody heeds", OwnerEdges, "protects", lambda self, owner: False)


@mutant("ROLE-5", "owner edges that end with the first forward")
def _(patch: pytest.MonkeyPatch) -> None:
    right = CatalogController.on_forward

    def wrong(self: CatalogController, handle: Mutant) -> Mutant:
        self._manager._edges.settle(self._requests[handle.id])
        return right(self, handle)

    patch.setattr(CatalogController, "on_forward", wrong)


@mutant("REV-2", "an end that does not move the revision")
def _(patch: pytest.MonkeyPatch) -> None:
    right = Program.finish

    def wrong(self: Program, *arguments: Mutant) -> Mutant:
        revision = self._resource_revision
        settled = right(self, *arguments)
        self._resource_revision = revision
        return settled

    patch.setattr(Program, "finish", wrong)


@mutant("REV-3", "a forward that moves the revision")
def _(patch: pytest.MonkeyPatch) -> None:
    right = Program.accept

    def wrong(self: Program, *arguments: Mutant) -> None:
        right(self, *arguments)
        self._resource_revision += 1

    patch.setattr(Program, "accept", wrong)


replacing("TXN-1", "a plan that runs twice", Program, "_take_back", lambda self, plan: None)
replacing("MODE-2", "a mode nobody looks at", ResourceManager, "_reads", lambda self, request: True)


@mutant("SRCH-3", "no way out when nothing fits")
def _(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ResourceManager, "_root_maximal", lambda self, request, search: None)


# ── scheduler, engine, machine ──────────────────────────────────────────────────────────────────

replacing(
    "INV-1",
    "last in, first out",
    WaitingQueue,
    "head",
    lambda self: self._waiting[-1] if self._waiting else None,
)


@mutant("RES-1", "a blocked head that is passed over")
def _(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: Scheduler, request: Mutant, revision: int) -> None:
        self._queue.remove(request)
        self._queue.push(request)

    patch.setattr(Scheduler, "blocked", wrong)


@mutant("IDN-3", "forwards that run across cuts")
def _(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: ActiveSequence, chunk: int) -> int:
        known = max(len(self.prompt.tokens), self.frontier_tokens + 1)
        return min(self.frontier_tokens + chunk, known)

    patch.setattr(ActiveSequence, "next_end_tokens", wrong)


@mutant("ACT-5", "a torn state that is published")
def _(patch: pytest.MonkeyPatch) -> None:
    right = CatalogController.finish

    def wrong(self: CatalogController, handle: Mutant, end: SequenceEnd) -> Mutant:
        keeps = end is SequenceEnd.KEEP_CHECKPOINTS
        return right(self, handle, SequenceEnd.PUBLISH if keeps else end)

    patch.setattr(CatalogController, "finish", wrong)


@mutant("RCD-3", "an interrupt in the middle of a step")
def _(patch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def unprotected() -> Iterator[None]:
        yield

    patch.setattr(engine_module, "deferred_interrupts", unprotected)


@mutant("ROLE-3", "a machine that is not told of new pages")
def _(patch: pytest.MonkeyPatch) -> None:
    from simulation.content_machine import ContentMachine

    patch.setattr(ContentMachine, "extend", lambda self, lane, pages: None)
