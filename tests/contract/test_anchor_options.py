"""Law: an engine keeps two long anchors and proposes as many, unless told otherwise; what it could
not keep it does not propose.
"""

from __future__ import annotations

import pytest

from ninfer_lab.contract.anchor_options import NO_PRIVATE_ANCHORS, PrivateAnchors
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.options import ContextCache, EngineOptions

OFF = ContextCache.DISABLED


def resolved(
    long: int | None = None,
    automatic: int | None = None,
    *,
    endpoints: bool = True,
    cache: ContextCache = ContextCache.ENABLED,
) -> PrivateAnchors:
    options = EngineOptions(
        max_long_anchors_per_continuation=long,
        automatic_private_anchors=automatic,
        endpoint_anchors=endpoints,
        context_cache=cache,
    )
    return options.resolve().anchors


@pytest.mark.parametrize(
    ("long", "automatic", "kept"),
    [
        (None, None, (2, 2)),
        (3, None, (3, 3)),
        (None, 0, (2, 0)),
        (1, 5, (1, 5)),
        (64, 64, (64, 64)),
    ],
)
def test_as_many_are_proposed_as_kept_unless_told_otherwise(  # spec: CFG-1, ANC-1
    long: int | None, automatic: int | None, kept: tuple[int, int]
) -> None:
    anchors = resolved(long, automatic)
    assert (anchors.retained_count, anchors.automatic_count) == kept
    assert anchors.at_endpoints
    assert (anchors.endpoint_gain_tokens, anchors.slots_count) == (1_024, 1)
    assert not resolved(long, automatic, endpoints=False).at_endpoints


@pytest.mark.parametrize(
    "anchors", [resolved(0), resolved(0, 0), resolved(cache=OFF), resolved(0, 0, cache=OFF)]
)
def test_where_none_is_kept_none_is_proposed(anchors: PrivateAnchors) -> None:  # spec: MODE-3
    assert anchors == NO_PRIVATE_ANCHORS


@pytest.mark.parametrize(
    ("long", "automatic", "cache", "says"),
    [
        (-1, None, ContextCache.ENABLED, r"max_long_anchors_per_continuation: found -1; .*<= 64"),
        (65, None, ContextCache.ENABLED, r"max_long_anchors_per_continuation: found 65; .*<= 64"),
        (1, None, OFF, r"max_long_anchors_per_continuation: found 1; .*context_cache is DISABLED"),
        (None, -1, ContextCache.ENABLED, r"automatic_private_anchors: found -1; .*<= 64"),
        (None, 65, ContextCache.ENABLED, r"automatic_private_anchors: found 65; .*<= 64"),
        (0, 1, ContextCache.ENABLED, r"automatic_private_anchors: found 1; .*continuation is 0"),
        (None, 1, OFF, r"automatic_private_anchors: found 1; .*continuation is 0"),
    ],
)
def test_what_could_not_be_kept_is_refused(  # spec: CFG-1
    long: int | None, automatic: int | None, cache: ContextCache, says: str
) -> None:
    with pytest.raises(OptionsError, match=says):
        resolved(long, automatic, cache=cache)
