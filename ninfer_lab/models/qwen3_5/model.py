"""What are the logits of a row, given its pages and its state?

Owns the forward: embedding, layers, output head; the checks of the rows it is handed; and what
canonical mode does about a batch. Does not know who owns a slot or a page, what a request is, or
why a row starts where it starts. Source: Qwen3.5 dense text model; spec IDN-6 (canonical mode),
STATE-2 (InPlace and Fork are read and write slots of one forward).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import torch
from torch import Tensor

from ninfer_kernels.kernel_set import KernelSet
from ninfer_kernels.kv_pages.rows import PagedRows, RowPlacement
from ninfer_kernels.state_image.rows import StateRows, check_apart
from ninfer_lab.contract.numerics import Numerics
from ninfer_lab.contract.options import MAX_CONCURRENCY, PAGE_TOKENS
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.feed_forward import FeedForward
from ninfer_lab.models.qwen3_5.forward_rows import DecodeRow, ForwardRows, PrefillRow
from ninfer_lab.models.qwen3_5.full_attention import FullAttention
from ninfer_lab.models.qwen3_5.gated_delta_net import GatedDeltaNet
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors
from ninfer_lab.models.qwen3_5.weights import FullLayerWeights, LayerWeights, ModelWeights


class PrefillLogits(Enum):
    """Which logits a prefill returns."""

    NONE = "none"
    """No row: a chunk that is not the last needs no head."""
    LAST = "last"
    """One row: the token after the last."""
    ALL = "all"
    """A row per token."""


class HybridModel:
    """A Qwen3.5 dense text model on one device.

    Weights and KV are float32 or bfloat16; activations are float32 in both, recurrent state always.

    Args:
        geometry: Of the checkpoint.
        weights: Bound to the same geometry.
        kernels: Ops to run on.
        numerics: What a forward promises about bits.
    """

    def __init__(
        self,
        *,
        geometry: ModelGeometry,
        weights: ModelWeights,
        kernels: KernelSet,
        numerics: Numerics,
    ) -> None:
        self.geometry = geometry
        self.numerics = numerics
        self.kernels = kernels
        # Matrices are kept only as their products; the caller's weights may go.
        self._embedding = weights.embedding
        self._final_scale = weights.final_scale
        self._head = kernels.prepare_product(weights.head)
        self._layers = tuple(
            _Layer(geometry, layer, kernels, geometry.layer_kinds[:index].count(kind))
            for index, (layer, kind) in enumerate(
                zip(weights.layers, geometry.layer_kinds, strict=True)
            )
        )
        half = geometry.rotary_dim // 2
        exponents = torch.arange(half, dtype=torch.float32, device=weights.embedding.device) / half
        self._frequencies = 1.0 / (geometry.rope_theta**exponents)

    @torch.inference_mode()
    def prefill(
        self, tensors: DeviceTensors, row: PrefillRow, logits: PrefillLogits = PrefillLogits.LAST
    ) -> Tensor:
        """Consumes the tokens of one row, from any frontier.

        If it raises, at most the write slot and the row's new KV positions have changed.

        Returns:
            float32 `[0, vocab]`, `[1, vocab]` or `[T, vocab]`, as `logits` says.

        Raises:
            ValueError: No token, a token outside the vocabulary, pages or slots out of range or too
                few, or a root state that is not at 0. Nothing was written.
        """
        if not row.token_ids:
            raise ValueError("a prefill of no tokens; legal: at least one token id")
        self._check(tensors, row)
        if len(row.token_ids) == 1:
            # One token is a decode step: its bits depend on the cut and not on who made it.
            alone = DecodeRow(
                token_id=row.token_ids[0],
                position_tokens=row.start_tokens,
                page_ids=row.page_ids,
                state_read_slot=row.state_read_slot,
                state_write_slot=row.state_write_slot,
            )
            rows = self._rows(tensors, (alone,), ForwardPhase.DECODE)
        else:
            rows = self._rows(tensors, (row,), ForwardPhase.PREFILL)
        hidden = self._forward(tensors, row.token_ids, rows)
        match logits:
            case PrefillLogits.NONE:
                return hidden.new_empty((0, self.geometry.vocab_size))
            case PrefillLogits.LAST:
                return self._logits(hidden[-1:])
            case PrefillLogits.ALL:
                return self._logits(hidden)

    @torch.inference_mode()
    def decode(self, tensors: DeviceTensors, rows: Sequence[DecodeRow]) -> Tensor:
        """Consumes one token of each row; rows stand at frontiers of their own.

        If it raises, at most the write slots and the rows' new KV positions have changed.

        Returns:
            float32 `[B, vocab]`.

        Raises:
            ValueError: No row or more than `MAX_CONCURRENCY`, two rows that share a slot one of
                them writes, or as `prefill`. Nothing was written.
        """
        if not 1 <= len(rows) <= MAX_CONCURRENCY:
            raise ValueError(
                f"decode rows: found {len(rows)}; legal: 1 <= rows <= {MAX_CONCURRENCY}"
            )
        for row in rows:
            self._check(tensors, row)
        check_apart([_read_slot(row) for row in rows], [row.state_write_slot for row in rows])
        match self.numerics:
            case Numerics.FAST:
                return self._decode(tensors, rows)
            case Numerics.CANONICAL:
                # Row by row: then nothing that a row's bits come from has a shape that its
                # neighbours decide. Padding the batch is not enough: an element-wise loop rounds
                # its vector part and its scalar tail differently, so that a row's place shows.
                return torch.cat([self._decode(tensors, (row,)) for row in rows])

    def _decode(self, tensors: DeviceTensors, rows: Sequence[DecodeRow]) -> Tensor:
        tables = self._rows(tensors, rows, ForwardPhase.DECODE)
        return self._logits(self._forward(tensors, [row.token_id for row in rows], tables))

    def _forward(
        self, tensors: DeviceTensors, token_ids: Sequence[int], rows: ForwardRows
    ) -> Tensor:
        """`[N, hidden]` after the last layer, before the final norm."""
        ids = torch.tensor(token_ids, dtype=torch.int64, device=self._embedding.device)
        hidden = self._embedding[ids].float()
        for layer in self._layers:
            hidden = layer(hidden, tensors, rows)
        return hidden

    def _logits(self, hidden: Tensor) -> Tensor:
        eps = self.geometry.rms_norm_eps
        return self._head(self.kernels.rms_norm(hidden, self._final_scale, eps))

    def _rows(
        self, tensors: DeviceTensors, rows: Sequence[PrefillRow | DecodeRow], phase: ForwardPhase
    ) -> ForwardRows:
        """The tables of checked rows; zeroes the write slot of a row at root."""
        device = self._embedding.device
        placements = [_placement(row) for row in rows]
        positions = [
            position
            for placement in placements
            for position in range(
                placement.start_tokens, placement.start_tokens + placement.new_tokens
            )
        ]
        where = torch.tensor(positions, dtype=torch.float32, device=device)
        angles = where[:, None] * self._frequencies
        for row in rows:
            if row.state_read_slot is None:
                tensors.zero_state(row.state_write_slot)
        return ForwardRows(
            phase=phase,
            pages=PagedRows.build(placements, device),
            states=StateRows.build(
                [_read_slot(row) for row in rows], [row.state_write_slot for row in rows], device
            ),
            cosine=angles.cos(),
            sine=angles.sin(),
        )

    def _check(self, tensors: DeviceTensors, row: PrefillRow | DecodeRow) -> None:
        placement = _placement(row)
        start, end = placement.start_tokens, placement.start_tokens + placement.new_tokens
        token_ids = row.token_ids if isinstance(row, PrefillRow) else (row.token_id,)
        _check_range("token id", token_ids, self.geometry.vocab_size)
        _check_range("page id", row.page_ids, tensors.page_count)
        _check_range(
            "state slot", (_read_slot(row), row.state_write_slot), tensors.state_slot_count
        )
        if start < 0 or (start > 0) != (row.state_read_slot is not None):
            raise ValueError(
                f"a row at {start} tokens with state_read_slot {row.state_read_slot}; "
                "legal: None exactly at 0 tokens, a slot behind it"
            )
        page_count = -(-end // PAGE_TOKENS)
        if len(row.page_ids) < page_count:
            raise ValueError(
                f"page_ids of a row of {end} tokens: found {len(row.page_ids)}; "
                f"legal: >= {page_count} pages of {PAGE_TOKENS} tokens"
            )


class _Layer:
    """One decoder layer: mixer and feed-forward, each behind a norm and added to its input."""

    __slots__ = (
        "_eps",
        "_feed_forward",
        "_feed_forward_scale",
        "_mixer",
        "_mixer_scale",
        "_rms_norm",
    )

    def __init__(
        self, geometry: ModelGeometry, weights: LayerWeights, kernels: KernelSet, layer_of_kind: int
    ) -> None:
        self._eps = geometry.rms_norm_eps
        self._rms_norm = kernels.rms_norm
        self._mixer_scale = weights.mixer_scale
        self._feed_forward_scale = weights.feed_forward_scale
        self._feed_forward = FeedForward(weights, kernels)
        self._mixer: FullAttention | GatedDeltaNet
        if isinstance(weights.mixer, FullLayerWeights):
            self._mixer = FullAttention(geometry, weights.mixer, kernels, layer_of_kind)
        else:
            self._mixer = GatedDeltaNet(geometry, weights.mixer, kernels, layer_of_kind)

    def __call__(self, hidden: Tensor, tensors: DeviceTensors, rows: ForwardRows) -> Tensor:
        normed = self._rms_norm(hidden, self._mixer_scale, self._eps)
        hidden = hidden + self._mixer(normed, tensors, rows)
        return hidden + self._feed_forward(
            self._rms_norm(hidden, self._feed_forward_scale, self._eps)
        )


def _placement(row: PrefillRow | DecodeRow) -> RowPlacement:
    if isinstance(row, PrefillRow):
        start, new = row.start_tokens, len(row.token_ids)
    else:
        start, new = row.position_tokens, 1
    return RowPlacement(page_ids=row.page_ids, start_tokens=start, new_tokens=new)


def _read_slot(row: PrefillRow | DecodeRow) -> int:
    """At root the write slot, which is zeroed first."""
    return row.state_write_slot if row.state_read_slot is None else row.state_read_slot


def _check_range(what: str, found: Sequence[int], count: int) -> None:
    if found and not (min(found) >= 0 and max(found) < count):
        outside = next(value for value in found if not 0 <= value < count)
        raise ValueError(f"{what}: found {outside}; legal: 0 <= {what} < {count}")
