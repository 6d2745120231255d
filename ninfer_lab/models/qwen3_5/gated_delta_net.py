"""What does a linear-attention layer's mixer add, and what does it write into a StateImage?

Owns the order of its steps: fused product, convolution, gates, delta rule, gated norm, product.
Does not know slots' owners; row tables are handed in.
Source: Qwen3.5 (Gated DeltaNet, arXiv:2412.06464).
"""

from __future__ import annotations

import torch
from torch import Tensor

from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.kernel_set import KernelSet
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.forward_rows import ForwardRows
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors
from ninfer_lab.models.qwen3_5.weights import LinearLayerWeights


class GatedDeltaNet:
    """The mixer of one linear-attention layer.

    Args:
        geometry: Of the model.
        weights: Of the layer.
        kernels: Ops to run on.
        state_layer: Which of the image's layers is this one's.
    """

    __slots__ = (
        "_conv_widths",
        "_decay_bias",
        "_decay_rate",
        "_geometry",
        "_inputs",
        "_kernels",
        "_norm_scale",
        "_output",
        "_state_layer",
        "_taps",
        "_widths",
    )

    def __init__(
        self,
        geometry: ModelGeometry,
        weights: LinearLayerWeights,
        kernels: KernelSet,
        state_layer: int,
    ) -> None:
        self._geometry = geometry
        self._taps = weights.taps
        self._decay_rate = weights.decay_rate
        self._decay_bias = weights.decay_bias
        self._norm_scale = weights.norm_scale
        self._kernels = kernels
        self._state_layer = state_layer
        self._inputs = kernels.prepare_product(weights.inputs)
        self._output = kernels.prepare_product(weights.output)
        heads = geometry.linear_value_head_count
        keys = geometry.linear_key_head_count * geometry.linear_key_dim
        values = heads * geometry.linear_value_dim
        self._widths = [geometry.conv_channel_count, values, heads, heads]
        self._conv_widths = [2 * keys, values]

    def __call__(self, hidden: Tensor, tensors: DeviceTensors, rows: ForwardRows) -> Tensor:
        """Advances the rows' states.

        Args:
            hidden: `[N, hidden]`.
            tensors: State slots; the write slots are written in place.
            rows: Of this forward.

        Returns:
            `[N, hidden]`.
        """
        geometry, kernels = self._geometry, self._kernels
        count = len(hidden)
        projected = self._inputs(hidden)
        channels, gate, beta_input, decay_input = torch.split(projected, self._widths, dim=-1)
        history = tensors.conv_history[:, self._state_layer]
        state = tensors.recurrent[:, self._state_layer]
        log_decay, beta = kernels.delta_gates(
            decay_input, beta_input, self._decay_rate, self._decay_bias
        )
        match rows.phase:
            case ForwardPhase.PREFILL:
                convolve, advance = kernels.conv_prefill, kernels.delta_prefill
            case ForwardPhase.DECODE:
                convolve, advance = kernels.conv_decode, kernels.delta_decode
        convolved = convolve(channels, self._taps, history, rows.states)
        query_and_key, value = torch.split(convolved, self._conv_widths, dim=-1)
        inputs = DeltaInputs(
            query_and_key=query_and_key.view(count, 2, -1, geometry.linear_key_dim),
            value=value.view(count, -1, geometry.linear_value_dim),
            log_decay=log_decay,
            beta=beta,
        )
        read = advance(inputs, state, rows.states)  # [N, HV, V]
        gate = gate.view(count, -1, geometry.linear_value_dim)
        normed = kernels.gated_rms_norm(read, gate, self._norm_scale, geometry.rms_norm_eps)
        return self._output(normed.reshape(count, -1))
