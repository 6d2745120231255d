"""Law: every fact of a config is read from the file, and a file that denies or lacks one is refused
by the field's name.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ninfer_lab.contract.errors import CheckpointError
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.models.qwen3_5.config import (
    LayerKind,
    config_of_geometry,
    geometry_of_config,
    read_geometry,
)
from ninfer_lab.models.qwen3_5.geometries import BENCH_12M, QWEN3_5_27B, TINY

L, F = LayerKind.LINEAR, LayerKind.FULL

RELEASED_27B: dict[str, Any] = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "tie_word_embeddings": False,
    "text_config": {
        "model_type": "qwen3_5_text",
        "attention_bias": False,
        "attn_output_gate": True,
        "dtype": "bfloat16",
        "full_attention_interval": 4,
        "head_dim": 256,
        "hidden_act": "silu",
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_value_head_dim": 128,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": 262144,
        "mtp_num_hidden_layers": 1,
        "num_attention_heads": 24,
        "num_hidden_layers": 64,
        "num_key_value_heads": 4,
        "rms_norm_eps": 1e-06,
        "rope_parameters": {
            "mrope_interleaved": True,
            "mrope_section": [11, 11, 10],
            "partial_rotary_factor": 0.25,
            "rope_theta": 10000000,
            "rope_type": "default",
        },
        "vocab_size": 248320,
    },
    "vision_config": {"depth": 27},
}


def tiny() -> dict[str, Any]:
    return config_of_geometry(TINY)


def test_a_vision_language_config_gives_its_text_geometry() -> None:
    assert geometry_of_config(RELEASED_27B) == QWEN3_5_27B


@pytest.mark.parametrize("geometry", [TINY, BENCH_12M, QWEN3_5_27B])
def test_a_geometry_survives_its_config(tmp_path: Path, geometry: Any) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config_of_geometry(geometry)))
    assert read_geometry(tmp_path) == geometry


def test_a_geometry_survives_with_every_optional_fact_another() -> None:
    other = replace(
        TINY,
        mrope_section=(),
        eos_token_ids=(3, 5),
        head_is_tied=False,
        layer_kinds=(F, F, L, F),
        stored_dtype=ModelDtype.BFLOAT16,
    )
    assert geometry_of_config(config_of_geometry(other)) == other


def test_layers_follow_the_list_or_the_interval_or_every_fourth() -> None:
    config = tiny() | {"num_hidden_layers": 6}
    assert geometry_of_config(
        config | {"layer_types": ["full_attention"] * 2 + ["linear_attention"] * 4}
    ).layer_kinds == (F, F, L, L, L, L)
    del config["layer_types"]
    assert geometry_of_config(config | {"full_attention_interval": 3}).layer_kinds == (
        *(L, L, F),
        *(L, L, F),
    )
    assert geometry_of_config(config).layer_kinds == (L, L, L, F, L, L)


def test_the_older_flat_spelling_of_rope_is_read() -> None:
    config = tiny()
    rope = config.pop("rope_parameters")
    flat = config | {
        "rope_theta": rope["rope_theta"],
        "partial_rotary_factor": rope["partial_rotary_factor"],
    }
    assert geometry_of_config(flat) == replace(TINY, mrope_section=())


def test_the_outer_config_decides_whether_the_head_is_tied() -> None:
    config = copy.deepcopy(RELEASED_27B)
    config["text_config"]["tie_word_embeddings"] = True
    assert not geometry_of_config(config).head_is_tied
    del config["tie_word_embeddings"]
    assert geometry_of_config(config).head_is_tied
    del config["text_config"]["tie_word_embeddings"]
    assert not geometry_of_config(config).head_is_tied


@pytest.mark.parametrize(("value", "expected"), [(7, (7,)), ([7, 9], (7, 9)), (None, ()), ([], ())])
def test_end_tokens_are_one_or_many_or_none(value: object, expected: tuple[int, ...]) -> None:
    assert geometry_of_config(tiny() | {"eos_token_id": value}).eos_token_ids == expected


REQUIRED = [
    "model_type",
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "rms_norm_eps",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_conv_kernel_dim",
    "max_position_embeddings",
]


@pytest.mark.parametrize("field", REQUIRED)
@pytest.mark.parametrize("null", [False, True])
def test_a_missing_field_is_refused_by_its_name(field: str, null: bool) -> None:
    config = tiny()
    config[field] = None
    if not null:
        del config[field]
    with pytest.raises(CheckpointError) as refused:
        geometry_of_config(config)
    assert refused.value.what == f"config.json {field}"
    assert refused.value.found == "nothing"


ILLEGAL = [
    ("model_type", "qwen3_next", "qwen3_next"),
    ("model_type", "qwen3_5_moe", "qwen3_5_moe"),
    ("model_type", 5, 5),
    ("vocab_size", 0, 0),
    ("vocab_size", 512.0, 512.0),
    ("vocab_size", True, True),
    ("hidden_act", "gelu", "gelu"),
    ("attention_bias", True, True),
    ("attn_output_gate", False, False),
    ("mamba_ssm_dtype", "bfloat16", "bfloat16"),
    ("rms_norm_eps", -1e-6, -1e-6),
    ("rms_norm_eps", float("nan"), None),
    ("rms_norm_eps", "1e-6", "1e-6"),
    ("num_attention_heads", 3, 3),
    ("linear_num_value_heads", 6, 6),
    ("linear_conv_kernel_dim", 1, 1),
    ("layer_types", ["linear_attention"], "1 entries"),
    ("layer_types", ["linear_attention", "mamba", "mamba", "full_attention"], "mamba"),
    ("layer_types", "linear_attention", "linear_attention"),
    ("eos_token_id", -1, -1),
    ("eos_token_id", 512, [512]),
    ("eos_token_id", ["</s>"], ["</s>"]),
    ("dtype", "float8_e4m3fn", "float8_e4m3fn"),
    ("tie_word_embeddings", "yes", "yes"),
    ("rope_parameters", [], []),
]


@pytest.mark.parametrize(("field", "value", "found"), ILLEGAL)
def test_an_illegal_value_is_refused_with_what_was_found(
    field: str, value: object, found: object
) -> None:
    with pytest.raises(CheckpointError) as refused:
        geometry_of_config(tiny() | {field: value})
    assert field in refused.value.what
    if found is not None:
        assert refused.value.found == found
    assert refused.value.legal


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rope_type": "yarn"}, "rope_type"),
        ({"rope_theta": None}, "rope_theta"),
        ({"partial_rotary_factor": 1.5}, "partial_rotary_factor"),
        ({"partial_rotary_factor": 0.1}, "partial_rotary_factor"),
        ({"mrope_section": [2, 2, 2]}, "mrope_section"),
        ({"mrope_section": [2, "1", 1]}, "mrope_section"),
    ],
)
def test_a_rotation_that_this_model_cannot_do_is_refused(
    change: dict[str, object], field: str
) -> None:
    config = tiny()
    config["rope_parameters"] = config["rope_parameters"] | change
    with pytest.raises(CheckpointError) as refused:
        geometry_of_config(config)
    assert field in refused.value.what


def test_scaled_rope_in_the_older_spelling_is_refused() -> None:
    config = tiny()
    del config["rope_parameters"]
    with pytest.raises(CheckpointError, match="rope_scaling"):
        geometry_of_config(config | {"rope_scaling": {"type": "linear", "factor": 2.0}})


def test_a_file_that_is_no_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such file"):
        read_geometry(tmp_path)
    for text in ("{", "[]", '"x"'):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(CheckpointError, match="JSON"):
            read_geometry(tmp_path)
    (tmp_path / "config.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CheckpointError, match="JSON"):
        read_geometry(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen3_5", "text_config": 3}))
    with pytest.raises(CheckpointError, match="text_config"):
        read_geometry(tmp_path)
