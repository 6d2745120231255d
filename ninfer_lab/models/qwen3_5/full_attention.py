"""What does a full-attention layer's mixer add, and what does it write into pages?

Owns the order of its steps: fused product, head norms and rotation, append, attention, output gate,
product. Does not know pages' owners; row tables are handed in.
Source: Qwen3.5 (gated grouped-query attention with partial RoPE).
"""

from __future__ import annotations

import torch
from torch import Tensor

from ninfer_kernels.kernel_set import KernelSet
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.forward_rows import ForwardRows
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors
from ninfer_lab.models.qwen3_5.weights import FullLayerWeights


class FullAttention:
    """The mixer of one full-attention layer.

    Args:
        geometry: Of the model.
        weights: Of the layer.
        kernels: Ops to run on.
        page_layer: Which of the pages' layers is this one's.
    """

    __slots__ = (
        "_geometry",
        "_head_scales",
        "_inputs",
        "_kernels",
        "_output",
        "_page_layer",
        "_widths",
    )

    def __init__(
        self,
        geometry: ModelGeometry,
        weights: FullLayerWeights,
        kernels: KernelSet,
        page_layer: int,
    ) -> None:
        self._geometry = geometry
        self._head_scales = weights.head_scales
        self._kernels = kernels
        self._page_layer = page_layer
        self._inputs = kernels.prepare_product(weights.inputs)
        self._output = kernels.prepare_product(weights.output)
        queries = geometry.query_head_count * geometry.head_dim
        keys = geometry.kv_head_count * geometry.head_dim
        self._widths = [queries + keys, keys, queries]

    def __call__(self, hidden: Tensor, tensors: DeviceTensors, rows: ForwardRows) -> Tensor:
        """Appends the rows' keys and values and attends.

        Args:
            hidden: `[N, hidden]`.
            tensors: Pages, written in place.
            rows: Of this forward.

        Returns:
            `[N, hidden]`.
        """
        geometry, kernels = self._geometry, self._kernels
        count, dim = len(hidden), geometry.head_dim
        projected = self._inputs(hidden)
        query_and_key, value, gate = torch.split(projected, self._widths, dim=-1)
        heads = kernels.head_norm_rope(
            query_and_key.view(count, -1, dim),
            self._head_scales,
            rows.cosine,
            rows.sine,
            geometry.rms_norm_eps,
        )
        query, key = torch.tensor_split(heads, [geometry.query_head_count], dim=1)
        value = value.view(count, -1, dim)
        layer_pages = tensors.kv_pages[:, self._page_layer]
        kernels.append_kv(layer_pages, key, value, rows.pages)
        match rows.phase:
            case ForwardPhase.PREFILL:
                attended = kernels.attention_prefill(query, layer_pages, rows.pages, tensors.meter)
            case ForwardPhase.DECODE:
                attended = kernels.attention_decode(query, layer_pages, rows.pages, tensors.meter)
        gated = attended.reshape(count, -1) * torch.sigmoid(gate)
        return self._output(gated)
