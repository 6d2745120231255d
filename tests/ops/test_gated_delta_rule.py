"""Law: every form of the delta rule equals its recurrence in float64, carries its state from any
frontier, and writes only the slot it was told to write.
"""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from ninfer_kernels.gated_delta_rule import cpu, reference
from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.gated_delta_rule.reference import CHUNK_TOKENS
from ops.delta_rule import REGIMES, inputs, recurrence
from ops.rows import normal, relative_rms, state_rows

FORMS = [reference, cpu]
TOKEN_COUNTS = (2, 31, 32, 33, 64, 100)
HEADS = [(1, 1, 8, 8), (2, 4, 16, 24), (3, 3, 32, 16)]
TOLERANCE = 5e-6


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("form", FORMS)
def test_prefill_equals_the_recurrence_at_chunk_edges_and_in_hard_regimes(
    form: ModuleType, heads: tuple[int, int, int, int], regime: str
) -> None:
    assert CHUNK_TOKENS in TOKEN_COUNTS
    for token_count in TOKEN_COUNTS:
        given = inputs(token_count, heads, REGIMES[regime])
        slots = normal(3, heads[1], heads[2], heads[3], seed=9)
        expected, last = recurrence(given, slots[2])
        before = slots.clone()
        found = form.prefill(given, slots, state_rows([2], [0]))
        assert relative_rms(found, expected) < TOLERANCE
        assert relative_rms(slots[0], last) < TOLERANCE
        assert torch.equal(slots[1:], before[1:])


@pytest.mark.parametrize("token_count", [cpu.BLOCK_TOKENS, 2 * cpu.BLOCK_TOKENS + 33])
def test_a_long_prefill_carries_its_state_from_block_to_block(token_count: int) -> None:
    given = inputs(token_count, HEADS[1], REGIMES["random"])
    slots = normal(2, *HEADS[1][1:], seed=9)
    expected, last = recurrence(given, slots[1])
    found = cpu.prefill(given, slots, state_rows([1], [0]))
    assert relative_rms(found, expected) < TOLERANCE
    assert relative_rms(slots[0], last) < TOLERANCE


@pytest.mark.parametrize(("read", "write"), [([4], [4]), ([0], [2]), ([4, 0, 1, 1], [4, 2, 3, 5])])
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("form", FORMS)
def test_decode_equals_one_step_of_each_row(
    form: ModuleType, heads: tuple[int, int, int, int], read: list[int], write: list[int]
) -> None:
    # In place, from a slot that stays, and two rows that fork one source.
    given = inputs(len(read), heads, REGIMES["random"])
    slots = normal(7, heads[1], heads[2], heads[3], seed=10)
    before = slots.clone()
    found = form.decode(given, slots, state_rows(read, write))
    for row in range(len(read)):
        alone = DeltaInputs(
            query_and_key=given.query_and_key[row : row + 1],
            value=given.value[row : row + 1],
            log_decay=given.log_decay[row : row + 1],
            beta=given.beta[row : row + 1],
        )
        expected, last = recurrence(alone, before[read[row]])
        assert relative_rms(found[row], expected[0]) < TOLERANCE
        assert relative_rms(slots[write[row]], last) < TOLERANCE
    untouched = [slot for slot in range(7) if slot not in write]
    assert torch.equal(slots[untouched], before[untouched])


@pytest.mark.parametrize("form", FORMS)
def test_a_prefill_cut_anywhere_leaves_the_same_state(form: ModuleType) -> None:
    heads = HEADS[1]
    whole = inputs(70, heads, REGIMES["random"])
    slots = torch.zeros(2, heads[1], heads[2], heads[3])
    expected = form.prefill(whole, slots, state_rows([0], [0]))
    for cut in (2, 31, 32, 33, 68):
        slots[1].zero_()
        pieces = [
            DeltaInputs(
                query_and_key=whole.query_and_key[part],
                value=whole.value[part],
                log_decay=whole.log_decay[part],
                beta=whole.beta[part],
            )
            for part in (slice(0, cut), slice(cut, None))
        ]
        found = torch.cat([form.prefill(piece, slots, state_rows([1], [1])) for piece in pieces])
        assert relative_rms(found, expected) < TOLERANCE
        assert relative_rms(slots[1], slots[0]) < TOLERANCE


@pytest.mark.parametrize("form", FORMS)
def test_inputs_stay_as_they_were(form: ModuleType) -> None:
    given = inputs(40, HEADS[2], REGIMES["random"])
    parts = (given.query_and_key, given.value, given.log_decay, given.beta)
    before = [part.clone() for part in parts]
    form.prefill(given, torch.zeros(1, 3, 32, 16), state_rows([0], [0]))
    assert all(torch.equal(part, saved) for part, saved in zip(parts, before, strict=True))
