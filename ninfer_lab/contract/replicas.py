"""Which replicas does somebody keep? One set of bits.

Owns the name of the one representation in which Program counts, compares and joins placements. A
set is a Python integer; what several holders keep together is the `|` of what each keeps, so an
allocation that two refer to counts once and goes with the last (ACC-2, REC-2). Which bit stands for
what is Program's (`program.storage.replica_layout`): outside, sets are equal or not, and no more.
"""

from __future__ import annotations

from typing import NewType

ReplicaSet = NewType("ReplicaSet", int)

NOTHING = ReplicaSet(0)
"""No replica of anything."""
