"""Law: a mistake says what, found and legal in one line; a broken law is no mistake of a caller."""

from __future__ import annotations

from ninfer_lab.contract.errors import (
    CheckpointError,
    InvariantBroken,
    NinferLabError,
    OptionsError,
    PlanRefused,
    PromptError,
)


def test_every_mistake_is_one_line_of_what_found_legal() -> None:
    for kind in (OptionsError, PromptError, CheckpointError, PlanRefused):
        error = kind("options.top_p", found=7, legal="0 < top_p <= 1")
        assert isinstance(error, NinferLabError)
        assert str(error) == "options.top_p: found 7; legal: 0 < top_p <= 1"


def test_a_broken_law_is_not_caught_as_a_mistake() -> None:
    broken = InvariantBroken("ACC-4 occupancy", "5 of 4")
    assert not isinstance(broken, NinferLabError)
    assert str(broken) == "ACC-4 occupancy: 5 of 4"
