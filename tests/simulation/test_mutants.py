"""Law: an engine that breaks a rule does not survive the walks; each mutant plants one wrong thing.

Without mutants the walks pass. A mutant that a walk, a law or the contents do not notice is a hole
in this suite, and fails here.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import InvariantBroken
from simulation.mutants import MUTANTS
from simulation.proof_walk import WALKS

KILLED = (InvariantBroken, AssertionError, pytest.fail.Exception)
"""A law or a content, an assertion of the engine or of a walk, a refusal that did not come.

Anything else (a TypeError, say) is no verdict but a mutant that does not fit, and is raised.
"""


def killer() -> str | None:
    """What noticed the mutant first; `None` if every walk ended as it should."""
    for walk in WALKS:
        try:
            walk()
        except KILLED as verdict:
            return f"{walk.__name__}: {type(verdict).__name__}: {verdict}"
        except KeyboardInterrupt:
            return f"{walk.__name__}: an interrupt that no step held back"
    return None


def test_nothing_is_wrong_without_a_mutant() -> None:
    for walk in WALKS:
        walk()


@pytest.mark.parametrize("name", sorted(MUTANTS))
def test_no_mutant_survives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    assert killer() is not None, f"a hole: nothing noticed {name}"
