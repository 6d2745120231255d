"""How do ordinals become one integer, and come back?

Owns the two conversions. A bit set is a plain Python integer: `|`, `&`, `~` and `bit_count()` are
the rest of its interface.
"""

from __future__ import annotations

from collections.abc import Iterable

FEW_RUNS = 16
"""Pages are mostly taken side by side: a set of so few runs is read run by run, which is faster."""

_BITS_OF_BYTE = tuple(tuple(i for i in range(8) if byte >> i & 1) for byte in range(256))


def mask_of(ordinals: Iterable[int]) -> int:
    """The set of some ordinals.

    Example:
        >>> bin(mask_of((0, 3)))
        '0b1001'
    """
    listed = tuple(ordinals)
    if not listed:
        return 0
    octets = bytearray((max(listed) >> 3) + 1)
    for ordinal in listed:
        octets[ordinal >> 3] |= 1 << (ordinal & 7)
    return int.from_bytes(octets, "little")


def ordinals_of(mask: int) -> tuple[int, ...]:
    """The ordinals in a set, ascending.

    Example:
        >>> ordinals_of(0b1001)
        (0, 3)
    """
    return _by_runs(mask) if runs_count(mask) <= FEW_RUNS else _by_octets(mask)


def _by_runs(mask: int) -> tuple[int, ...]:
    found: list[int] = []
    passed = 0
    while mask:
        gap = (mask & -mask).bit_length() - 1
        mask >>= gap
        # Adding one carries through the run: the lowest free bit is behind its end.
        length = (mask + 1 & ~mask).bit_length() - 1
        mask >>= length
        passed += gap + length
        found.extend(range(passed - length, passed))
    return tuple(found)


def _by_octets(mask: int) -> tuple[int, ...]:
    octets = mask.to_bytes((mask.bit_length() + 7) >> 3, "little")
    return tuple(
        [
            (index << 3) + bit
            for index, octet in enumerate(octets)
            if octet
            for bit in _BITS_OF_BYTE[octet]
        ]
    )


def run_mask(first: int, count: int) -> int:
    """The set `[first, first + count)`."""
    return ((1 << count) - 1) << first


def runs_count(mask: int) -> int:
    """Runs of consecutive ordinals in a set.

    Example:
        >>> runs_count(0b1011)
        2
    """
    return (mask & ~(mask << 1)).bit_count()
