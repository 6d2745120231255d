"""A model with its pages and slots, driven by sequence and not by page id: what tests build on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ninfer_kernels.kernel_set import KernelSet, cpu_kernels, reference_kernels
from ninfer_lab.contract.numerics import ModelDtype, Numerics
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.models.qwen3_5.config import LayerKind, ModelGeometry
from ninfer_lab.models.qwen3_5.forward_rows import DecodeRow, PrefillRow
from ninfer_lab.models.qwen3_5.model import HybridModel, PrefillLogits
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors
from ninfer_lab.models.qwen3_5.weights import bind_weights

L, F = LayerKind.LINEAR, LayerKind.FULL

KERNEL_SETS: Mapping[str, KernelSet] = {"reference": reference_kernels(), "cpu": cpu_kernels()}

SMALL = ModelGeometry(
    vocab_size=320,
    hidden_size=64,
    intermediate_size=112,
    layer_kinds=(L, L, L, F),
    query_head_count=4,
    kv_head_count=2,
    head_dim=32,
    rotary_dim=8,
    rope_theta=10_000_000.0,
    mrope_section=(2, 1, 1),
    linear_key_head_count=2,
    linear_value_head_count=4,
    linear_key_dim=16,
    linear_value_dim=16,
    conv_width=4,
    rms_norm_eps=1e-6,
    head_is_tied=True,
    max_position_tokens=4096,
    eos_token_ids=(),
    stored_dtype=ModelDtype.FLOAT32,
)

GEOMETRIES: Mapping[str, ModelGeometry] = {
    "3:1, tied, two value heads per key head": replace(SMALL, layer_kinds=(L, L, L, F) * 2),
    "untied, every second layer full, all dimensions rotated": replace(
        SMALL,
        head_is_tied=False,
        layer_kinds=(L, F) * 3,
        rotary_dim=32,
        mrope_section=(),
        rope_theta=10_000.0,
        query_head_count=6,
        kv_head_count=1,
        linear_value_head_count=2,
    ),
    "full layer first, narrow keys and wide values": replace(
        SMALL,
        layer_kinds=(F, L, L, L, L),
        linear_key_dim=8,
        linear_value_dim=40,
        linear_key_head_count=1,
        linear_value_head_count=3,
        kv_head_count=4,
        conv_width=3,
    ),
    "3:1, untied, wide heads": replace(
        SMALL,
        head_is_tied=False,
        hidden_size=96,
        head_dim=48,
        rotary_dim=12,
        mrope_section=(2, 2, 2),
        linear_key_dim=64,
        linear_value_dim=64,
    ),
}


def token_ids(geometry: ModelGeometry, count: int, seed: int) -> tuple[int, ...]:
    """Random tokens of the vocabulary."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(geometry.vocab_size, (count,), generator=generator)
    return tuple(int(token) for token in drawn)


@dataclass(slots=True)
class Lane:
    """Where one sequence stands and what it holds."""

    pages: tuple[int, ...]
    slot: int
    frontier_tokens: int = 0


class ServedModel:
    """One model and its memory.

    Pages and slots nobody wrote are NaN, so that a stale read shows in the logits. A sequence's
    pages lie apart and out of order.
    """

    def __init__(
        self,
        geometry: ModelGeometry,
        tensors: Mapping[str, Tensor],
        *,
        kernels: KernelSet,
        numerics: Numerics = Numerics.FAST,
        dtype: ModelDtype = ModelDtype.FLOAT32,
        sequence_count: int = 8,
        sequence_tokens: int = 512,
    ) -> None:
        self.model = HybridModel(
            geometry=geometry,
            weights=bind_weights(geometry, tensors, dtype=dtype),
            kernels=kernels,
            numerics=numerics,
        )
        pages = -(-sequence_tokens // PAGE_TOKENS)
        self.tensors = DeviceTensors.allocate(
            geometry,
            page_count=sequence_count * pages,
            state_slot_count=sequence_count,
            dtype=dtype,
        )
        for page in range(self.tensors.page_count):
            self.tensors.poison_page(page)
        for slot in range(sequence_count):
            self.tensors.poison_state(slot)
        order = torch.randperm(
            sequence_count * pages, generator=torch.Generator().manual_seed(7)
        ).tolist()
        self.sequences = [
            Lane(pages=tuple(order[row::sequence_count]), slot=sequence_count - 1 - row)
            for row in range(sequence_count)
        ]

    def prefill(
        self,
        row: int,
        tokens: Sequence[int],
        *,
        cuts: Sequence[int] = (),
        logits: PrefillLogits = PrefillLogits.ALL,
    ) -> Tensor:
        """Feeds tokens to a sequence, in pieces that end at `cuts`."""
        ends = [*cuts, len(tokens)]
        starts = [0, *cuts]
        pieces = [
            self._piece(self.sequences[row], tuple(tokens[start:end]), logits)
            for start, end in zip(starts, ends, strict=True)
        ]
        return torch.cat(pieces)

    def decode(self, tokens: Mapping[int, int]) -> Tensor:
        """One step of several sequences: token by sequence."""
        rows = [
            DecodeRow(
                token_id=token,
                position_tokens=self.sequences[row].frontier_tokens,
                page_ids=self.sequences[row].pages,
                state_read_slot=self._read_slot(self.sequences[row]),
                state_write_slot=self.sequences[row].slot,
            )
            for row, token in tokens.items()
        ]
        logits = self.model.decode(self.tensors, rows)
        for row in tokens:
            self.sequences[row].frontier_tokens += 1
        return logits

    def restore(self, source: int, target: int) -> None:
        """Makes a sequence continue where another stands, on copies of its pages and its state."""
        origin, copy = self.sequences[source], self.sequences[target]
        for page in range(-(-origin.frontier_tokens // PAGE_TOKENS)):
            self.tensors.copy_page(origin.pages[page], copy.pages[page])
        self.tensors.copy_state(origin.slot, copy.slot)
        copy.frontier_tokens = origin.frontier_tokens

    def _piece(self, sequence: Lane, tokens: tuple[int, ...], logits: PrefillLogits) -> Tensor:
        found = self.model.prefill(
            self.tensors,
            PrefillRow(
                token_ids=tokens,
                start_tokens=sequence.frontier_tokens,
                page_ids=sequence.pages,
                state_read_slot=self._read_slot(sequence),
                state_write_slot=sequence.slot,
            ),
            logits,
        )
        sequence.frontier_tokens += len(tokens)
        return found

    @staticmethod
    def _read_slot(sequence: Lane) -> int | None:
        return sequence.slot if sequence.frontier_tokens else None
