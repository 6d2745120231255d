"""Law: a design of the community that breaks a rule is caught by the test that names the rule."""

from __future__ import annotations

import pytest

from policies.tree_mutants import MUTANTS
from program.mutant import Mutant
from program.test_mutants import require_caught


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_the_test_that_names_a_rule_catches_who_breaks_it(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_caught(mutant, monkeypatch)
