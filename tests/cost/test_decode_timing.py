"""Law: a derived decode law gives back the published rates it was derived from."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.cost.decode_timing import (
    RTX_3090_27B,
    RTX_3090_35B_A3B,
    RTX_5090_27B,
    DecodeEvidence,
    DecodeRate,
    decode_timing,
)
from ninfer_lab.models.qwen3_5.geometries import public_cache_geometry
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes

BF16 = ModelDtype.BFLOAT16
INT8_27B, BF16_27B = 33_792, 65_536


@pytest.mark.parametrize(
    ("evidence", "kv_bytes_per_token", "frontier_tokens", "tokens_per_s"),
    [
        (RTX_5090_27B, INT8_27B, 1_088, 86.3),
        (RTX_5090_27B, INT8_27B, 8_600, 84.9),
        (RTX_3090_27B, INT8_27B, 32_832, 33.86),
        # Another KV format than that of the rate: only the bytes of a token change.
        (RTX_3090_27B, BF16_27B, 32_832, 32.50),
        (RTX_3090_35B_A3B, 10_560, 0, 183.0),
    ],
)
def test_a_published_rate_comes_back(
    evidence: DecodeEvidence, kv_bytes_per_token: int, frontier_tokens: int, tokens_per_s: float
) -> None:
    timing = decode_timing(evidence, kv_bytes_per_token=kv_bytes_per_token)
    rate = 1e9 / timing.elapsed_ns([frontier_tokens])
    assert rate == pytest.approx(tokens_per_s, rel=1e-6)


def test_a_byte_takes_what_the_memory_of_the_card_allows() -> None:
    # Peak bandwidths of the two cards are 1,792 and 936 GB/s; a derivation above them is wrong.
    for evidence, peak_gb_per_s in ((RTX_5090_27B, 1_792), (RTX_3090_27B, 936)):
        gb_per_s = 2**32 / evidence.ns_per_byte_q32
        assert 0.7 * peak_gb_per_s < gb_per_s < peak_gb_per_s


def test_the_images_of_the_evidence_are_those_of_the_geometry() -> None:
    for name, evidence in (("qwen3.5-27b", RTX_5090_27B), ("qwen3.5-27b", RTX_3090_27B)):
        image_bytes = state_image_bytes(public_cache_geometry(name), BF16)
        assert evidence.state_image_bytes == image_bytes
    geometry = public_cache_geometry("qwen3.5-35b-a3b")
    assert RTX_3090_35B_A3B.state_image_bytes == state_image_bytes(geometry, BF16)
    # 8-bit KV with a scale of 16 bits for 64 elements: 33/64 of 16-bit KV.
    token_bytes = kv_page_bytes(geometry, BF16) // PAGE_TOKENS
    assert RTX_3090_35B_A3B.rate.kv_bytes_per_token == token_bytes * 33 // 64
    assert INT8_27B == BF16_27B * 33 // 64


def test_a_row_costs_the_traffic_of_its_image() -> None:
    timing = decode_timing(RTX_3090_27B, kv_bytes_per_token=INT8_27B)
    image_read_and_written_s = 2 * 153_944_064 / (2**32 / timing.kv_ns_per_byte_q32 * 1e9)
    assert timing.row_ns / 1e9 == pytest.approx(image_read_and_written_s, rel=1e-5)
    # Eight rows cost little more than one: that is why requests are batched.
    assert timing.elapsed_ns([1_000] * 8) < 1.2 * timing.elapsed_ns([1_000])


def test_a_rate_is_a_time() -> None:
    rate = DecodeRate(millitokens_per_s=33_860, frontier_tokens=10, kv_bytes_per_token=7)
    assert rate.step_ns == 29_533_372
    assert rate.read_bytes == 70
