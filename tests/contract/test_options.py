"""Law: resolved options hold what the defaults promise: as many longest requests as lanes."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.options import EngineOptions, pages_of_tokens


@pytest.mark.parametrize("context_tokens", [2, 64, 65, 545, 2_048])
@pytest.mark.parametrize("lanes", [1, 3, 8])
def test_the_default_pages_hold_a_longest_request_in_every_lane(
    context_tokens: int, lanes: int
) -> None:  # spec: CFG-1
    options = EngineOptions(max_concurrency=lanes, max_context_tokens=context_tokens)
    pages = options.resolve().capacity.device_kv_pages
    assert pages == lanes * pages_of_tokens(context_tokens)
