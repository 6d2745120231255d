"""How much does it hurt to lose something of this owner's? (VAL-4)

Owns the retention classes and their weights. A class acts through its weight alone: it is no order
of eviction. Does not know what would be lost.
"""

from __future__ import annotations

from enum import Enum


class RetentionClass(Enum):
    """Of a private owner; a shared one has none."""

    DISPOSABLE = "disposable"
    """What a request left behind that could not be gone on with from its end."""
    RECENT_PRIVATE = "recent_private"
    """Published, and no session's latest."""
    LIVE_SESSION = "live_session"
    """What a session is bound to now."""

    @classmethod
    def of(cls, *, is_bound: bool, is_whole: bool) -> RetentionClass:
        """By whether a session is bound to it, and whether its request's end was published.

        >>> RetentionClass.of(is_bound=False, is_whole=False)
        <RetentionClass.DISPOSABLE: 'disposable'>
        """
        if is_bound:
            return cls.LIVE_SESSION
        return cls.RECENT_PRIVATE if is_whole else cls.DISPOSABLE

    @property
    def weight(self) -> int:
        """Factor on the owner's loss (VAL-4)."""
        return _WEIGHTS[self]


_WEIGHTS = {
    RetentionClass.DISPOSABLE: 1,
    RetentionClass.RECENT_PRIVATE: 4,
    RetentionClass.LIVE_SESSION: 16,
}
