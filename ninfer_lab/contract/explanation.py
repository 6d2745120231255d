"""Why does this target not fit? The violated inequality, and everything that makes it up.

Owns the explanation as one value with its plain and HTML forms: the same for tests, notebooks and
widgets. Shared units stand once, under all who refer to them together, so the parts add up to what
is used. Does not know how the ledger counts; it refuses parts that do not add up.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.target import Violation


class HolderKind(Enum):
    """Who can hold something on an axis."""

    OWNER = "owner"
    """An inactive continuation."""
    SEQUENCE = "sequence"
    """An active one, with the checkpoints of its lineage."""
    REQUEST = "request"
    """The candidate's own, which is not active yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """One who refers to units, or has a reservation.

    Attributes:
        id: OwnerId, SequenceId or RequestId, by kind.
    """

    kind: HolderKind
    id: int

    @property
    def order(self) -> tuple[int, int]:
        """Sort key: owners, sequences, the request; each by id."""
        return _KINDS.index(self.kind), self.id

    def __str__(self) -> str:
        return f"{self.kind.value} {self.id}"


_KINDS = tuple(HolderKind)


class HoldingKind(Enum):
    """Why units cannot be had (ACC-1)."""

    ALLOCATED = "allocated"
    """Replicas that their holders refer to."""
    PINNED = "pinned"
    """The source of a Fork that has not run yet, and that nothing but its pin keeps (STATE-4)."""
    GROWTH = "promised growth"
    """Guaranteed to an active sequence, or to the candidate, and not mapped yet (ACT-2)."""
    DESTINATION = "held for a copy"
    """Where a copy of this transition arrives: a tail, a restored or a demoted replica (STG-2)."""

    @property
    def is_reservation(self) -> bool:
        """Counted as reserved, not as allocated (ACC-2)."""
        return self in (HoldingKind.GROWTH, HoldingKind.DESTINATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Units of the violated axis that the same holders hold together, for the same reason.

    Attributes:
        holders: In their order; more than one share every one of these units.
        units_count: Slots, pages or bytes, as the axis says.
    """

    holders: tuple[Holder, ...]
    kind: HoldingKind
    units_count: int

    def __post_init__(self) -> None:
        assert self.units_count > 0
        assert self.holders
        assert list(self.holders) == sorted(self.holders, key=lambda holder: holder.order)

    def __str__(self) -> str:
        names = ", ".join(map(str, self.holders))
        shared = " together" if len(self.holders) > 1 else ""
        return f"{self.units_count:,} {self.kind.value} by {names}{shared}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One inequality that fails, taken apart.

    Attributes:
        target: The target in words.
        violation: Axis, stage, used and capacity; the hole that is missing, where that is it.
        holdings: Everything used on that axis at that stage.
        holes_bytes: On the Host arena, every free run, in order of place: their sum is free, and
            none may be long enough (CAP-2).
    """

    target: str
    violation: Violation
    holdings: tuple[Holding, ...]
    holes_bytes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        told = sum(holding.units_count for holding in self.holdings)
        assert told == self.violation.used_count, (
            f"the parts come to {told}, used are {self.violation.used_count}"
        )
        assert not self.holes_bytes or self.violation.axis is Axis.HOST_KV

    @property
    def allocated_count(self) -> int:
        """Units that hold something."""
        return self.violation.used_count - self.reserved_count

    @property
    def reserved_count(self) -> int:
        """Units promised or held, with nothing in them yet."""
        return sum(each.units_count for each in self.holdings if each.kind.is_reservation)

    @property
    def parts(self) -> tuple[Holding, ...]:
        """The holdings, largest first; of equals in the order of their holders."""
        return tuple(
            sorted(
                self.holdings,
                key=lambda each: (
                    -each.units_count,
                    [holder.order for holder in each.holders],
                    each.kind.value,
                ),
            )
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """The parts in words, and the holes where they are told."""
        parts = tuple(map(str, self.parts))
        if not self.holes_bytes:
            return parts
        holes = ", ".join(f"{size:,}" for size in self.holes_bytes)
        return (*parts, f"free runs: {holes} bytes")

    def __str__(self) -> str:
        heading = f"{self.target}\ndoes not fit {self.violation}:"
        return "\n".join((heading, *(f"  {line}" for line in self.lines)))

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(line)}</li>" for line in self.lines)
        target, violation = html.escape(self.target), html.escape(str(self.violation))
        return (
            f"<div style='text-align:left'>{target}<br>does not fit {violation}"
            f"<ul>{items}</ul></div>"
        )
