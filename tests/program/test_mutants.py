"""Law: whoever breaks a rule is caught by the very test that names it."""

from __future__ import annotations

import inspect

import pytest

from ninfer_lab.contract.errors import InvariantBroken, PlanRefused
from program.mutant import Mutant
from program.mutants_of_captures import MUTANTS_OF_CAPTURES
from program.mutants_of_states import MUTANTS_OF_STATES
from program.mutants_of_transitions import MUTANTS_OF_TRANSITIONS

MUTANTS = (*MUTANTS_OF_STATES, *MUTANTS_OF_TRANSITIONS, *MUTANTS_OF_CAPTURES)

KILLED = (AssertionError, InvariantBroken, PlanRefused, pytest.fail.Exception)
"""What a test says; anything else is a mutant that does not fit, and is raised."""


def run_killer(mutant: Mutant) -> None:
    with pytest.MonkeyPatch.context() as patch:
        asks = "monkeypatch" in inspect.signature(mutant.killer).parameters
        mutant.killer(*mutant.arguments, *((patch,) if asks else ()))


def require_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The killer names the rule, passes alone, and fails beside the mutant."""
    source = inspect.getsource(mutant.killer)
    body = source.partition("# spec: ")[2].splitlines()[:1]
    assert mutant.rule in " ".join(body), f"{mutant.killer.__name__} does not name {mutant.rule}"
    run_killer(mutant)
    mutant.plant(monkeypatch)
    with pytest.raises(KILLED):
        run_killer(mutant)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_the_test_that_names_a_rule_catches_who_breaks_it(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_caught(mutant, monkeypatch)
