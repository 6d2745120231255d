"""Which replicas does somebody want to be there? One set per kind of replica, as bits.

Owns `ReplicaSet`, the one representation in which Program counts, compares and joins placements: a
Python integer per kind, bit `i` standing for image or page `i`. What several holders want together
is the union of what each wants, so an allocation that two refer to counts once and goes with the
last (ACC-2, REC-2). Outside Program the value is opaque: equal or not, and no more.
"""

from __future__ import annotations

from typing import NamedTuple


class ReplicaSet(NamedTuple):
    """Replicas of StateImages and of KV logical pages of both pools."""

    device_images: int = 0
    host_images: int = 0
    device_pages: int = 0
    device_backend_pages: int = 0
    host_pages: int = 0
    host_backend_pages: int = 0

    def union(self, other: ReplicaSet) -> ReplicaSet:
        """What both want together."""
        return ReplicaSet(*map(int.__or__, self, other))

    def without(self, other: ReplicaSet) -> ReplicaSet:
        """What is here and not there."""
        return ReplicaSet(*(mine & ~theirs for mine, theirs in zip(self, other, strict=True)))

    def shared_with(self, other: ReplicaSet) -> ReplicaSet:
        """What is here and there."""
        return ReplicaSet(*map(int.__and__, self, other))

    @property
    def is_empty(self) -> bool:
        """No replica of anything."""
        return not any(self)


NOTHING = ReplicaSet()
