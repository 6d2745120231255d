"""Law: the catalog engine never gets more memory than the engine it stands beside."""

from __future__ import annotations

import pytest

from lab.peers.measurements import llama_cpp_run, vllm_run
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.lab.bench.peers.catalog_side import (
    PeerMemory,
    catalog_beside,
    catalog_options,
    memory_of,
)
from ninfer_lab.lab.bench.peers.runs import GEOMETRY, MIB
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes

PAGE_BYTES = kv_page_bytes(GEOMETRY, ModelDtype.BFLOAT16)
IMAGE_BYTES = state_image_bytes(GEOMETRY, ModelDtype.BFLOAT16)
WIDE_IMAGE_BYTES = state_image_bytes(GEOMETRY, ModelDtype.FLOAT32)


def test_the_memory_of_an_engine_is_all_that_its_settings_allow() -> None:
    assert memory_of(vllm_run("cycle", blocks=60)).total_bytes == 60 * 393_216
    # Two slots of 72 pages each, a running state and 32 checkpoints in each, and the pool.
    slots_bytes = 2 * (72 * PAGE_BYTES + 33 * WIDE_IMAGE_BYTES)
    assert memory_of(llama_cpp_run("cycle", slots=2, pool_mib=24)) == PeerMemory(
        total_bytes=slots_bytes + 24 * MIB, image_bytes=WIDE_IMAGE_BYTES
    )


@pytest.mark.parametrize("total_mib", [3, 5, 8, 13, 21.5, 96, 8_192])
@pytest.mark.parametrize("request_tokens", [1_501, 4_297])
def test_pages_and_images_fit_into_that_memory_and_waste_less_than_a_page(
    total_mib: float, request_tokens: int
) -> None:
    memory = PeerMemory(total_bytes=int(total_mib * MIB), image_bytes=IMAGE_BYTES)
    try:
        options = catalog_options(memory, request_tokens)
    except OptionsError:
        pages = -(-request_tokens // PAGE_TOKENS)
        assert memory.total_bytes < pages * PAGE_BYTES + IMAGE_BYTES
        return
    assert options.kv_capacity_tokens is not None
    assert options.device_state_slots is not None
    pages_bytes = options.kv_capacity_tokens // PAGE_TOKENS * PAGE_BYTES
    images_bytes = (1 + options.device_state_slots) * IMAGE_BYTES
    left_bytes = memory.total_bytes - pages_bytes - images_bytes
    assert 0 <= left_bytes < PAGE_BYTES
    assert options.host_state_slots == options.host_kv_capacity_bytes == 0


def test_where_all_fits_a_title_between_turns_costs_the_conversation_nothing() -> None:
    _, second, title, third, *_ = catalog_beside(vllm_run("side-requests"))
    assert (second, title, third) == (1_029, 0, 1_099)


def test_an_exact_repeat_computes_one_token_and_a_second_branch_finds_the_grid() -> None:
    cold, again, first, second, _, longer = catalog_beside(vllm_run("branches"))
    assert (cold, again, first, longer) == (0, 4_095, 0, 4_096)
    assert 0 < second <= 2_000
