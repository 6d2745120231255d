"""How does the gated delta rule run on a CPU?

Owns the same forms as `reference`. Prefill computes everything that does not depend on the state
for all chunks at once, so that only two small products per chunk remain in the loop.
Does not know slots' owners. Source: Yang et al. 2024 (arXiv:2412.06464), §3.3.
"""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.gated_delta_rule.reference import CHUNK_TOKENS, UNIT_EPS
from ninfer_kernels.state_image.rows import StateRows
from ninfer_kernels.threads import one_thread

BLOCK_TOKENS = 512
"""Tokens whose chunks are computed together. Bounds the scratch of a long prefill to about ten
times the block's own keys; longer blocks were measured and are no faster."""

ALONE_STATE_ELEMENTS = 2**17
"""Elements of a layer's state up to which a prefill keeps to one thread: its many ops are then
shorter than the waking of a second one. Measured on two cores: 1.3 times faster alone at 64 Ki
elements, 4 times at 1 Ki, slower at 256 Ki."""


def prefill(inputs: DeltaInputs, state: Tensor, rows: StateRows) -> Tensor:
    """See `reference.prefill`."""
    token_count = len(inputs.value)
    source, target = state[rows.read_slots[0]], state[rows.write_slots[0]]
    outputs: list[Tensor] = []
    with one_thread(when=source.numel() <= ALONE_STATE_ELEMENTS):
        for start in range(0, token_count, BLOCK_TOKENS):
            part = slice(start, start + BLOCK_TOKENS)
            block = DeltaInputs(
                query_and_key=inputs.query_and_key[part],
                value=inputs.value[part],
                log_decay=inputs.log_decay[part],
                beta=inputs.beta[part],
            )
            outputs.append(_block(block, source, target))
            source = target
    return torch.cat(outputs) if len(outputs) > 1 else outputs[0]


def _block(inputs: DeltaInputs, before: Tensor, after: Tensor) -> Tensor:
    """Outputs of some tokens, float32 `[T, HV, V]`; reads the state before, writes that after."""
    token_count, head_count, value_dim = inputs.value.shape
    missing = -token_count % CHUNK_TOKENS
    if missing:
        # A token with beta 0 and decay 1 leaves the state as it is; its output is cut off below.
        inputs = _padded(inputs, missing)
    query, key, value = _chunks(inputs)  # [N HV, C, ...]
    chunk_count = len(key) // head_count
    log_decay, beta = (_chunk_rows(each) for each in (inputs.log_decay, inputs.beta))  # [N HV, C]
    total = log_decay.cumsum(dim=-1)
    decay = _decay_between(total)
    scores = torch.bmm(query, key.mT).mul_(decay)
    coupling = torch.bmm(key, key.mT).mul_(decay).mul_(beta[:, :, None])
    solved = _inverse_of_unit_lower(coupling).mul_(beta[:, None, :])
    from_start = total.exp()
    to_end = (total[:, -1:] - total).exp_()
    written = torch.bmm(solved, value)
    erased = torch.bmm(solved.mul_(from_start[:, None, :]), key)
    query = query.mul_(from_start[:, :, None]).baddbmm_(scores, erased, alpha=-1.0)
    key = key * to_end[:, :, None]
    by_chunk = (chunk_count, head_count, CHUNK_TOKENS, -1)
    starts = _scan(
        written.view(by_chunk),
        erased.view(by_chunk),
        key.view(by_chunk),
        from_start[:, -1].view(chunk_count, head_count, 1, 1),
        (before, after),
    )
    output = torch.bmm(scores, written).baddbmm_(query, starts.flatten(0, 1))
    by_token = output.view(by_chunk).transpose(1, 2)
    return by_token.reshape(-1, head_count, value_dim)[:token_count]


def decode(inputs: DeltaInputs, state: Tensor, rows: StateRows) -> Tensor:
    """See `reference.decode`."""
    row_count, head_count, value_dim = inputs.value.shape
    key_dim = inputs.query_and_key.shape[-1]
    unit = inputs.query_and_key * _inverse_lengths(inputs.query_and_key)  # [B, 2, HK, K]
    repeats = head_count // unit.shape[2]
    if repeats > 1:
        unit = unit.repeat_interleave(repeats, dim=2)
    query, key = (side.reshape(-1, 1, key_dim) for side in unit.unbind(dim=1))  # [B HV, 1, K]
    decay = inputs.log_decay.exp()[..., None, None]
    if row_count == 1:
        # One row is advanced where it lies; several are gathered, for few calls cost less.
        after = state[rows.write_slots[0]][None]
        torch.mul(state[rows.read_slots[0]][None], decay, out=after)
    else:
        after = state.index_select(0, rows.read_index).mul_(decay)  # [B, HV, K, V]
    matrices = after.view(-1, key_dim, value_dim)
    correction = inputs.value.reshape(-1, 1, value_dim) - torch.bmm(key, matrices)
    correction.mul_(inputs.beta.view(-1, 1, 1))
    matrices.baddbmm_(key.mT, correction)
    if row_count > 1:
        state.index_copy_(0, rows.write_index, after)
    return torch.bmm(query, matrices).view(row_count, head_count, value_dim)


def _inverse_lengths(query_and_key: Tensor) -> Tensor:
    """`[N, 2, HK, 1]` such that keys get length one and queries length `K^-0.5`."""
    length = torch.linalg.vector_norm(query_and_key, dim=-1, keepdim=True)
    inverse = torch.addcmul(length.new_full((), UNIT_EPS), length, length).rsqrt_()
    inverse[:, 0].mul_(query_and_key.shape[-1] ** -0.5)
    return inverse


def _padded(inputs: DeltaInputs, missing: int) -> DeltaInputs:
    return DeltaInputs(
        query_and_key=F.pad(inputs.query_and_key, (0, 0, 0, 0, 0, 0, 0, missing)),
        value=F.pad(inputs.value, (0, 0, 0, 0, 0, missing)),
        log_decay=F.pad(inputs.log_decay, (0, 0, 0, missing)),
        beta=F.pad(inputs.beta, (0, 0, 0, missing)),
    )


def _chunks(inputs: DeltaInputs) -> tuple[Tensor, Tensor, Tensor]:
    """Unit queries and keys and values, each `[N HV, C, ...]` and contiguous."""
    query_and_key, value = inputs.query_and_key, inputs.value
    token_count, head_count, value_dim = value.shape
    _, _, key_head_count, key_dim = query_and_key.shape
    chunk_count = token_count // CHUNK_TOKENS
    unit = query_and_key.new_empty(2, chunk_count, key_head_count, CHUNK_TOKENS, key_dim)
    by_token = unit.permute(1, 3, 0, 2, 4)  # [N, C, 2, HK, K]
    grouped = query_and_key.view(by_token.shape)
    torch.mul(grouped, _inverse_lengths(query_and_key).view(*by_token.shape[:-1], 1), out=by_token)
    if head_count > key_head_count:
        unit = unit.repeat_interleave(head_count // key_head_count, dim=2)
    query, key = unit.view(2, chunk_count * head_count, CHUNK_TOKENS, key_dim).unbind()
    value = value.view(chunk_count, CHUNK_TOKENS, head_count, value_dim).transpose(1, 2)
    return query, key, value.reshape(-1, CHUNK_TOKENS, value_dim)


def _chunk_rows(per_token: Tensor) -> Tensor:
    """`[N C, HV]` to `[N HV, C]`."""
    return per_token.view(-1, CHUNK_TOKENS, per_token.shape[1]).mT.reshape(-1, CHUNK_TOKENS)


def _decay_between(total: Tensor) -> Tensor:
    """`[N HV, C, C]`: decay from token j to token i, 0 above the diagonal."""
    above = total.new_full((CHUNK_TOKENS, CHUNK_TOKENS), -torch.inf).triu_(1)
    return (total[:, :, None] - total[:, None, :]).add_(above).exp_()


def _inverse_of_unit_lower(coupling: Tensor) -> Tensor:
    """Inverts `I + A` for the strictly lower part A of each `[C, C]`; a new tensor.

    Block by block, as substitution does, and with its accuracy: two inverted diagonal blocks X and
    Z with B below them have the inverse `[[X, 0], [-Z B X, Z]]`. A library's triangular solve takes
    one matrix after the other, and wakes all threads for each.
    """
    half = CHUNK_TOKENS // 2
    blocks = coupling.view(-1, 2, half, 2, half)
    diagonal = torch.stack([blocks[:, 0, :, 0], blocks[:, 1, :, 1]], dim=1).view(-1, half, half)
    first, *others = _joints(half)
    inverse = torch.eye(half) - diagonal * first
    for joint in others:
        below = torch.bmm(diagonal * joint, inverse)
        inverse = torch.baddbmm(inverse, inverse, below, alpha=-1.0)
    upper, lower = inverse.view(-1, 2, half, half).unbind(dim=1)
    whole = torch.zeros_like(coupling)
    whole[:, :half, :half] = upper
    whole[:, half:, half:] = lower
    whole[:, half:, :half] = torch.bmm(torch.bmm(lower, blocks[:, 1, :, 0]), upper).neg_()
    return whole


@functools.cache
def _joints(size: int) -> tuple[Tensor, ...]:
    """Masks `[size, size]` of what lies below the diagonal blocks of 1, of 2, of 4, ... when each
    two of them are joined. Constants; never written.
    """
    place = torch.arange(size)
    masks: list[Tensor] = []
    span = 1
    while span < size:
        same_pair = place[:, None] // (2 * span) == place // (2 * span)
        below = place[:, None] // span > place // span
        masks.append((same_pair & below).float())
        span *= 2
    return tuple(masks)


def _scan(
    written: Tensor, erased: Tensor, key: Tensor, kept: Tensor, ends: tuple[Tensor, Tensor]
) -> Tensor:
    """Carries the state through the chunks.

    Args:
        written: `[N, HV, C, V]`.
        erased: `[N, HV, C, K]`.
        key: `[N, HV, C, K]`, decayed to the chunk's end.
        kept: `[N, HV, 1, 1]`, decay over the whole chunk.
        ends: The state before the first chunk, read, and where the last one goes, written.

    Returns:
        `[N, HV, K, V]`, the state before each chunk.
    """
    first, last = ends
    chunk_count = len(written)
    starts = first.new_empty(chunk_count, *first.shape)
    starts[0] = first
    for chunk in range(chunk_count):
        state = starts[chunk]
        correction = torch.baddbmm(written[chunk], erased[chunk], state, alpha=-1.0)
        after = last if chunk + 1 == chunk_count else starts[chunk + 1]
        torch.mul(state, kept[chunk], out=after)
        after.baddbmm_(key[chunk].mT, correction)
    return starts
