"""Law: the generator gives the published answers of Philox4x32-10, and a position's number needs no
history.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_kernels.sampling.philox import philox4x32, uniform

WORD = 0xFFFFFFFF

# The three known answers that the authors published with the generator: counter, key, output.
PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((WORD,) * 4, (WORD,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "answer"), PUBLISHED)
def test_published_answers(
    counter: tuple[int, int, int, int],
    key: tuple[int, int],
    answer: tuple[int, int, int, int],
) -> None:
    assert philox4x32(counter, key) == answer


def test_a_uniform_number_is_the_first_53_bits_of_its_counter() -> None:
    # Seed 0 at position 0 is the first published answer.
    assert uniform(0, 0) == (0x6627E8D5E169C58D >> 11) / 2**53
    low, high = 5, 7
    expected = philox4x32((low, high, 0, 0), (3, 9))
    assert uniform(9 * 2**32 + 3, high * 2**32 + low) == (
        ((expected[0] << 32 | expected[1]) >> 11) / 2**53
    )


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_uniform_number_lies_in_the_half_open_unit_interval(seed: int, position: int) -> None:
    assert 0.0 <= uniform(seed, position) < 1.0
    assert uniform(seed, position) == uniform(seed, position)


def test_neighbouring_positions_and_seeds_are_spread_evenly() -> None:
    by_position = [uniform(12345, position) for position in range(20_000)]
    by_seed = [uniform(seed, 100) for seed in range(20_000)]
    for numbers in (by_position, by_seed):
        tenths = [0] * 10
        for number in numbers:
            tenths[int(number * 10)] += 1
        # 2,000 each, standard deviation 42: five of them either way.
        assert all(1_790 < count < 2_210 for count in tenths)


@pytest.mark.parametrize(("seed", "position"), [(-1, 0), (2**64, 0), (0, -1), (0, 2**64)])
def test_what_no_counter_can_hold_is_refused(seed: int, position: int) -> None:
    with pytest.raises(ValueError, match=r"legal: 0 <= \w+ < 2\*\*64"):
        uniform(seed, position)


def test_it_runs_where_torch_is_absent() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from ninfer_kernels.sampling.philox import uniform; print(uniform(1, 2))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == uniform(1, 2)
