"""Law: a GPU chooses the token that the reference chooses, in the same order and from the same
numbers, and refuses what the reference refuses.
"""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from ninfer_kernels.family_shapes import FAMILY
from ninfer_kernels.sampling import philox, reference, triton
from ninfer_kernels.sampling.triton import BLOCK_TOKENS
from ops.rows import normal

EDGE = 1.0 - 2.0**-53
"""The largest number that the generator gives."""

VOCABULARIES = (1, 2, 5, BLOCK_TOKENS - 1, BLOCK_TOKENS, BLOCK_TOKENS + 1, 2 * BLOCK_TOKENS + 77)


def check_draw(
    logits: torch.Tensor, options: tuple[float, int | None, float, float], device: torch.device
) -> None:
    expected = reference.draw(logits, *options)
    assert triton.draw(logits.to(device), *options) == expected, f"{len(logits)} {options}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("vocab", VOCABULARIES)
def test_a_draw_equals_the_references(vocab: int, dtype: torch.dtype, device: torch.device) -> None:
    # In bfloat16 thousands of logits are equal to others: the smaller id comes first.
    logits = (normal(vocab, seed=vocab) * 3.0).to(dtype)
    numbers = iter(normal(200, seed=5).sigmoid().tolist())
    for top_k, top_p in itertools.product((None, 1, 20, BLOCK_TOKENS + 1), (1.0, 0.9, 0.3)):
        check_draw(logits, (0.7, top_k, top_p, next(numbers)), device)
    for temperature, number in ((0.01, 0.5), (5.0, 0.99), (5.0, 0.0), (5.0, EDGE)):
        check_draw(logits, (temperature, None, 1.0, number), device)


@pytest.mark.parametrize("top_p", [0.01, 0.39, 0.41, 0.69, 0.71, 1.0])
@pytest.mark.parametrize("top_k", [None, 2, 99])
def test_a_draw_inverts_the_kept_distribution(
    top_k: int | None, top_p: float, device: torch.device
) -> None:
    # Shares 1 : 4 : 3 : 0 : 2 of ten; in order of size the tokens are 1, 2, 4, 0, 3.
    logits = torch.tensor([0.0, math.log(4.0), math.log(3.0), -torch.inf, math.log(2.0)])
    for step in range(10):
        check_draw(logits, (1.0, top_k, top_p, (step + 0.37) / 10), device)


def test_an_impossible_token_is_never_drawn(device: torch.device) -> None:
    # The few possible ones lie far apart; sums over the many others must not reach past them.
    logits = torch.full((3 * BLOCK_TOKENS,), -torch.inf)
    possible = [5, BLOCK_TOKENS, 2 * BLOCK_TOKENS + 1]
    logits[possible] = torch.tensor([0.1, 0.2, 0.3])
    for temperature in (0.01, 1.0, 50.0):
        assert triton.draw(logits.to(device), temperature, None, 1.0, EDGE) == possible[0]
        assert triton.draw(logits.to(device), temperature, None, 1.0, 0.0) == possible[2]


def test_options_keep_their_digits(device: torch.device) -> None:
    # A bound between two float32 numbers: 0.3 as float32 is larger by 1e-8, which decides here.
    logits = torch.tensor([math.log(3.0), math.log(7.0)], dtype=torch.float32)
    share = float(logits.double().softmax(0)[1])
    for number in (share - 4e-10, share + 4e-10):
        check_draw(logits, (1.0, None, 1.0, number), device)
    for top_p in (share - 4e-10, share + 4e-10):
        check_draw(logits, (1.0, None, top_p, EDGE), device)


@pytest.mark.filterwarnings("ignore:invalid value encountered")  # infinity less infinity
def test_logits_that_the_reference_refuses_are_refused(device: torch.device) -> None:
    for bad in ([0.0, torch.nan, 1.0], [-torch.inf, -torch.inf], [torch.inf, -torch.inf]):
        logits = torch.tensor(bad)
        with pytest.raises(ValueError, match="none NaN") as expected:
            reference.draw(logits, 1.0, None, 1.0, 0.5)
        with pytest.raises(ValueError, match="none NaN") as found:
            triton.draw(logits.to(device), 1.0, None, 1.0, 0.5)
        assert str(found.value) == str(expected.value)
    check_draw(torch.tensor([0.0, torch.inf, 1.0]), (1.0, None, 1.0, 0.5), device)
    check_draw(torch.tensor([0.0, torch.inf, 1.0]), (1.0, 2, 0.5, 0.5), device)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("vocab", VOCABULARIES)
def test_greedy_takes_the_first_largest(
    vocab: int, dtype: torch.dtype, device: torch.device
) -> None:
    wider = normal(5, vocab + 3, seed=vocab).to(dtype)
    logits = wider[:, :vocab]
    logits[1] = 2.0  # all equal
    logits[2] = -torch.inf
    logits[3, vocab // 2] = logits[3, -1] = 9.0
    logits[4, vocab // 3] = torch.nan
    found = triton.greedy(wider.to(device)[:, :vocab])
    assert found.dtype is torch.int64
    assert torch.equal(found.cpu(), reference.greedy(logits))


def test_the_released_vocabulary_is_searched_to_its_end(device: torch.device) -> None:
    vocab = FAMILY[-1].vocab
    logits = normal(2, vocab, seed=1)
    logits[0, -1] = logits[1, 200_000] = 20.0
    assert triton.greedy(logits.to(device)).tolist() == [vocab - 1, 200_000]
    check_draw(logits[0], (0.1, None, 1.0, 0.5), device)
    check_draw(logits[0], (1.0, None, 0.95, 0.9), device)
    check_draw(logits[1], (1.0, None, 1.0, 0.999), device)


def test_no_row_has_no_token(device: torch.device) -> None:
    assert triton.greedy(torch.empty(0, 7, device=device)).shape == (0,)
    assert triton.uniforms([], [], device).shape == (0,)


def test_uniform_numbers_are_philoxs_to_the_bit(device: torch.device) -> None:
    edges = (0, 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1)
    pairs = list(itertools.product(edges, edges))
    pairs += [(12_345, position) for position in range(40)]
    found = triton.uniforms([seed for seed, _ in pairs], [at for _, at in pairs], device)
    assert found.tolist() == [philox.uniform(seed, at) for seed, at in pairs]
