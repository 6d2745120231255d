"""How do the tensors of a checkpoint become the weights of a forward, and where do random ones come
from?

Owns the binding (which products are fused, in which order their outputs lie) and the random weights
of the project's own checkpoints.
Does not know how a product is computed: a weight is bound as a plain `[out, in]` tensor.
Source: transformers' `Qwen3_5ForCausalLM` for the meaning of each tensor.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.models.qwen3_5.checkpoint_files import SINGLE_FILE, checked_tensors
from ninfer_lab.models.qwen3_5.config import LayerKind, ModelGeometry, config_of_geometry
from ninfer_lab.models.qwen3_5.state_image import TORCH_DTYPES
from ninfer_lab.models.qwen3_5.tensor_table import HEAD_NAME, tensor_shapes

CheckpointTensors = Mapping[str, Tensor]
"""Tensors by their text-only names, in the layout of the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FullLayerWeights:
    """Softmax attention of one layer.

    Attributes:
        inputs: `[2 H D + 2 HKV D, hidden]`; the outputs are queries, keys, values, output gates.
        output: `[hidden, H D]`.
        head_scales: float32 `[H + HKV, D]`, one added; of the norm of each query and key head.
    """

    inputs: Tensor
    output: Tensor
    head_scales: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearLayerWeights:
    """Gated DeltaNet of one layer.

    Attributes:
        inputs: `[C + HV V + 2 HV, hidden]`; the outputs are convolution channels (queries, keys,
            values), output gates, write strengths, decays.
        output: `[hidden, HV V]`.
        taps: float32 `[K, C]`, oldest first.
        decay_rate: `exp(A_log)`, float32 `[HV]`.
        decay_bias: float32 `[HV]`.
        norm_scale: float32 `[V]`.
    """

    inputs: Tensor
    output: Tensor
    taps: Tensor
    decay_rate: Tensor
    decay_bias: Tensor
    norm_scale: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerWeights:
    """One decoder layer.

    Attributes:
        mixer_scale: float32 `[hidden]`, one added; of the norm before the mixer.
        mixer: By the kind of the layer.
        feed_forward_scale: float32 `[hidden]`, one added.
        gate_and_up: `[2 I, hidden]`; the outputs are gates, then values.
        down: `[hidden, I]`.
    """

    mixer_scale: Tensor
    mixer: FullLayerWeights | LinearLayerWeights
    feed_forward_scale: Tensor
    gate_and_up: Tensor
    down: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWeights:
    """All weights of one model on one device.

    Attributes:
        embedding: `[vocab, hidden]`.
        layers: Bottom first.
        final_scale: float32 `[hidden]`, one added.
        head: `[vocab, hidden]`; the embedding itself where it is tied.
        dtype: Element type of the matrices.
    """

    embedding: Tensor
    layers: tuple[LayerWeights, ...]
    final_scale: Tensor
    head: Tensor
    dtype: ModelDtype


def load_weights(
    folder: Path, geometry: ModelGeometry, *, dtype: ModelDtype, device: torch.device | str = "cpu"
) -> ModelWeights:
    """Reads a checkpoint folder, single or sharded, after all of its headers were checked.

    Raises:
        CheckpointError: As `checkpoint_files.checked_tensors`, before any tensor is allocated.
    """
    return bind_weights(geometry, read_tensors(folder, geometry), dtype=dtype, device=device)


def read_tensors(folder: Path, geometry: ModelGeometry) -> dict[str, Tensor]:
    """The tensors of a folder in their stored element types.

    Raises:
        CheckpointError: As `load_weights`.
    """
    stored = checked_tensors(folder, geometry)
    tensors: dict[str, Tensor] = {}
    for path in sorted({tensor.path for tensor in stored.values()}):
        with safe_open(path, framework="pt") as file:
            for name, tensor in stored.items():
                if tensor.path == path:
                    tensors[name] = file.get_tensor(tensor.stored_name)
    return tensors


def bind_weights(
    geometry: ModelGeometry,
    tensors: CheckpointTensors,
    *,
    dtype: ModelDtype,
    device: torch.device | str = "cpu",
) -> ModelWeights:
    """Fuses products that share their input; matrices in `dtype`, vectors in float32.

    Raises:
        KeyError: A tensor is missing (`load_weights` refuses this earlier, with its name).
    """
    binder = _Binder(geometry, tensors, TORCH_DTYPES[dtype], torch.device(device))
    embedding = binder.matrix("model.embed_tokens.weight")
    return ModelWeights(
        embedding=embedding,
        layers=tuple(binder.layer(index) for index in range(len(geometry.layer_kinds))),
        final_scale=binder.vector("model.norm.weight") + 1.0,
        head=embedding if geometry.head_is_tied else binder.matrix(HEAD_NAME),
        dtype=dtype,
    )


def random_weights(geometry: ModelGeometry, seed: int) -> dict[str, Tensor]:
    """Random weights, the same for the same seed, on which a wrong forward shows.

    The library's own initialisation is nearly blind: norms at identity, logits almost flat, and
    heads that forget within a token. Here norms are perturbed, products keep their input's size,
    and the decay of the linear heads spans time constants from about ten to a thousand tokens.
    """
    generator = torch.Generator().manual_seed(seed)
    return {
        name: _random_tensor(name.removesuffix(".weight").rsplit(".", 1)[-1], shape, generator)
        for name, shape in tensor_shapes(geometry).items()
    }


def save_checkpoint(folder: Path, geometry: ModelGeometry, tensors: CheckpointTensors) -> None:
    """Writes `config.json` and `model.safetensors` in the layout that transformers loads.

    Matrices and vectors are stored in `geometry.stored_dtype`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stored = TORCH_DTYPES[geometry.stored_dtype]
    plain = {name: tensor.detach().to(stored).contiguous() for name, tensor in tensors.items()}
    save_file(plain, folder / SINGLE_FILE, metadata={"format": "pt"})
    text = json.dumps(config_of_geometry(geometry), indent=2) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")


class _Binder:
    """Builds one layer after another, so that no more than one layer exists twice."""

    def __init__(
        self,
        geometry: ModelGeometry,
        tensors: CheckpointTensors,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._geometry = geometry
        self._tensors = tensors
        self._dtype = dtype
        self._device = device

    def matrix(self, *names: str) -> Tensor:
        """The named matrices one above another, their outputs side by side."""
        parts = [self._tensors[name].to(self._device, self._dtype) for name in names]
        return torch.cat(parts).contiguous() if len(parts) > 1 else parts[0].contiguous()

    def vector(self, name: str) -> Tensor:
        """A vector in float32."""
        return self._tensors[name].to(self._device, torch.float32)

    def layer(self, index: int) -> LayerWeights:
        """All weights of one layer."""
        prefix = f"model.layers.{index}."
        mixer: FullLayerWeights | LinearLayerWeights
        match self._geometry.layer_kinds[index]:
            case LayerKind.FULL:
                mixer = self._full(prefix + "self_attn.")
            case LayerKind.LINEAR:
                mixer = self._linear(prefix + "linear_attn.")
        return LayerWeights(
            mixer_scale=self.vector(prefix + "input_layernorm.weight") + 1.0,
            mixer=mixer,
            feed_forward_scale=self.vector(prefix + "post_attention_layernorm.weight") + 1.0,
            gate_and_up=self.matrix(prefix + "mlp.gate_proj.weight", prefix + "mlp.up_proj.weight"),
            down=self.matrix(prefix + "mlp.down_proj.weight"),
        )

    def _full(self, prefix: str) -> FullLayerWeights:
        heads, dim = self._geometry.query_head_count, self._geometry.head_dim
        # The file keeps query and gate of a head together; here queries lie beside keys, so that
        # one norm serves both, and gates come last.
        per_head = self.matrix(prefix + "q_proj.weight").view(heads, 2, dim, -1)
        query, gate = (part.reshape(heads * dim, -1) for part in per_head.unbind(dim=1))
        keys_and_values = self.matrix(prefix + "k_proj.weight", prefix + "v_proj.weight")
        query_scale = self.vector(prefix + "q_norm.weight").expand(heads, dim)
        key_scale = self.vector(prefix + "k_norm.weight").expand(self._geometry.kv_head_count, dim)
        return FullLayerWeights(
            inputs=torch.cat([query, keys_and_values, gate]),
            output=self.matrix(prefix + "o_proj.weight"),
            head_scales=torch.cat([query_scale, key_scale]) + 1.0,
        )

    def _linear(self, prefix: str) -> LinearLayerWeights:
        names = ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")
        return LinearLayerWeights(
            inputs=self.matrix(*(f"{prefix}{name}.weight" for name in names)),
            output=self.matrix(prefix + "out_proj.weight"),
            taps=self.vector(prefix + "conv1d.weight").squeeze(1).t().contiguous(),
            decay_rate=self.vector(prefix + "A_log").exp(),
            decay_bias=self.vector(prefix + "dt_bias"),
            norm_scale=self.vector(prefix + "norm.weight"),
        )


def _random_tensor(kind: str, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """One tensor; `kind` is the last word of its name."""
    normal = torch.randn(shape, generator=generator)
    uniform = torch.rand(shape, generator=generator)
    if kind == "norm":
        # Both the output norm of a linear layer (a plain scale) and the final norm (one is added)
        # end so.
        return 1.0 + 0.2 * normal
    if kind.endswith("norm"):
        return 0.2 * normal
    if kind == "A_log":
        return (0.5 + 1.5 * uniform).log()
    if kind == "dt_bias":
        step = torch.exp(math.log(0.001) + uniform * (math.log(0.1) - math.log(0.001)))
        return step.expm1().log()  # softplus of it is the step
    if kind == "conv1d":
        return 0.5 * normal
    return normal / math.sqrt(shape[-1])  # a product whose output is as large as its input
