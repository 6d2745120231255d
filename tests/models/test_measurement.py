"""Law: the counted bytes are the allocated bytes, and a signature follows what a prefill computes
and nothing else.
"""

# spec: COST-5
# spec: KV-6

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.models.qwen3_5.config import LayerKind, ModelGeometry
from ninfer_lab.models.qwen3_5.geometries import BENCH_12M, TINY
from ninfer_lab.models.qwen3_5.measurement import (
    kv_page_bytes,
    prefill_signature,
    state_image_bytes,
)
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors

ODD = replace(
    TINY,
    layer_kinds=(LayerKind.FULL, LayerKind.LINEAR, LayerKind.LINEAR),
    linear_value_dim=24,
    conv_width=3,
    kv_head_count=1,
)


@pytest.mark.parametrize("dtype", ModelDtype)
@pytest.mark.parametrize("geometry", [TINY, BENCH_12M, ODD])
def test_counted_bytes_are_allocated_bytes(geometry: ModelGeometry, dtype: ModelDtype) -> None:
    for pages, slots in ((3, 2), (1, 0), (0, 1)):
        tensors = DeviceTensors.allocate(
            geometry, page_count=pages, state_slot_count=slots, dtype=dtype
        )
        expected = pages * kv_page_bytes(geometry, dtype) + slots * state_image_bytes(
            geometry, dtype
        )
        assert tensors.allocated_bytes == expected


SAME_WORK: list[dict[str, Any]] = [
    {"max_position_tokens": 9},
    {"eos_token_ids": (4,)},
    {"stored_dtype": ModelDtype.BFLOAT16},
    {"rope_theta": 5.0},
    {"rms_norm_eps": 1e-5},
]
OTHER_WORK: list[dict[str, Any]] = [
    {"hidden_size": 64},
    {"intermediate_size": 64},
    {"vocab_size": 64},
    {"layer_kinds": TINY.layer_kinds[::-1]},
    {"query_head_count": 2},
    {"kv_head_count": 1},
    {"head_dim": 64},
    {"rotary_dim": 16, "mrope_section": ()},
    {"linear_key_head_count": 2},
    {"linear_value_head_count": 8},
    {"linear_key_dim": 8},
    {"linear_value_dim": 8},
    {"conv_width": 3},
    {"head_is_tied": False},
]


def test_a_signature_follows_what_is_computed_and_nothing_else() -> None:
    signature = prefill_signature(TINY, ModelDtype.FLOAT32)
    for change in SAME_WORK:
        assert prefill_signature(replace(TINY, **change), ModelDtype.FLOAT32) == signature
    others = [prefill_signature(replace(TINY, **each), ModelDtype.FLOAT32) for each in OTHER_WORK]
    others.append(prefill_signature(TINY, ModelDtype.BFLOAT16))
    assert len({signature, *others}) == len(others) + 1


def test_a_geometry_is_measured_where_torch_is_absent() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from ninfer_lab.models.qwen3_5.geometries import TINY\n"
        "from ninfer_lab.models.qwen3_5.measurement import state_image_bytes\n"
        "from ninfer_lab.models.qwen3_5 import checkpoint_files, config, tensor_table\n"
        "from ninfer_lab.contract.numerics import ModelDtype\n"
        "print(state_image_bytes(TINY, ModelDtype.FLOAT32))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == state_image_bytes(TINY, ModelDtype.FLOAT32)
