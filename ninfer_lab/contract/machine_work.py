"""What work does a resource decision ask of the machine, before anyone says how long it takes?

Owns the values that Program emits about a target or about one way to recover a checkpoint: copies
by phase and direction, and prefill by its size. They are canonical: equal work is equal as a value,
so that a price can be looked up by it.
Does not know prices (COST-1), nor where the bytes lie.
Source: spec COST-2..4; what a chunk and an operation are: the original engine's cost model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class TransferPhase(Enum):
    """Which half of a transition a copy belongs to: the halves run one after the other (COST-2)."""

    PRESSURE_TO_HOST = "pressure_to_host"
    """What victims keep is saved to Host."""
    CANDIDATE = "candidate"
    """The source is restored, copied and made writable."""


class TransferDirection(Enum):
    """From where to where."""

    D2H = "d2h"
    H2D = "h2d"
    D2D = "d2d"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferBatch:
    """All copies of one phase and direction: they are issued together.

    Attributes:
        payload_bytes: Bytes that arrive, without padding of any arena.
        operation_count: Copy calls that carry them.
    """

    phase: TransferPhase
    direction: TransferDirection
    payload_bytes: int
    operation_count: int

    def __post_init__(self) -> None:
        assert self.payload_bytes >= 0
        assert self.operation_count >= 0

    @property
    def is_empty(self) -> bool:
        """Nothing to copy."""
        return not self.payload_bytes and not self.operation_count

    @property
    def crosses_tiers(self) -> bool:
        """Between Device and Host: asynchronous, where a copy within the Device is not."""
        return self.direction is not TransferDirection.D2D

    @property
    def order(self) -> tuple[int, int]:
        """Sort key: phases in their order, then directions in theirs."""
        return _PHASES.index(self.phase), _DIRECTIONS.index(self.direction)


_PHASES = tuple(TransferPhase)
_DIRECTIONS = tuple(TransferDirection)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillWork:
    """Tokens to compute behind tokens that are reused.

    Attributes:
        reused_tokens: B, the frontier that the computation starts from.
        suffix_tokens: S, the tokens to compute.
        chunk_count: Forwards it takes.
        vision_item_count: Images or frames to encode; 0 for text.
        vision_patch_count: Patches over all of them.
    """

    reused_tokens: int
    suffix_tokens: int
    chunk_count: int
    vision_item_count: int = 0
    vision_patch_count: int = 0

    def __post_init__(self) -> None:
        assert self.reused_tokens >= 0
        assert 0 <= self.chunk_count <= self.suffix_tokens
        assert (self.chunk_count == 0) == (self.suffix_tokens == 0)
        assert 0 <= self.vision_item_count <= self.vision_patch_count

    @classmethod
    def between(
        cls,
        start_tokens: int,
        end_tokens: int,
        *,
        prefill_chunk_tokens: int,
        cuts_tokens: Iterable[int] = (),
    ) -> PrefillWork:
        """The prefill of `[start_tokens, end_tokens)`, text only.

        Args:
            start_tokens: Frontier of the source; 0 is root.
            end_tokens: Frontier wanted.
            prefill_chunk_tokens: Most tokens of one forward.
            cuts_tokens: Frontiers at which a forward must end: execution frontiers of the prompt,
                and where a capture splits a chunk. Those not strictly inside count for nothing.

        Example: 1,455 tokens in chunks of 1,024 are two forwards, and three with a cut at 1,430,
        because `[0, 1430)` takes two and `[1430, 1455)` another.

        >>> PrefillWork.between(0, 1455, prefill_chunk_tokens=1024).chunk_count
        2
        >>> PrefillWork.between(0, 1455, prefill_chunk_tokens=1024, cuts_tokens=(1430,)).chunk_count
        3
        """
        assert 0 <= start_tokens <= end_tokens
        assert prefill_chunk_tokens >= 1
        inside = sorted({cut for cut in cuts_tokens if start_tokens < cut < end_tokens})
        chunk_count, segment_start = 0, start_tokens
        for segment_end in (*inside, end_tokens):
            chunk_count += -(-(segment_end - segment_start) // prefill_chunk_tokens)
            segment_start = segment_end
        return cls(
            reused_tokens=start_tokens,
            suffix_tokens=end_tokens - start_tokens,
            chunk_count=chunk_count,
        )

    @property
    def is_empty(self) -> bool:
        """Nothing to compute."""
        return not self.suffix_tokens and not self.vision_item_count

    @property
    def attention_pairs_count(self) -> int:
        """B·S + S(S+1)/2: each computed token with itself and with every token before it.

        >>> PrefillWork.between(10, 12, prefill_chunk_tokens=8).attention_pairs_count  # 11 + 12
        23
        """
        suffix = self.suffix_tokens
        return self.reused_tokens * suffix + suffix * (suffix + 1) // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineWork:
    """Ordered copies, then what is left to prefill: a whole target, or one recovery recipe (VAL-2).

    Attributes:
        transfers: At most one batch per phase and direction, in their order; none of them empty.
        prefill: `None` where nothing is computed.
    """

    transfers: tuple[TransferBatch, ...] = ()
    prefill: PrefillWork | None = None

    def __post_init__(self) -> None:
        if len(self.transfers) > 1:
            orders = [batch.order for batch in self.transfers]
            assert orders == sorted(set(orders)), "build it with MachineWork.of"
        assert not any(batch.is_empty for batch in self.transfers), "build it with MachineWork.of"
        assert self.prefill is None or not self.prefill.is_empty, "build it with MachineWork.of"

    @classmethod
    def of(
        cls, batches: Iterable[TransferBatch] = (), *, prefill: PrefillWork | None = None
    ) -> MachineWork:
        """Coalesces copies of one phase and direction, whatever order they come in (COST-3)."""
        transfers = [batch for batch in batches if not batch.is_empty]
        if len(transfers) > 1:
            transfers = _coalesced(transfers)
        return cls(
            transfers=tuple(transfers),
            prefill=None if prefill is None or prefill.is_empty else prefill,
        )


def _coalesced(batches: Iterable[TransferBatch]) -> list[TransferBatch]:
    totals: dict[tuple[int, int], TransferBatch] = {}
    for batch in batches:
        before = totals.get(batch.order)
        totals[batch.order] = batch if before is None else _joined(before, batch)
    return [totals[order] for order in sorted(totals)]


def _joined(one: TransferBatch, other: TransferBatch) -> TransferBatch:
    return TransferBatch(
        phase=one.phase,
        direction=one.direction,
        payload_bytes=one.payload_bytes + other.payload_bytes,
        operation_count=one.operation_count + other.operation_count,
    )
