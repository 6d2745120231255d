"""How many earlier points of a private history may be kept, and who proposes them? (ANC, CFG-1)

Owns the resolved choice and its check against the other options. Does not know prompts, nor which
anchor is worth keeping.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ninfer_lab.contract.errors import OptionsError

LONG_ANCHORS_PER_CONTINUATION = 2
"""Default L where a cache is enabled (ANC-1)."""

MAX_LONG_ANCHORS_PER_CONTINUATION = 64
"""Each is a whole StateImage: no engine has room for more, and lineages are walked often."""

MAX_AUTOMATIC_PRIVATE_ANCHORS = 64
"""Each cuts a prefill once more."""


ENDPOINT_ANCHOR_MINIMUM_GAIN_TOKENS = 1_024
"""How far above its owner's long anchors an endpoint must lie to become one itself (ANC-3)."""


class GivenAnchors(Protocol):
    """What a caller may choose; `None` stands for a default."""

    @property
    def max_long_anchors_per_continuation(self) -> int | None: ...

    @property
    def automatic_private_anchors(self) -> int | None: ...

    @property
    def endpoint_anchors(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateAnchors:
    """What an engine keeps and proposes of earlier points.

    Attributes:
        retained_count: Long anchors one continuation keeps at most, L.
        automatic_count: Message boundaries of a prompt, counted from its end, at which Frontend
            proposes one, N.
        at_endpoints: Whether the endpoint that a request continues is kept as an anchor (ANC-3).
        endpoint_gain_tokens: How far above its owner's long anchors it must lie for that.
        slots_count: Device slots beside the lanes' own: what is captured on the way takes one each,
            so more is never planned.
    """

    retained_count: int = 0
    automatic_count: int = 0
    at_endpoints: bool = False
    endpoint_gain_tokens: int = ENDPOINT_ANCHOR_MINIMUM_GAIN_TOKENS
    slots_count: int = 0

    @classmethod
    def resolve(
        cls, given: GivenAnchors, slots_count: int, *, is_cache_enabled: bool
    ) -> PrivateAnchors:
        """Fixes the defaults, which depend on each other.

        Args:
            given: An engine's options; without a cache there is no anchor to keep.
            slots_count: Device slots beside the lanes' own.
            is_cache_enabled: Whether anything is kept between requests (MODE-3).

        Raises:
            OptionsError: Out of range, or proposing what none may keep.
        """
        automatic = given.automatic_private_anchors
        limit = MAX_LONG_ANCHORS_PER_CONTINUATION if is_cache_enabled else 0
        retained = given.max_long_anchors_per_continuation
        if retained is None:
            retained = LONG_ANCHORS_PER_CONTINUATION if is_cache_enabled else 0
        if not 0 <= retained <= limit:
            raise OptionsError(
                "options.max_long_anchors_per_continuation",
                found=retained,
                legal=(
                    f"None, or 0 <= max_long_anchors_per_continuation <= {limit}"
                    if is_cache_enabled
                    else "None or 0 while context_cache is DISABLED"
                ),
            )
        proposed = retained if automatic is None else automatic
        if not 0 <= proposed <= (MAX_AUTOMATIC_PRIVATE_ANCHORS if retained else 0):
            raise OptionsError(
                "options.automatic_private_anchors",
                found=proposed,
                legal=(
                    f"None, or 0 <= automatic_private_anchors <= {MAX_AUTOMATIC_PRIVATE_ANCHORS}"
                    if retained
                    else "None or 0 where max_long_anchors_per_continuation is 0"
                ),
            )
        return cls(
            retained_count=retained,
            automatic_count=proposed,
            at_endpoints=given.endpoint_anchors and retained > 0,
            slots_count=slots_count if retained else 0,
        )


NO_PRIVATE_ANCHORS = PrivateAnchors()
"""Neither kept nor proposed."""
