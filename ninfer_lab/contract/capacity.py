"""How much is there, and how much is in use, axis by axis? (CAP, ACC)

Owns the fixed capacity vector and its counterpart, the occupancy of one state. The axes are
independent (CAP-2): there is no sum over them anywhere, so none is defined. Does not know which
object uses what.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Axis(Enum):
    """One physical resource dimension, named with its unit."""

    DEVICE_STATE = "device state slots"
    DEVICE_KV = "device KV pages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """Fixed at start (CAP-1).

    Attributes:
        device_state_slots: C + H whole StateImages, one pool (STATE-1).
        device_kv_pages: 64-token pages of the Main KV pool.
    """

    device_state_slots: int
    device_kv_pages: int

    def of(self, axis: Axis) -> int:
        """Units of one axis."""
        match axis:
            case Axis.DEVICE_STATE:
                return self.device_state_slots
            case Axis.DEVICE_KV:
                return self.device_kv_pages


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisUse:
    """One axis of one state. A unit is allocated or reserved, never both (ACC-2)."""

    axis: Axis
    allocated_count: int
    reserved_count: int
    capacity_count: int

    @property
    def used_count(self) -> int:
        """Used_r of ACC-1."""
        return self.allocated_count + self.reserved_count

    @property
    def free_count(self) -> int:
        """Negative when a projected state does not fit."""
        return self.capacity_count - self.used_count

    def __str__(self) -> str:
        return (
            f"{self.axis.value}: {self.allocated_count} allocated + {self.reserved_count} reserved"
            f" of {self.capacity_count}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """Used_r of every axis: global occupancy, never an owner's share (ACC-3)."""

    device_state: AxisUse
    device_kv: AxisUse

    @property
    def axes(self) -> tuple[AxisUse, ...]:
        """Every axis, in the order of `Axis`."""
        return (self.device_state, self.device_kv)

    @property
    def over_capacity(self) -> tuple[AxisUse, ...]:
        """The axes that do not fit; empty for every real state (ACC-4)."""
        return tuple(use for use in self.axes if use.free_count < 0)

    def __str__(self) -> str:
        return "; ".join(str(use) for use in self.axes)
