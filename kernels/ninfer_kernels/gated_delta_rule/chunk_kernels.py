"""How does a chunk of the delta rule run on a GPU, and how is the state carried through chunks?

Owns the two device functions of a prefill. `prepare_kernel`, one program per chunk and head,
computes everything that does not depend on the state, and folds what a chunk reads of its own
writes into what it reads of the state, so that `scan_kernel`, which must take one chunk after the
other, has two products left per chunk.
Every tile of scratch has a chunk's C rows, the last one too, so that the scan masks no token.
Does not know slots' owners, nor how the functions are launched.
Source: Yang et al. 2024 (arXiv:2412.06464), §3.3.
"""

from __future__ import annotations

import triton.language as tl

from ninfer_kernels.jit import kernel
from ninfer_kernels.rounding import dot


@kernel
def prepare_kernel(
    p_query_and_key: tl.tensor,
    p_value: tl.tensor,
    p_log_decay: tl.tensor,
    p_beta: tl.tensor,
    p_written: tl.tensor,
    p_reads: tl.tensor,
    p_key: tl.tensor,
    p_kept: tl.tensor,
    p_output: tl.tensor,
    T: tl.tensor,
    s_query_and_key: tl.tensor,
    s_value: tl.tensor,
    s_log_decay: tl.tensor,
    s_beta: tl.tensor,
    eps: tl.tensor,
    HK: tl.constexpr,
    HV: tl.constexpr,
    K: tl.constexpr,
    V: tl.constexpr,
    C: tl.constexpr,
    DOUBLINGS: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """One chunk of one value head, all that does not depend on the state.

    With X = (I + A)^-1 diag(beta), A the strictly lower coupling and e^G the decay from the chunk's
    start: written = X v, erased = X e^G k, and of the outputs scores @ written at once and
    read = q e^G - scores @ erased for the scan.
    """
    i_chunk = tl.program_id(0)
    i_head = tl.program_id(1)
    o_row = tl.arange(0, C)
    o_token = i_chunk * C + o_row
    m_token = o_token < T
    p_query = p_query_and_key + o_token[:, None] * s_query_and_key + i_head // (HV // HK) * K
    p_raw_key = p_query + HK * K
    alike, scores, key_unit, query_unit = chunk_products(
        p_query, p_raw_key, m_token, eps, K, C, BK, PRECISION
    )
    # A token past the end has beta 0 and decay 1: it leaves the state as it is.
    b_beta = tl.load(p_beta + o_token * s_beta + i_head, mask=m_token, other=0.0)
    b_log_decay = tl.load(p_log_decay + o_token * s_log_decay + i_head, mask=m_token, other=0.0)
    total = tl.cumsum(b_log_decay, axis=0)
    last = tl.sum(tl.where(o_row == C - 1, total, 0.0), axis=0)
    # Masked before exp, so that nothing above the diagonal overflows.
    m_lower = o_row[:, None] >= o_row[None, :]
    decay = tl.exp(tl.where(m_lower, total[:, None] - total[None, :], float("-inf")))
    scores = scores * query_unit[:, None] * key_unit[None, :] * decay
    coupling = alike * (b_beta * key_unit)[:, None] * key_unit[None, :] * decay
    solved = unit_lower_inverse(coupling, C, DOUBLINGS, PRECISION) * b_beta[None, :]
    from_start = tl.exp(total)
    to_end = tl.exp(last - total)
    i_tile = (i_head * tl.num_programs(0) + i_chunk).to(tl.int64)
    tl.store(p_kept + i_tile, tl.exp(last))
    p_tiles = (p_reads + i_tile * 2 * C * K, p_key + i_tile * C * K)
    sides = (solved * (from_start * key_unit)[None, :], scores)
    lengths = (query_unit * from_start, key_unit * to_end)
    store_keys(p_query, p_raw_key, p_tiles, m_token, sides, lengths, K, C, BK, PRECISION)
    p_row = p_value + o_token[:, None] * s_value + i_head * V
    p_tiles = (p_written + i_tile * C * V, p_output + (o_token[:, None] * HV + i_head) * V)
    store_values(p_row, p_tiles, m_token, (solved, scores), V, C, BV, PRECISION)


@kernel
def chunk_products(
    p_query: tl.tensor,
    p_raw_key: tl.tensor,
    m_token: tl.tensor,
    eps: tl.tensor,
    K: tl.constexpr,
    C: tl.constexpr,
    BK: tl.constexpr,
    PRECISION: tl.constexpr,
) -> tl.tensor:
    """Keys with keys and queries with keys `[C, C]`, as they come; and what makes either a unit.

    Lengths are divided out of the products afterwards, so that each number is read once.
    """
    alike = tl.zeros([C, C], tl.float32)
    scores = tl.zeros([C, C], tl.float32)
    key_square = tl.zeros([C], tl.float32)
    query_square = tl.zeros([C], tl.float32)
    for first in range(0, K, BK):
        o_k = first + tl.arange(0, BK)
        m_k = m_token[:, None] & (o_k < K)[None, :]
        b_key = tl.load(p_raw_key + o_k[None, :], mask=m_k, other=0.0).to(tl.float32)
        b_query = tl.load(p_query + o_k[None, :], mask=m_k, other=0.0).to(tl.float32)
        key_square += tl.sum(b_key * b_key, axis=1)
        query_square += tl.sum(b_query * b_query, axis=1)
        b_key_t = tl.trans(b_key)
        alike += dot(b_key, b_key_t, PRECISION)
        scores += dot(b_query, b_key_t, PRECISION)
    return alike, scores, tl.rsqrt(key_square + eps), tl.rsqrt(query_square + eps) * K**-0.5


@kernel
def store_keys(
    p_query: tl.tensor,
    p_raw_key: tl.tensor,
    p_tiles: tl.tensor,
    m_token: tl.tensor,
    sides: tl.tensor,
    lengths: tl.tensor,
    K: tl.constexpr,
    C: tl.constexpr,
    BK: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """What the scan reads: `erased` and below it `read`, and the keys decayed to the chunk's end.

    `sides` is X e^G and the scores, both `[C, C]`; `lengths` what queries and keys are scaled by.
    """
    p_reads, p_key = p_tiles
    solved_key, scores = sides
    query_scale, key_scale = lengths
    o_row = tl.arange(0, C)
    for first in range(0, K, BK):
        o_k = first + tl.arange(0, BK)
        m_k = m_token[:, None] & (o_k < K)[None, :]
        b_key = tl.load(p_raw_key + o_k[None, :], mask=m_k, other=0.0).to(tl.float32)
        b_query = tl.load(p_query + o_k[None, :], mask=m_k, other=0.0).to(tl.float32)
        erased = dot(solved_key, b_key, PRECISION)
        b_read = b_query * query_scale[:, None] - dot(scores, erased, PRECISION)
        o_tile = o_row[:, None] * K + o_k[None, :]
        m_tile = (o_k < K)[None, :]
        tl.store(p_reads + o_tile, erased, mask=m_tile)
        tl.store(p_reads + C * K + o_tile, b_read, mask=m_tile)
        tl.store(p_key + o_tile, b_key * key_scale[:, None], mask=m_tile)


@kernel
def store_values(
    p_row: tl.tensor,
    p_tiles: tl.tensor,
    m_token: tl.tensor,
    sides: tl.tensor,
    V: tl.constexpr,
    C: tl.constexpr,
    BV: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """`written`, and of each output what does not depend on the state; `sides` is X and scores."""
    p_written, p_output = p_tiles
    solved, scores = sides
    o_row = tl.arange(0, C)
    for first in range(0, V, BV):
        o_v = first + tl.arange(0, BV)
        m_v = m_token[:, None] & (o_v < V)[None, :]
        b_value = tl.load(p_row + o_v[None, :], mask=m_v, other=0.0).to(tl.float32)
        written = dot(solved, b_value, PRECISION)
        p_tile = p_written + o_row[:, None] * V + o_v[None, :]
        tl.store(p_tile, written, mask=(o_v < V)[None, :])
        tl.store(p_output + o_v[None, :], dot(scores, written, PRECISION), mask=m_v)


@kernel
def unit_lower_inverse(
    coupling: tl.tensor, C: tl.constexpr, DOUBLINGS: tl.constexpr, PRECISION: tl.constexpr
) -> tl.tensor:
    """Inverts `I + A`, A being what lies below the diagonal of `coupling` `[C, C]`.

    Block by block, as substitution does, and with its accuracy: two inverted diagonal blocks X and
    Z with B below them have the inverse `[[X, 0], [-Z B X, Z]]`.
    """
    o_i = tl.arange(0, C)[:, None]
    o_j = tl.arange(0, C)[None, :]
    # Two blocks of one token need no product.
    inverse = tl.where(o_i == o_j, 1.0, 0.0)
    inverse -= tl.where((o_i // 2 == o_j // 2) & (o_i > o_j), coupling, 0.0)
    for doubled in range(1, DOUBLINGS):
        same_pair = o_i >> (doubled + 1) == o_j >> (doubled + 1)
        m_below = same_pair & (o_i >> doubled > o_j >> doubled)
        below = dot(tl.where(m_below, coupling, 0.0), inverse, PRECISION)
        inverse -= dot(inverse, below, PRECISION)
    return inverse


@kernel
def scan_kernel(
    p_written: tl.tensor,
    p_reads: tl.tensor,
    p_key: tl.tensor,
    p_kept: tl.tensor,
    p_output: tl.tensor,
    p_state: tl.tensor,
    p_read_slot: tl.tensor,
    p_write_slot: tl.tensor,
    T: tl.tensor,
    chunk_count: tl.tensor,
    s_slot: tl.tensor,
    HV: tl.constexpr,
    K: tl.constexpr,
    V: tl.constexpr,
    C: tl.constexpr,
    BK: tl.constexpr,
    BV: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """Carries some columns of one head's state through all chunks.

    What a chunk's corrections and its outputs read of the state is one product of twice as many
    rows. The state is held in two halves of its rows, `BK` each: whole, the parts into which a
    product splits its operands would need more registers than there are.
    """
    i_head = tl.program_id(1)
    o_row = tl.arange(0, C)
    o_k = tl.arange(0, BK)
    o_v = tl.program_id(0) * BV + tl.arange(0, BV)
    m_lower = o_k < K
    m_upper = o_k + BK < K
    m_v = o_v < V
    o_state = (i_head * K + o_k[:, None]) * V + o_v[None, :]
    p_lower = p_state + tl.load(p_read_slot) * s_slot + o_state
    lower = tl.load(p_lower, mask=m_lower[:, None] & m_v[None, :], other=0.0)
    upper = tl.load(p_lower + BK * V, mask=m_upper[:, None] & m_v[None, :], other=0.0)
    for i_chunk in range(chunk_count):
        i_tile = (i_head * chunk_count + i_chunk).to(tl.int64)
        p_rows = p_reads + i_tile * 2 * C * K + tl.arange(0, 2 * C)[:, None] * K + o_k[None, :]
        reads = dot(tl.load(p_rows, mask=m_lower[None, :], other=0.0), lower, PRECISION)
        reads += dot(tl.load(p_rows + BK, mask=m_upper[None, :], other=0.0), upper, PRECISION)
        predicted, read = tl.split(tl.permute(tl.reshape(reads, [2, C, BV]), [1, 2, 0]))
        o_output = ((i_chunk * C + o_row[:, None]) * HV + i_head) * V + o_v[None, :]
        m_output = (i_chunk * C + o_row < T)[:, None] & m_v[None, :]
        output = tl.load(p_output + o_output, mask=m_output, other=0.0)
        tl.store(p_output + o_output, output + read, mask=m_output)
        o_written = i_tile * C * V + o_row[:, None] * V + o_v[None, :]
        written = tl.load(p_written + o_written, mask=m_v[None, :], other=0.0)
        correction = written - predicted
        kept = tl.load(p_kept + i_tile)
        p_key_t = p_key + i_tile * C * K + o_row[None, :] * K + o_k[:, None]
        key_t = tl.load(p_key_t, mask=m_lower[:, None], other=0.0)
        lower = lower * kept + dot(key_t, correction, PRECISION)
        key_t = tl.load(p_key_t + BK, mask=m_upper[:, None], other=0.0)
        upper = upper * kept + dot(key_t, correction, PRECISION)
    p_lower = p_state + tl.load(p_write_slot) * s_slot + o_state
    tl.store(p_lower, lower, mask=m_lower[:, None] & m_v[None, :])
    tl.store(p_lower + BK * V, upper, mask=m_upper[:, None] & m_v[None, :])
