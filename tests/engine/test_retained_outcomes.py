"""Law: an outcome can be asked for once its request has ended, until enough others have."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.engine.retained_outcomes import RetainedOutcomes
from simulation.engine_world import engine_world


def test_the_oldest_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ninfer_lab.engine.retained_outcomes.RETAINED_OUTCOMES", 2)
    world, outcomes = engine_world(), RetainedOutcomes()
    ended = [world.finish(world.submit(range(n, n + 9))) for n in range(3)]
    for outcome in ended:
        assert outcome.request not in outcomes
        outcomes.keep(outcome)
        assert outcomes.of(outcome.request) is outcome
    assert [outcome.request in outcomes for outcome in ended] == [False, True, True]
    for unknown in (ended[0].request, RequestId(99)):
        with pytest.raises(PromptError, match="running or unknown; legal: one that has ended"):
            outcomes.of(unknown)
