"""What is the same for every layer of one forward?

Owns the row values that a caller hands in (`PrefillRow`, `DecodeRow`) and the tables derived from
them once: pages, slots and rotations.
Does not know weights or layers.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ninfer_kernels.kv_pages.rows import PagedRows
from ninfer_kernels.state_image.rows import StateRows
from ninfer_lab.contract.work import ForwardPhase


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillRow:
    """Consecutive tokens of one sequence, from any frontier.

    Attributes:
        token_ids: At least one.
        start_tokens: Tokens that the sequence has consumed before.
        page_ids: `page_ids[i]` holds the tokens `[64 i, 64 i + 64)`; covers at least the new
            tokens.
        state_read_slot: Holds the state at `start_tokens`; `None` is the root state, legal only at
            0.
        state_write_slot: Receives the state after the last token; equal to the read slot to work in
            place.
    """

    token_ids: tuple[int, ...]
    start_tokens: int
    page_ids: tuple[int, ...]
    state_read_slot: int | None
    state_write_slot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeRow:
    """One token of one sequence.

    Attributes:
        token_id: Consumed by this step.
        position_tokens: Tokens that the sequence has consumed before.
        page_ids: As in `PrefillRow`.
        state_read_slot: As in `PrefillRow`.
        state_write_slot: As in `PrefillRow`.
    """

    token_id: int
    position_tokens: int
    page_ids: tuple[int, ...]
    state_read_slot: int | None
    state_write_slot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardRows:
    """The tables of one forward.

    Attributes:
        phase: Prefill or decode.
        pages: Where keys and values lie.
        states: Which slots are read and written.
        cosine: float32 `[N, R/2]`.
        sine: float32 `[N, R/2]`.
    """

    phase: ForwardPhase
    pages: PagedRows
    states: StateRows
    cosine: Tensor
    sine: Tensor
