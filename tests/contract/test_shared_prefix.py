"""Law: evidence is a set of reasons, and only what a caller declares brings credit."""

from __future__ import annotations

import doctest

from ninfer_lab.contract import shared_prefix
from ninfer_lab.contract.shared_prefix import MARKER_EVIDENCE, Evidence


def test_the_example_holds() -> None:
    results = doctest.testmod(shared_prefix)
    assert results.failed == 0
    assert results.attempted > 0


def test_flags_are_numbered_as_in_the_original_engine() -> None:  # spec: EVD-1
    assert [each.value for each in Evidence] == [1, 2, 4, 8, 16]


def test_only_declared_evidence_brings_credit() -> None:  # spec: EVD-1
    declared = [each for each in Evidence if each.is_declared]
    assert declared == [Evidence.EXPLICIT_BOUNDARY, Evidence.REQUESTED_AUTOMATIC]
    assert (Evidence.ENGINE_STRUCTURAL | Evidence.EXPLICIT_BOUNDARY).is_declared
    assert not (Evidence.ENGINE_STRUCTURAL | Evidence.DEFAULT_AUTOMATIC).is_declared
    assert Evidence.ENGINE_STRUCTURAL not in MARKER_EVIDENCE
