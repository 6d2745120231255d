"""What may become of an inactive owner, as explicit sets of replicas, and as Program's own value?

Owns the outcomes that the small worlds try: every subset of an owner's checkpoints ends, and what
is left stays as it is, loses what is redundant in either tier, goes to the Host in part or whole,
or gets a Host replica beside the Device one. And the translation to and from `ReplicaSet`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, combinations

from ninfer_lab.contract.ids import CheckpointRef, OwnerRef
from ninfer_lab.contract.placement import LedgerSnapshot, OwnerPlacement
from ninfer_lab.contract.replicas import ReplicaSet
from ninfer_lab.contract.target import OwnerOutcome
from ninfer_lab.program.storage.bitset import ordinals_of
from ninfer_lab.program.storage.ledger import Ledger
from small_worlds.plain_sets import Content, Kind, Replica, Tier, contents_of, replicas_in

Keeps = frozenset[Replica]
Outcome = tuple[frozenset[CheckpointRef], Keeps]
"""(checkpoints that end, replicas kept or made)."""


def outcomes(picture: LedgerSnapshot, owner: OwnerPlacement) -> list[Outcome]:
    """Every outcome that is tried of one owner, staying as it is not among them; the last is its
    eviction.
    """
    there, _ = replicas_in(picture)
    stays: Outcome = frozenset(), _as_it_is(there, owner, frozenset())
    found: dict[Outcome, None] = {}
    for deleted in _subsets(c.summary.ref for c in owner.checkpoints):
        kept = _as_it_is(there, owner, deleted)
        for change in CHANGES:
            found[deleted, change(kept)] = None
    found.pop(stays, None)
    return list(found)


def _as_it_is(
    there: set[Replica], owner: OwnerPlacement, deleted: frozenset[CheckpointRef]
) -> Keeps:
    left = [c for c in owner.checkpoints if c.summary.ref not in deleted]
    refers = {content for checkpoint in left for content in contents_of(checkpoint)}
    return frozenset(replica for replica in there if replica.content in refers)


def _subsets(refs: Iterator[CheckpointRef]) -> Iterator[frozenset[CheckpointRef]]:
    """From none to all."""
    every = tuple(refs)
    sizes = (combinations(every, size) for size in range(len(every) + 1))
    return map(frozenset, chain.from_iterable(sizes))


# ── changes of what is left ─────────────────────────────────────────────────────────────────────


def _nothing(kept: Keeps) -> Keeps:
    return kept


def _without_device_duplicates(kept: Keeps) -> Keeps:
    return kept - {on_device(r.content) for r in kept if r.tier is Tier.HOST}


def _without_host_duplicates(kept: Keeps) -> Keeps:
    return kept - {on_host(r.content) for r in kept if r.tier is Tier.DEVICE}


def _images_to_host(kept: Keeps) -> Keeps:
    return _to_host(kept, lambda content: content.kind is Kind.IMAGE)


def _pages_to_host(kept: Keeps) -> Keeps:
    return _to_host(kept, lambda content: content.kind is not Kind.IMAGE)


def _all_to_host(kept: Keeps) -> Keeps:
    return _to_host(kept, lambda content: True)


def _doubled(kept: Keeps) -> Keeps:
    return kept | {on_host(replica.content) for replica in kept}


def _last_page_to_host(kept: Keeps) -> Keeps:
    pages = [r.content for r in kept if r.content.kind is not Kind.IMAGE and r.tier is Tier.DEVICE]
    last = max(pages, key=lambda content: content.id, default=None)
    return _to_host(kept, lambda content: content == last)


def _to_host(kept: Keeps, leaves: Callable[[Content], bool]) -> Keeps:
    return frozenset(on_host(r.content) if leaves(r.content) else r for r in kept)


CHANGES: tuple[Callable[[Keeps], Keeps], ...] = (
    _nothing,
    _without_device_duplicates,
    _without_host_duplicates,
    _images_to_host,
    _pages_to_host,
    _last_page_to_host,
    _all_to_host,
    _doubled,
)


def on_device(content: Content) -> Replica:
    """Its Device replica."""
    return Replica(content, Tier.DEVICE)


def on_host(content: Content) -> Replica:
    """Its Host replica."""
    return Replica(content, Tier.HOST)


# ── Program's own value ─────────────────────────────────────────────────────────────────────────


def sealed_form(ledger: Ledger, owner: OwnerRef, outcome: Outcome) -> OwnerOutcome:
    """The outcome as Program takes it."""
    layout, (deleted, keeps) = ledger.layout, outcome
    bits = 0
    for (kind, id), tier in keeps:
        is_device = tier is Tier.DEVICE
        if kind is Kind.IMAGE:
            field = layout.device_images if is_device else layout.host_images
        else:
            field = (layout.device_pages if is_device else layout.host_pages)[kind.pool]
            store = ledger.kv[kind.pool]
            if not is_device and store.on_host >> id & 1:
                bits |= layout.granules.put(store.granules_of(1 << id))
        bits |= field.put(1 << id)
    return OwnerOutcome(owner=owner, deleted=deleted, keeps=ReplicaSet(bits))


def plain_form(ledger: Ledger, outcome: OwnerOutcome) -> Outcome:
    """Program's outcome as explicit replicas."""
    layout = ledger.layout
    fields = {
        (Kind.IMAGE, Tier.DEVICE): layout.device_images,
        (Kind.IMAGE, Tier.HOST): layout.host_images,
    }
    for pool in ledger.kv:
        fields[Kind.of_pool(pool), Tier.DEVICE] = layout.device_pages[pool]
        fields[Kind.of_pool(pool), Tier.HOST] = layout.host_pages[pool]
    return outcome.deleted, frozenset(
        Replica(Content(kind, id), tier)
        for (kind, tier), field in fields.items()
        for id in ordinals_of(field.of(outcome.keeps))
    )
