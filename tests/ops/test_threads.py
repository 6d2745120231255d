"""Law: work that is too small to share runs on one thread, and nobody notices afterwards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from ninfer_kernels.gated_delta_rule import cpu
from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.threads import one_thread
from ops.rows import normal, state_rows


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_inside_there_is_one_thread_and_afterwards_as_many_as_before() -> None:
    with one_thread(when=True):
        assert torch.get_num_threads() == 1
        with one_thread(when=True):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


def test_large_work_is_left_alone() -> None:
    with one_thread(when=False):
        assert torch.get_num_threads() == 2


def test_an_error_gives_the_threads_back() -> None:
    with pytest.raises(ZeroDivisionError), one_thread(when=True):
        raise ZeroDivisionError
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("heads", "threads"), [(1, 1), (cpu.ALONE_STATE_ELEMENTS // 256, 1), (513, 2)]
)
def test_a_prefill_takes_the_threads_that_its_state_is_worth(
    heads: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    block = cpu._block

    def watched(*arguments: object) -> torch.Tensor:
        seen.append(torch.get_num_threads())
        return block(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(cpu, "_block", watched)
    inputs = DeltaInputs(
        query_and_key=normal(3, 2, heads, 16, seed=1),
        value=normal(3, heads, 16, seed=2),
        log_decay=-normal(3, heads, seed=3).abs(),
        beta=normal(3, heads, seed=4).sigmoid(),
    )
    cpu.prefill(inputs, torch.zeros(1, heads, 16, 16), state_rows([0], [0]))
    assert seen == [threads]
    assert torch.get_num_threads() == 2
