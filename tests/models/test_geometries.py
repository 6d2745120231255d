"""Law: every public size has the State and KV bytes that were published for it, to the last digit
that was published.
"""

from __future__ import annotations

import dataclasses

import pytest

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.geometries import (
    BENCH_12M,
    PUBLIC_FAMILY,
    QWEN3_5_27B,
    TINY,
    CacheGeometry,
    cache_geometry,
    public_cache_geometry,
    public_signature,
)
from ninfer_lab.models.qwen3_5.measurement import (
    kv_page_bytes,
    parameter_count,
    prefill_signature,
    state_image_bytes,
)

BF16 = ModelDtype.BFLOAT16
KIB, MIB = 2**10, 2**20

PUBLISHED = [
    # name, full + linear layers, KV KiB/token, conv MiB, recurrent MiB, image in KV tokens
    ("qwen3.5-0.8b", 6, 18, 12.0, 0.63, 18.0, 1_590),
    ("qwen3.5-2b", 6, 18, 12.0, 0.63, 18.0, 1_590),
    ("qwen3.5-4b", 8, 24, 32.0, 1.12, 48.0, 1_572),
    ("qwen3.5-9b", 8, 24, 32.0, 1.12, 48.0, 1_572),
    ("qwen3.5-27b", 16, 48, 64.0, 2.81, 144.0, 2_349),
    ("qwen3.5-35b-a3b", 10, 30, 20.0, 1.41, 60.0, 3_144),
    ("qwen3.5-122b-a10b", 12, 36, 24.0, 2.53, 144.0, 6_252),
    ("qwen3.5-397b-a17b", 15, 45, 30.0, 3.16, 180.0, 6_252),
]


def recurrent_bytes(geometry: CacheGeometry) -> int:
    """The image without its convolution history, which is the only part that a dtype changes."""
    bf16, f32 = state_image_bytes(geometry, BF16), state_image_bytes(geometry, ModelDtype.FLOAT32)
    return bf16 - (f32 - bf16)


@pytest.mark.parametrize(
    ("name", "full", "linear", "kv_kib", "conv_mib", "recurrent_mib", "image_tokens"), PUBLISHED
)
def test_a_public_size_has_its_published_bytes(
    name: str,
    full: int,
    linear: int,
    kv_kib: float,
    conv_mib: float,
    recurrent_mib: float,
    image_tokens: int,
) -> None:
    geometry = public_cache_geometry(name)
    assert (len(geometry.full_layers), len(geometry.linear_layers)) == (full, linear)
    token_bytes = kv_page_bytes(geometry, BF16) // PAGE_TOKENS
    assert token_bytes == kv_kib * KIB
    image_bytes = state_image_bytes(geometry, BF16)
    assert recurrent_bytes(geometry) == recurrent_mib * MIB
    # Published to a hundredth of a MiB, sometimes cut and sometimes rounded.
    assert (image_bytes - recurrent_bytes(geometry)) / MIB == pytest.approx(conv_mib, abs=0.006)
    assert image_bytes / token_bytes == pytest.approx(image_tokens, abs=0.5)


def test_the_table_names_the_whole_family() -> None:
    assert [row[0] for row in PUBLISHED] == list(PUBLIC_FAMILY)


def test_a_whole_geometry_and_its_cache_part_count_the_same_bytes() -> None:
    for whole in (TINY, BENCH_12M, QWEN3_5_27B):
        part = cache_geometry(whole)
        for dtype in ModelDtype:
            assert state_image_bytes(part, dtype) == state_image_bytes(whole, dtype)
            assert kv_page_bytes(part, dtype) == kv_page_bytes(whole, dtype)


def test_27b_is_what_its_name_says() -> None:
    # 26.9 billion in the text model; the published total adds the vision tower.
    assert parameter_count(QWEN3_5_27B) == 26_895_998_464
    assert state_image_bytes(QWEN3_5_27B, BF16) == 144 * MIB + 2_949_120
    assert kv_page_bytes(QWEN3_5_27B, BF16) == 4 * MIB


@pytest.mark.parametrize(("geometry", "millions"), [(TINY, 0.93), (BENCH_12M, 11.7)])
def test_a_small_model_has_the_size_its_docstring_says(
    geometry: ModelGeometry, millions: float
) -> None:
    assert parameter_count(geometry) / 1e6 == pytest.approx(millions, rel=0.05)


def test_an_unknown_size_is_refused_with_the_known_ones() -> None:
    with pytest.raises(OptionsError) as refused:
        public_cache_geometry("qwen3.5-7b")
    assert str(refused.value) == (
        "geometry: found qwen3.5-7b; legal: qwen3.5-0.8b or qwen3.5-2b or qwen3.5-4b or qwen3.5-9b"
        " or qwen3.5-27b or qwen3.5-35b-a3b or qwen3.5-122b-a10b or qwen3.5-397b-a17b"
    )


def test_a_size_known_as_a_whole_is_priced_by_its_geometry_and_others_by_name() -> None:
    whole = prefill_signature(QWEN3_5_27B, BF16)
    assert public_signature("qwen3.5-27b", BF16) == whole
    others = [name for name in PUBLIC_FAMILY if public_signature(name, BF16) != whole]
    assert len(others) == len(PUBLIC_FAMILY) - 1
    assert public_signature("qwen3.5-35b-a3b", BF16) == "name:qwen3.5-35b-a3b"
    with pytest.raises(OptionsError, match=r"found qwen3\.5-7b"):
        public_signature("qwen3.5-7b", BF16)


def test_the_family_cannot_be_changed_by_a_reader() -> None:
    with pytest.raises(TypeError):
        PUBLIC_FAMILY["qwen3.5-27b"] = cache_geometry(TINY)  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        PUBLIC_FAMILY["qwen3.5-27b"].head_dim = 1  # type: ignore[misc]
