"""Law: whoever breaks a rule of saved sessions is caught by the very test that names it."""

from __future__ import annotations

import pytest

from engine.mutants_of_sessions import MUTANTS_OF_SESSIONS
from program.mutant import Mutant
from program.test_mutants import require_caught


@pytest.mark.parametrize("mutant", MUTANTS_OF_SESSIONS, ids=str)
def test_the_test_that_names_a_rule_catches_who_breaks_it(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_caught(mutant, monkeypatch)
