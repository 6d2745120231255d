"""Which uniform number belongs to a seed and a position?

Owns Philox4x32-10 in plain integers: a keyed permutation of counters, so that the number at a
position needs no history and a resumed request draws what the uninterrupted one would have drawn.
Imports no torch. Does not know what the number decides.
Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"; tested
against the known answers published with it.
"""

from __future__ import annotations

_WORD = 2**32
_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_MANTISSA_BITS = 53


def philox4x32(
    counter: tuple[int, int, int, int], key: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Ten rounds on four 32-bit words under two key words."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        high0, low0 = divmod(_MULTIPLIERS[0] * c0, _WORD)
        high1, low1 = divmod(_MULTIPLIERS[1] * c2, _WORD)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + _WEYL[0]) % _WORD, (k1 + _WEYL[1]) % _WORD
    return c0, c1, c2, c3


def uniform(seed: int, position_tokens: int) -> float:
    """The number in [0, 1) of one position of one request.

    Args:
        seed: Key, `0 <= seed < 2^64`.
        position_tokens: Absolute position of the drawn token, `0 <= position < 2^64`.

    Raises:
        ValueError: Either lies outside its range.
    """
    for name, value in (("seed", seed), ("position_tokens", position_tokens)):
        if not 0 <= value < 2**64:
            raise ValueError(f"{name}: found {value}; legal: 0 <= {name} < 2**64")
    counter = (position_tokens % _WORD, position_tokens // _WORD, 0, 0)
    high, low, _, _ = philox4x32(counter, (seed % _WORD, seed // _WORD))
    return ((high * _WORD + low) >> (64 - _MANTISSA_BITS)) * 2.0**-_MANTISSA_BITS
