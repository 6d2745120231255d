"""Law: the quick delta rule computes what transformers computes, forwards and backwards."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers.models.qwen3_5 import modeling_qwen3_5

from ninfer_lab.lab.tiny_model.delta_rule import gated_delta_rule, quick_training

ORIGINAL = modeling_qwen3_5.torch_chunk_gated_delta_rule


Inputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def inputs(tokens_count: int, *, decay: float, seed: int = 0) -> Inputs:
    """Query, key, value, log decay and write strength: 2 rows, 2 key heads, 4 value heads."""
    draw = torch.Generator().manual_seed(seed)
    query, key = (torch.randn(2, tokens_count, 2, 16, generator=draw) for _ in range(2))
    value = torch.randn(2, tokens_count, 4, 8, generator=draw)
    log_decay = -decay * torch.rand(2, tokens_count, 4, generator=draw)
    strength = torch.rand(2, tokens_count, 4, generator=draw)
    for tensor in (query, key, value, log_decay, strength):
        tensor.requires_grad_()
    return query, key, value, log_decay, strength


def relative_rms(found: Tensor, expected: Tensor) -> float:
    share: float = ((found - expected).norm() / expected.norm()).item()
    return share


@pytest.mark.parametrize("decay", [3.0, 0.01])
@pytest.mark.parametrize("tokens_count", [1, 15, 16, 17, 100])
def test_it_equals_transformers_on_every_length(tokens_count: int, decay: float) -> None:
    expected_inputs = inputs(tokens_count, decay=decay)
    found_inputs = inputs(tokens_count, decay=decay)
    expected, _ = ORIGINAL(*expected_inputs, use_qk_l2norm_in_kernel=True)
    found, state = gated_delta_rule(*found_inputs, use_qk_l2norm_in_kernel=True)
    assert state is None
    assert relative_rms(found, expected) < 1e-5
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1))
    torch.autograd.backward((expected * weights).sum())
    torch.autograd.backward((found * weights).sum())
    for ours, theirs in zip(found_inputs, expected_inputs, strict=True):
        assert ours.grad is not None
        assert theirs.grad is not None
        assert (ours.grad - theirs.grad).norm() < 1e-4 * (theirs.grad.norm() + 1e-3)


def test_one_key_written_again_and_again_stays_exact() -> None:
    """The worst case for an inverse by powers: every key equal, full strength, no decay."""
    query, key, value, decay, strength = inputs(64, decay=0.0)
    key = key[:, :1].expand_as(key)
    strength = torch.ones_like(strength)
    expected, _ = ORIGINAL(query, key, value, decay, strength, use_qk_l2norm_in_kernel=True)
    found, _ = gated_delta_rule(query, key, value, decay, strength, use_qk_l2norm_in_kernel=True)
    assert relative_rms(found, expected) < 1e-3


def test_a_state_is_refused() -> None:
    query, key, value, decay, strength = inputs(4, decay=1.0)
    state = torch.zeros(2, 4, 16, 8)
    with pytest.raises(ValueError, match="found a state; legal: whole sequences"):
        gated_delta_rule(query, key, value, decay, strength, initial_state=state)
    with pytest.raises(ValueError, match="found a state"):
        gated_delta_rule(query, key, value, decay, strength, output_final_state=True)


def test_transformers_is_put_back_however_the_block_ends() -> None:
    with quick_training():
        assert modeling_qwen3_5.torch_chunk_gated_delta_rule is gated_delta_rule
    assert modeling_qwen3_5.torch_chunk_gated_delta_rule is ORIGINAL
    with pytest.raises(KeyboardInterrupt), quick_training():
        raise KeyboardInterrupt
    assert modeling_qwen3_5.torch_chunk_gated_delta_rule is ORIGINAL
