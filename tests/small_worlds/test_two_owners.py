"""Law: with two owners, a plan is sealed exactly when the brute force says that it fits.

Exhaustively, up to the owners' names: every shape, sharing and company of `topologies`, and of
these every placement of a source, every outcome of the other owner, and every pair of outcomes
against a request from the root; each target in just the room it needs and with one unit less of
every axis. Every stage's projected use is the brute force's, and one target in `RUN_EVERY` is run
to its end, which must be the played one, content by content.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.options import SpeculativeBackend
from small_worlds.placements import every_placement, together
from small_worlds.proof import Tally, WorldProof
from small_worlds.targets import Target, from_owner, from_root
from small_worlds.topologies import Beside, Sharing, topologies

RUN_EVERY = 11
"""Coprime to the number of outcomes there mostly are, so that every kind of target has its turn."""
BACKEND = SpeculativeBackend(lag_tokens=40)
"""So far behind that its tails end elsewhere than Main's, and shallow checkpoints need no page."""


class TestFromACheckpoint:
    def test_wherever_its_owners_replicas_are(self) -> None:  # spec: STG-1, STATE-2, STATE-3
        tally = Tally()
        for topology in topologies():
            for world in every_placement(topology, 0):
                proof = WorldProof(world, tally)
                check_all(proof, from_owner(proof.picture, 0, {}))
        assert (tally.worlds_count, tally.targets_count) == (4_812, 19_248)
        assert tally.runs_count == 19_248 // RUN_EVERY + 1
        require_seen(tally, "state move", "state fork", "state restore", "cow", at_least=2_000)
        require_seen(tally, "waited at: destinations reserved", at_least=200)

    def test_whatever_becomes_of_the_other_owner(self) -> None:  # spec: REC-1, REC-2, REC-3
        tally = Tally()
        for topology in topologies(without=Sharing.NOTHING):
            for world in together(topology):
                proof = WorldProof(world, tally)
                check_all(proof, from_owner(proof.picture, 0, proof.outcomes))
        assert (tally.worlds_count, tally.targets_count) == (420, 24_396)
        require_seen(tally, "state move", "state fork", "state restore", "cow", at_least=1_500)
        require_refusals(tally, at_least=1_000)


class TestFromTheRoot:
    def test_whatever_becomes_of_both_owners(self) -> None:  # spec: STG-2, CAP-2
        tally = Tally()
        for topology in topologies(beside=Beside.NOBODY):
            for world in together(topology):
                proof = WorldProof(world, tally)
                check_all(proof, from_root(proof.picture, proof.outcomes))
        assert (tally.worlds_count, tally.targets_count) == (112, 20_985)
        require_refusals(tally, at_least=2_000)
        require_seen(tally, "bytes would do, no hole does", at_least=300)
        require_seen(tally, "waited at: Host places reserved", at_least=400)


class TestWithABackend:
    """Every company beside owners that grew one from the other, in two pools."""

    def test_each_pool_has_a_frontier_of_its_own(self) -> None:  # spec: KV-1, KV-5
        tally = Tally()
        for topology in topologies(beside=Beside.FORKED, backend=BACKEND):
            for world in together(topology):
                proof = WorldProof(world, tally)
                check_all(proof, islice(from_owner(proof.picture, 0, proof.outcomes), 0, None, 7))
                check_all(proof, islice(from_root(proof.picture, proof.outcomes), 0, None, 37))
        require_seen(tally, f"one less: {Axis.DEVICE_BACKEND_KV.value}", at_least=500)


def check_all(proof: WorldProof, targets: Iterable[Target]) -> None:
    """Compares each, and runs one in `RUN_EVERY`, over all worlds of the tally."""
    for target in targets:
        proof.check(target, runs=proof.tally.targets_count % RUN_EVERY == 0)


def require_refusals(tally: Tally, *, at_least: int) -> None:
    """One unit less has been refused often on every axis there is."""
    for axis in Axis:
        if axis is not Axis.DEVICE_BACKEND_KV:
            require_seen(tally, f"one less: {axis.value}", at_least=at_least)


def require_seen(tally: Tally, *things: str, at_least: int) -> None:
    """The enumeration has met each of these so often."""
    for thing in things:
        assert tally.seen[thing] >= at_least, (thing, tally)
