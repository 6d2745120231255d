"""Is there room, where pages and states are paid from one pool or from two?

Owns the arithmetic of room for both. Keeps nothing and gives nothing up.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Pages and state slots: wanted, free, or what could be made free."""

    pages: int = 0
    slots: int = 0

    def __add__(self, other: Room) -> Room:
        return Room(pages=self.pages + other.pages, slots=self.slots + other.slots)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnifiedPool:
    """One budget for pages and states.

    Attributes:
        pages_count: The budget.
        state_pages: What one state costs, in pages.
    """

    pages_count: int
    state_pages: int

    def cost_pages(self, room: Room) -> int:
        """Of so much."""
        return room.pages + self.state_pages * room.slots
