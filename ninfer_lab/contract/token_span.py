"""What is a run of token ids, when it is compared, cut and hashed often and can be 200,000 long?

Owns `TokenSpan`, an immutable sequence of token ids packed as int32, and the digest of its
prefixes. Equality, slicing, concatenation, hashing and the common prefix work on the packed bytes,
never on Python integers.
Does not know a vocabulary: it checks that an id is in `[0, 2**31)`, not that a tokenizer knows it.
Source: IDN-3 and IDN-4 (token ids are compared exactly; a digest only narrows a search).
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NewType, final, overload

from ninfer_lab.contract.errors import PromptError

PrefixDigest = NewType("PrefixDigest", bytes)

TOKEN_BYTES = 4
"""One packed token id: a signed 32-bit integer in the host's byte order."""

DIGEST_BYTES = 16
"""Length of a `PrefixDigest`: wide enough that a shortlist does not collide by chance."""

_FIRST_GALLOP_BYTES = 256
_SMALL_BLOCK_BYTES = 1_024
_REPR_EDGE_TOKENS = 4


@final
class TokenSpan(Sequence[int]):
    """An immutable run of token ids.

    Args:
        tokens: The ids, each in `[0, 2**31)`.

    Raises:
        PromptError: An id is negative, too large, or not an integer.

    Example:
        >>> span = TokenSpan([7, 8, 9])
        >>> span[:2] + TokenSpan([9]) == span
        True
        >>> span.common_prefix_tokens(TokenSpan([7, 8, 1, 9]))
        2
    """

    __slots__ = ("_packed",)
    _packed: bytes

    def __init__(self, tokens: Iterable[int] = ()) -> None:
        packed = tokens._packed if isinstance(tokens, TokenSpan) else _pack(tokens)
        object.__setattr__(self, "_packed", packed)

    @classmethod
    def from_bytes(cls, packed: bytes) -> TokenSpan:
        """The span whose `to_bytes()` is `packed`.

        Args:
            packed: int32 token ids, `TOKEN_BYTES` each, in the host's byte order.

        Raises:
            PromptError: The length is no multiple of `TOKEN_BYTES`, or an id is negative.
        """
        if len(packed) % TOKEN_BYTES:
            raise PromptError(
                "packed token ids",
                found=f"{len(packed)} bytes",
                legal=f"a multiple of {TOKEN_BYTES} bytes",
            )
        ids = array("i")
        ids.frombytes(packed)
        _refuse_negative(ids)
        return _wrap(bytes(packed))

    @staticmethod
    def concatenated(spans: Iterable[TokenSpan]) -> TokenSpan:
        """All spans end to end, copied once. Reads only."""
        return _wrap(b"".join(span._packed for span in spans))

    def to_bytes(self) -> bytes:
        """The packed ids, int32 each, without a copy."""
        return self._packed

    def common_prefix_tokens(self, other: TokenSpan) -> int:
        """How many leading tokens the two spans share.

        Compares blocks of doubling size until one differs, then halves that block: early
        differences cost almost nothing, and none costs more than a few passes of `memcmp`.

        Args:
            other: Any span, of any length.

        Returns:
            The count, in `[0, min(len(self), len(other))]`.
        """
        left, right = self._packed, other._packed
        if left[:TOKEN_BYTES] != right[:TOKEN_BYTES]:  # what strangers have
            return 0
        limit_bytes = min(len(left), len(right))
        same_bytes, step_bytes = 0, _FIRST_GALLOP_BYTES
        while same_bytes < limit_bytes:
            end_bytes = min(same_bytes + step_bytes, limit_bytes)
            if left[same_bytes:end_bytes] != right[same_bytes:end_bytes]:
                return _first_difference_bytes(left, right, same_bytes, end_bytes) // TOKEN_BYTES
            same_bytes, step_bytes = end_bytes, step_bytes * 2
        return limit_bytes // TOKEN_BYTES

    def starts_with(self, prefix: TokenSpan) -> bool:
        """Whether `prefix` is the beginning of this span."""
        return self._packed.startswith(prefix._packed)

    def prefix_digest(self, frontier_tokens: int) -> PrefixDigest:
        """Digest of the tokens `[0, frontier_tokens)`: a search key, never a proof (IDN-4).

        Raises:
            PromptError: The frontier lies outside `[0, len(self)]`.
        """
        return self.prefix_digests((frontier_tokens,))[0]

    def prefix_digests(self, frontiers_tokens: Iterable[int]) -> tuple[PrefixDigest, ...]:
        """The digests of several prefixes in one pass over the tokens.

        Args:
            frontiers_tokens: Prefix lengths in tokens, not decreasing.

        Returns:
            One digest per frontier, each equal to `prefix_digest` of that frontier.

        Raises:
            PromptError: A frontier lies outside `[0, len(self)]` or before its predecessor.
        """
        hasher = hashlib.blake2b(digest_size=DIGEST_BYTES)
        digests: list[PrefixDigest] = []
        done_tokens = 0
        for frontier_tokens in frontiers_tokens:
            if not done_tokens <= frontier_tokens <= len(self):
                raise PromptError(
                    "prefix frontier",
                    found=f"{frontier_tokens} tokens",
                    legal=f"not decreasing, in [{done_tokens}, {len(self)}]",
                )
            hasher.update(self._packed[done_tokens * TOKEN_BYTES : frontier_tokens * TOKEN_BYTES])
            done_tokens = frontier_tokens
            digests.append(PrefixDigest(hasher.copy().digest()))
        return tuple(digests)

    def __len__(self) -> int:
        return len(self._packed) // TOKEN_BYTES

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> TokenSpan: ...
    def __getitem__(self, index: int | slice) -> int | TokenSpan:
        if not isinstance(index, slice):
            return self._ids()[index]
        start, stop, step = index.indices(len(self))
        if step != 1:
            return _wrap(self._ids()[index].tobytes())
        return _wrap(self._packed[start * TOKEN_BYTES : stop * TOKEN_BYTES])

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids())

    def __add__(self, other: TokenSpan) -> TokenSpan:
        if not isinstance(other, TokenSpan):
            return NotImplemented
        return _wrap(self._packed + other._packed)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenSpan):
            return NotImplemented
        return self._packed == other._packed

    def __hash__(self) -> int:
        return hash(self._packed)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"TokenSpan is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"TokenSpan is immutable: cannot delete {name}")

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return (_wrap, (self._packed,))

    def __repr__(self) -> str:
        if len(self) <= 2 * _REPR_EDGE_TOKENS + 1:
            return f"TokenSpan([{', '.join(map(str, self))}])"
        head = ", ".join(map(str, self[:_REPR_EDGE_TOKENS]))
        tail = ", ".join(map(str, self[-_REPR_EDGE_TOKENS:]))
        mark = self.prefix_digest(len(self)).hex()[:8]
        return f"<TokenSpan {len(self)} tokens: {head}, …, {tail} #{mark}>"

    def _ids(self) -> memoryview[int]:
        return memoryview(self._packed).cast("i")


def _wrap(packed: bytes) -> TokenSpan:
    """A span around bytes that are known to hold legal ids."""
    span = object.__new__(TokenSpan)
    object.__setattr__(span, "_packed", packed)
    return span


def _pack(tokens: Iterable[int]) -> bytes:
    if isinstance(tokens, bytes | bytearray):
        tokens = iter(tokens)  # `array` would take bytes as packed ids; that is `from_bytes`
    try:
        ids = array("i", tokens)
    except (OverflowError, TypeError) as error:
        raise PromptError(
            "token ids", found=str(error), legal=f"integers in [0, {2**31})"
        ) from error
    _refuse_negative(ids)
    return ids.tobytes()


def _refuse_negative(ids: array[int]) -> None:
    if ids and (lowest := min(ids)) < 0:
        raise PromptError(
            f"token id at position {ids.index(lowest)}", found=lowest, legal=f"[0, {2**31})"
        )


def _first_difference_bytes(left: bytes, right: bytes, low_bytes: int, high_bytes: int) -> int:
    """First token-aligned byte position in `[low, high)` whose token differs; one must differ.

    Halves a large block; in a small one the lowest bit that differs tells the place at once.
    """
    while high_bytes - low_bytes > _SMALL_BLOCK_BYTES:
        half_tokens = (high_bytes - low_bytes) // (2 * TOKEN_BYTES)
        middle_bytes = low_bytes + half_tokens * TOKEN_BYTES
        if left[low_bytes:middle_bytes] == right[low_bytes:middle_bytes]:
            low_bytes = middle_bytes
        else:
            high_bytes = middle_bytes
    difference = int.from_bytes(left[low_bytes:high_bytes], "little") ^ int.from_bytes(
        right[low_bytes:high_bytes], "little"
    )
    same_bits = (difference & -difference).bit_length() - 1
    return low_bytes + same_bits // (8 * TOKEN_BYTES) * TOKEN_BYTES
