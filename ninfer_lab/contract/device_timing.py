"""How long does a machine take for its work?

Owns the timing laws: copies, prefill and decode steps as functions of integer coefficients, and
`DeviceTiming`, all three together, by which a machine in virtual time charges what it does. The
same laws with other coefficients are what a planner believes (`cost.MachineCostModel`); belief and
truth are two values, equal by default and different on purpose in the miscalibration studies.
Does not know whose work it is, nor where coefficients come from. Times are whole ns, rounded up,
and saturate at 2^64 - 1.
Source: spec COST-3, COST-4; the chunk, token and vision terms are the original engine's; the decode
law is ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import assert_never

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.fixed_point import U64_MAX, q32_product, saturated_product, saturated_sum
from ninfer_lab.contract.machine_work import PrefillWork, TransferBatch, TransferDirection
from ninfer_lab.contract.options import KvPageBytes
from ninfer_lab.contract.work import ForwardPhase, ForwardStep


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferTiming:
    """Copies in one direction: the slower of getting them going and of moving the bytes (COST-3).

    Attributes:
        batch_ns: Once per batch.
        operation_ns: For each copy call.
        ns_per_byte_q32: 2^32 is one ns per byte.

    Example: 64 MiB in 8 calls at 50 µs + 12 µs a call and 40 GB/s. The calls take 146 µs, the
    bytes 1,678 µs, and the batch is bound by its bytes.

    >>> pcie = TransferTiming(batch_ns=50_000, operation_ns=12_000, ns_per_byte_q32=107_374_182)
    >>> pcie.latency_ns(8), pcie.bandwidth_ns(64 * 2**20), pcie.elapsed_ns(64 * 2**20, 8)
    (146000, 1677722, 1677722)
    """

    batch_ns: int
    operation_ns: int
    ns_per_byte_q32: int

    def __post_init__(self) -> None:
        _check(self)

    def latency_ns(self, operation_count: int) -> int:
        """Getting a batch of so many copy calls going."""
        return saturated_sum(self.batch_ns, saturated_product(operation_count, self.operation_ns))

    def bandwidth_ns(self, payload_bytes: int) -> int:
        """Moving so many bytes."""
        return q32_product(payload_bytes, self.ns_per_byte_q32)

    def elapsed_ns(self, payload_bytes: int, operation_count: int) -> int:
        """One batch; nothing to copy takes no time."""
        if not payload_bytes and not operation_count:
            return 0
        return max(self.latency_ns(operation_count), self.bandwidth_ns(payload_bytes))


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferTimings:
    """One law per direction: a link is not equally fast both ways."""

    d2h: TransferTiming
    h2d: TransferTiming
    d2d: TransferTiming

    def of(self, direction: TransferDirection) -> TransferTiming:
        """The law of one direction."""
        match direction:
            case TransferDirection.D2H:
                return self.d2h
            case TransferDirection.H2D:
                return self.h2d
            case TransferDirection.D2D:
                return self.d2d
            case _:
                assert_never(direction)

    def batch_ns(self, batch: TransferBatch) -> int:
        """One batch."""
        return self.of(batch.direction).elapsed_ns(batch.payload_bytes, batch.operation_count)

    def elapsed_ns(self, batches: Iterable[TransferBatch]) -> int:
        """Batches one after the other; coalesce them first (`MachineWork.of`)."""
        return saturated_sum(*(self.batch_ns(batch) for batch in batches))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillTiming:
    """Prefill, linear in its chunks, its tokens and its attention pairs (COST-4).

    Attributes:
        chunk_ns: For each forward: the weights are read once.
        token_ns_q32: For each computed token.
        attention_pair_ns_q32: For each pair of a computed token and one before it.
        vision_item_ns: For each image or frame.
        vision_patch_ns_q32: For each patch.
    """

    chunk_ns: int
    token_ns_q32: int
    attention_pair_ns_q32: int
    vision_item_ns: int = 0
    vision_patch_ns_q32: int = 0

    def __post_init__(self) -> None:
        _check(self)

    def terms(self, work: PrefillWork) -> PrefillTerms:
        """What each part of the work takes; `elapsed_ns` is their sum."""
        chunks_ns, tokens_ns, attention_ns, items_ns, patches_ns = self._terms_ns(work)
        return PrefillTerms(
            chunks_ns=chunks_ns,
            tokens_ns=tokens_ns,
            attention_ns=attention_ns,
            vision_items_ns=items_ns,
            vision_patches_ns=patches_ns,
        )

    def elapsed_ns(self, work: PrefillWork) -> int:
        """The whole prefill."""
        return saturated_sum(*self._terms_ns(work))

    def _terms_ns(self, work: PrefillWork) -> tuple[int, int, int, int, int]:
        """A bare tuple: a planner asks for hundreds of sums and for few of their parts."""
        return (
            saturated_product(work.chunk_count, self.chunk_ns),
            q32_product(work.suffix_tokens, self.token_ns_q32),
            q32_product(work.attention_pairs_count, self.attention_pair_ns_q32),
            saturated_product(work.vision_item_count, self.vision_item_ns),
            q32_product(work.vision_patch_count, self.vision_patch_ns_q32),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillTerms:
    """A prefill's time, part by part."""

    chunks_ns: int
    tokens_ns: int
    attention_ns: int
    vision_items_ns: int
    vision_patches_ns: int

    @property
    def total_ns(self) -> int:
        """Sum of the parts."""
        return saturated_sum(
            self.chunks_ns,
            self.tokens_ns,
            self.attention_ns,
            self.vision_items_ns,
            self.vision_patches_ns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeTiming:
    """One decode step of 1..8 rows, which is bound by memory: what is read, and how fast (ours).

    Attributes:
        step_ns: For each step, however many rows: the weights are streamed once.
        row_ns: For each row: its StateImage is read and written.
        kv_bytes_per_token: Keys and values of one token over all full-attention layers.
        kv_ns_per_byte_q32: For each byte of them that attention reads.

    Example: two rows at 1,000 and 3,000 tokens of 64 KiB each, at 1 TB/s (2^32 / 1000 a byte). They
    read 262,144,000 bytes, which take 262,144 ns beside 10 ms for the weights and 0.3 ms a row.

    >>> timing = DecodeTiming(
    ...     step_ns=10_000_000, row_ns=300_000, kv_bytes_per_token=65_536,
    ...     kv_ns_per_byte_q32=4_294_967,
    ... )
    >>> timing.elapsed_ns((1000, 3000))
    10862144
    """

    step_ns: int
    row_ns: int
    kv_bytes_per_token: int
    kv_ns_per_byte_q32: int

    def __post_init__(self) -> None:
        _check(self)

    def elapsed_ns(self, frontiers_tokens: Sequence[int]) -> int:
        """One step.

        Args:
            frontiers_tokens: For each row, the tokens that its attention reads: those before it and
                its own.
        """
        read_bytes = sum(frontiers_tokens) * self.kv_bytes_per_token
        return saturated_sum(
            self.step_ns,
            len(frontiers_tokens) * self.row_ns,
            q32_product(read_bytes, self.kv_ns_per_byte_q32),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTiming:
    """The truth of a machine in virtual time: what everything it does really takes."""

    transfer: TransferTimings
    prefill: PrefillTiming
    decode: DecodeTiming

    def transfers_ns(self, batches: Iterable[TransferBatch]) -> int:
        """Coalesced batches, one after the other."""
        return self.transfer.elapsed_ns(batches)

    def prefill_ns(self, work: PrefillWork) -> int:
        """A prefill of several forwards; the sum of its `forward_ns` but for roundings up."""
        return self.prefill.elapsed_ns(work)

    def decode_step_ns(self, frontiers_tokens: Sequence[int]) -> int:
        """One token of each row."""
        return self.decode.elapsed_ns(frontiers_tokens)

    def forward_ns(self, step: ForwardStep) -> int:
        """One forward, as a machine gets it."""
        match step.phase:
            case ForwardPhase.PREFILL:
                cut = step.rows[0].cut
                suffix_tokens = cut.end_tokens - cut.start_tokens
                work = PrefillWork(
                    reused_tokens=cut.start_tokens, suffix_tokens=suffix_tokens, chunk_count=1
                )
                return self.prefill_ns(work)
            case ForwardPhase.DECODE:
                return self.decode.elapsed_ns([row.cut.end_tokens for row in step.rows])
            case _:
                assert_never(step.phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedDevice:
    """What a device without tensors is like: how long things take there, and how large they are.

    Attributes:
        timing: The truth about time.
        kv_page_bytes: Of one 64-token page, for the price of copying it.
        state_image_bytes: Of one whole StateImage.
        backend_page_bytes: Of one page of a synthetic backend's pool; `None` without one.
    """

    timing: DeviceTiming
    kv_page_bytes: int
    state_image_bytes: int
    backend_page_bytes: int | None = None

    @property
    def page_bytes(self) -> KvPageBytes:
        """Of every pool there is."""
        return KvPageBytes(main=self.kv_page_bytes, backend=self.backend_page_bytes)


def _check(timing: TransferTiming | PrefillTiming | DecodeTiming) -> None:
    """A coefficient is a count of ns or of 2^-32 ns, in 64 bits."""
    for field in fields(timing):
        value = getattr(timing, field.name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= U64_MAX:
            raise OptionsError(
                f"{type(timing).__name__}.{field.name}",
                found=value,
                legal=f"an integer, 0 <= {field.name} <= 2**64 - 1",
            )
