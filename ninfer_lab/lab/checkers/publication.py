"""Is what is published complete, and out of every writer's reach?

Owns the laws of checkpoints and writers (OWN, INV-6, INV-7). Does not count occupancy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.ids import KvPageId
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions, pages_of_tokens
from ninfer_lab.contract.placement import CheckpointPlacement, SpacePlacement
from ninfer_lab.lab.checkers.lineages import checkpoints_of, images_of, name_of, spaces_of


class EverythingHasOneWriter:
    """A page or image that one sequence may write is no other sequence's, read or write."""

    rules = "INV-7 KV-3"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        for pool in KvPool:
            spaces = spaces_of(now.ledger, pool)
            mapped = Counter(page for _, space in spaces for page in space.pages)
            for sequence, space in spaces:
                for page in _writable(space):
                    if mapped[page] > 1:
                        yield (
                            f"{pool.value} page {page} is writable by {name_of(sequence)}"
                            " and mapped elsewhere"
                        )
        images = Counter(image for each in now.ledger.sequences for image in images_of(each))
        for sequence in now.ledger.sequences:
            if images[sequence.write_image] > 1:
                yield f"image {sequence.write_image}, written by {name_of(sequence)}, is shared"


class CheckpointsAreProtected:
    """No page or image of a published checkpoint can be written by anyone."""

    rules = "OWN-6 INV-7"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        checkpoints = checkpoints_of(now.ledger)
        for pool in KvPool:
            for sequence, space in spaces_of(now.ledger, pool):
                writable = set(_writable(space))
                for checkpoint in checkpoints:
                    if exposed := writable.intersection(checkpoint.pages_of(pool)):
                        yield (
                            f"{name_of(sequence)} may write {pool.value} pages {sorted(exposed)} of"
                            f" {checkpoint.summary.ref}"
                        )
        for sequence in now.ledger.sequences:
            for checkpoint in checkpoints:
                if checkpoint.image == sequence.write_image:
                    yield (
                        f"{name_of(sequence)} writes image {checkpoint.image} of"
                        f" {checkpoint.summary.ref}"
                    )


class WritersLeaveNothingStale:
    """What a sequence may write has no Host replica: the first write would make it a lie."""

    rules = "OWN-7 KV-3"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        on_host = {each.image for each in now.ledger.images if each.host_slot is not None}
        for sequence in now.ledger.sequences:
            if sequence.write_image in on_host:
                yield f"{name_of(sequence)} writes image {sequence.write_image}, kept on the Host"
        for pool in KvPool:
            kept = {e.page for e in now.ledger.pages_of(pool) if e.host_granule is not None}
            for sequence, space in spaces_of(now.ledger, pool):
                if stale := kept.intersection(_writable(space)):
                    yield (
                        f"{name_of(sequence)} may write {pool.value} pages {sorted(stale)},"
                        " kept on the Host"
                    )


class CheckpointsAreComplete:
    """A checkpoint has a whole StateImage, and in every pool pages that cover exactly its frontier;
    each of them is on the Device or on the Host.
    """

    rules = "INV-6 OWN-7 KV-1"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        ledger = now.ledger
        images = {
            i.image for i in ledger.images if i.device_slot is not None or i.host_slot is not None
        }
        pages = {
            pool: {
                each.page
                for each in ledger.pages_of(pool)
                if each.device_page is not None or each.host_granule is not None
            }
            for pool in KvPool
        }
        for checkpoint in checkpoints_of(ledger):
            name = f"{checkpoint.summary} of {checkpoint.summary.ref}"
            if checkpoint.image not in images:
                yield f"{name} has no replica of its image {checkpoint.image}"
            if checkpoint.summary.frontier_tokens < 1:
                yield f"{name} covers nothing"
            for pool in KvPool:
                held = checkpoint.pages_of(pool)
                needed = _covered_pages(checkpoint, pool, options)
                if len(held) != needed:
                    yield f"{name} has {len(held)} {pool.value} pages of {needed}"
                if missing := [page for page in held if page not in pages[pool]]:
                    yield f"{name} has no replica of its {pool.value} pages {missing}"


class LineagesNest:
    """The checkpoints of one continuation are prefixes of one address space, each named once."""

    rules = "OWN-3 OWN-1"

    def violations(self, now: ControllerSnapshot, options: ResolvedOptions) -> Iterator[str]:
        refs = Counter(c.summary.ref.id for c in checkpoints_of(now.ledger))
        yield from (f"checkpoint id {ref} stands twice" for ref, n in refs.items() if n > 1)
        for owner in now.ledger.owners:
            yield from _nesting(f"owner {owner.owner}", owner.checkpoints, options)
            deepest = max((c.summary.frontier_tokens for c in owner.checkpoints), default=0)
            if deepest != owner.history_tokens:
                yield f"owner {owner.owner} knows {owner.history_tokens} tokens, reaches {deepest}"
            foreign = {c.summary.ref.owner for c in owner.checkpoints} - {owner.owner}
            yield from (f"owner {owner.owner} holds a checkpoint of owner {o}" for o in foreign)
        for sequence in now.ledger.sequences:
            yield from _nesting(name_of(sequence), sequence.checkpoints, options)
            for checkpoint in sequence.checkpoints:
                for space in sequence.spaces:
                    full = _full_pages(checkpoint, space.pool, options)
                    if checkpoint.pages_of(space.pool)[:full] != space.pages[:full]:
                        yield (
                            f"{checkpoint.summary} is no {space.pool.value} prefix of"
                            f" {name_of(sequence)}"
                        )


class PublishedNeverChanges:
    """While a checkpoint exists, its identity, frontier and contents are what they were; only
    where they lie may change.
    """

    rules = "OWN-6"

    def violations(self, before: ControllerSnapshot, after: ControllerSnapshot) -> Iterator[str]:
        earlier = {c.summary.ref: c for c in checkpoints_of(before.ledger)}
        for checkpoint in checkpoints_of(after.ledger):
            was = earlier.get(checkpoint.summary.ref, checkpoint)
            if was != checkpoint:
                yield f"{checkpoint.summary.ref} was {was}, is {checkpoint}"


def _writable(space: SpacePlacement) -> tuple[KvPageId, ...]:
    return space.pages[space.immutable_pages :]


def _covered_pages(checkpoint: CheckpointPlacement, pool: KvPool, options: ResolvedOptions) -> int:
    """Pages a checkpoint must have in one pool; none in a pool that is not there."""
    if pool not in options.capacity.pools:
        return 0
    return pages_of_tokens(options.coverage_tokens(pool, checkpoint.summary.frontier_tokens))


def _full_pages(checkpoint: CheckpointPlacement, pool: KvPool, options: ResolvedOptions) -> int:
    return options.coverage_tokens(pool, checkpoint.summary.frontier_tokens) // PAGE_TOKENS


def _nesting(
    holder: str, checkpoints: tuple[CheckpointPlacement, ...], options: ResolvedOptions
) -> Iterator[str]:
    for shallow, deep in pairwise(checkpoints):
        ascending = shallow.summary.frontier_tokens < deep.summary.frontier_tokens
        nested = all(
            shallow.pages_of(pool)[:full] == deep.pages_of(pool)[:full]
            for pool in options.capacity.pools
            for full in (_full_pages(shallow, pool, options),)
        )
        if not ascending or not nested:
            yield f"{shallow.summary} is no shallower prefix of {deep.summary} in {holder}"
