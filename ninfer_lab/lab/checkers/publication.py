"""Is what is published complete, and out of every writer's reach?

Owns the laws of checkpoints and writers (OWN, INV-6, INV-7). Does not count references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.options import PAGE_TOKENS, pages_of_tokens
from ninfer_lab.contract.placement import CheckpointPlacement
from ninfer_lab.lab.checkers.lineages import checkpoints_of, name_of, slots_of


class EverythingHasOneWriter:
    """A page or slot that one sequence may write is no other sequence's, read or write."""

    rules = "INV-7 KV-3"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        sequences = now.ledger.sequences
        mapped = Counter(page for sequence in sequences for page in sequence.pages)
        slots = Counter(s for each in sequences for s in slots_of(each))
        for sequence in sequences:
            for page in sequence.pages[sequence.immutable_pages :]:
                if mapped[page] > 1:
                    yield f"page {page} is writable by {name_of(sequence)} and mapped elsewhere"
            if slots[sequence.state_write_slot] > 1:
                yield f"slot {sequence.state_write_slot}, written by {name_of(sequence)}, is shared"


class CheckpointsAreProtected:
    """No page or slot of a published checkpoint can be written by anyone."""

    rules = "OWN-6 INV-7"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        for sequence in now.ledger.sequences:
            writable = set(sequence.pages[sequence.immutable_pages :])
            for checkpoint in checkpoints_of(now.ledger):
                if exposed := writable.intersection(checkpoint.pages):
                    yield (
                        f"{name_of(sequence)} may write pages {sorted(exposed)} of"
                        f" {checkpoint.summary.ref}"
                    )
                if checkpoint.state_slot == sequence.state_write_slot:
                    yield (
                        f"{name_of(sequence)} writes slot {checkpoint.state_slot} of"
                        f" {checkpoint.summary.ref}"
                    )


class CheckpointsAreComplete:
    """A checkpoint has a whole StateImage and pages that cover exactly its frontier."""

    rules = "INV-6 OWN-7"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        referenced = {slot for slot, _ in now.ledger.state_references}
        for checkpoint in checkpoints_of(now.ledger):
            summary = checkpoint.summary
            needed = pages_of_tokens(summary.frontier_tokens)
            if summary.frontier_tokens < 1 or len(checkpoint.pages) != needed:
                yield f"{summary} of {summary.ref} has {len(checkpoint.pages)} pages of {needed}"
            if checkpoint.state_slot not in referenced:
                yield f"{summary} of {summary.ref} lies in slot {checkpoint.state_slot}, a free one"


class LineagesNest:
    """The checkpoints of one continuation are prefixes of one address space, each named once."""

    rules = "OWN-3 OWN-1"

    def violations(self, now: ControllerSnapshot) -> Iterator[str]:
        refs = Counter(c.summary.ref.id for c in checkpoints_of(now.ledger))
        yield from (f"checkpoint id {ref} stands twice" for ref, n in refs.items() if n > 1)
        for owner in now.ledger.owners:
            yield from _nesting(f"owner {owner.owner}", owner.checkpoints)
            deepest = max((c.summary.frontier_tokens for c in owner.checkpoints), default=0)
            if deepest != owner.history_tokens:
                yield f"owner {owner.owner} knows {owner.history_tokens} tokens, reaches {deepest}"
            foreign = {c.summary.ref.owner for c in owner.checkpoints} - {owner.owner}
            yield from (f"owner {owner.owner} holds a checkpoint of owner {o}" for o in foreign)
        for sequence in now.ledger.sequences:
            yield from _nesting(name_of(sequence), sequence.checkpoints)
            for checkpoint in sequence.checkpoints:
                full = checkpoint.summary.frontier_tokens // PAGE_TOKENS
                if checkpoint.pages[:full] != sequence.pages[:full]:
                    yield f"{checkpoint.summary} is no prefix of {name_of(sequence)}"


class PublishedNeverChanges:
    """While a checkpoint exists, its identity, frontier and coverage are what they were."""

    rules = "OWN-6"

    def violations(self, before: ControllerSnapshot, after: ControllerSnapshot) -> Iterator[str]:
        earlier = {c.summary.ref: c for c in checkpoints_of(before.ledger)}
        for checkpoint in checkpoints_of(after.ledger):
            was = earlier.get(checkpoint.summary.ref, checkpoint)
            if was != checkpoint:
                yield f"{checkpoint.summary.ref} was {was}, is {checkpoint}"


def _nesting(holder: str, checkpoints: tuple[CheckpointPlacement, ...]) -> Iterator[str]:
    for shallow, deep in pairwise(checkpoints):
        full = shallow.summary.frontier_tokens // PAGE_TOKENS
        ascending = shallow.summary.frontier_tokens < deep.summary.frontier_tokens
        if not ascending or shallow.pages[:full] != deep.pages[:full]:
            yield f"{shallow.summary} is no shallower prefix of {deep.summary} in {holder}"
