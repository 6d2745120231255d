"""Which implementation of each op does a model run on?

Owns `KernelSet`, a frozen table that is chosen once and handed over, and the protocols of its
entries. Shapes and meaning of the arguments stand at each op's reference.
Does not know models; reads no environment. Triton is imported only by whoever asks for its kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from ninfer_kernels.causal_conv import cpu as causal_conv_cpu
from ninfer_kernels.causal_conv import reference as causal_conv
from ninfer_kernels.gated_delta_rule import cpu as gated_delta_rule_cpu
from ninfer_kernels.gated_delta_rule import reference as gated_delta_rule
from ninfer_kernels.gated_delta_rule.inputs import DeltaInputs
from ninfer_kernels.kv_pages import reference as kv_pages
from ninfer_kernels.kv_pages.rows import PagedRows
from ninfer_kernels.kv_pages.scratch import GatherMeter
from ninfer_kernels.norm_rope import cpu as norm_rope_cpu
from ninfer_kernels.norm_rope import reference as norm_rope
from ninfer_kernels.paged_attention import cpu as paged_attention_cpu
from ninfer_kernels.paged_attention import reference as paged_attention
from ninfer_kernels.product import cpu as product_cpu
from ninfer_kernels.product import gpu as product_gpu
from ninfer_kernels.product import reference as product
from ninfer_kernels.sampling import reference as sampling
from ninfer_kernels.state_image import reference as state_image
from ninfer_kernels.state_image.rows import StateRows

Product = Callable[[Tensor], Tensor]
"""A weight in the form its product likes: rows `[N, in]` to `[N, out]`."""

Attention = Callable[[Tensor, Tensor, PagedRows, GatherMeter], Tensor]
CausalConv = Callable[[Tensor, Tensor, Tensor, StateRows], Tensor]
DeltaRule = Callable[[DeltaInputs, Tensor, StateRows], Tensor]
Places = Sequence[int]
"""Page ids or state slots."""


class Draw(Protocol):
    """See `sampling.reference.draw`."""

    def __call__(
        self, logits: Tensor, temperature: float, top_k: int | None, top_p: float, uniform: float
    ) -> int:
        """One token id."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSet:
    """One callable per op; see the `reference.py` of the op's folder for each signature."""

    prepare_product: Callable[[Tensor], Product]
    append_kv: Callable[[Tensor, Tensor, Tensor, PagedRows], None]
    copy_pages: Callable[[Tensor, Places, Places], None]
    pack_extent: Callable[[Tensor, Places, Tensor], None]
    unpack_extent: Callable[[Tensor, Tensor, Places], None]
    copy_slots: Callable[[Tensor, Tensor, Places, Places], None]
    snapshot: Callable[[Tensor, Tensor, Places, Tensor], None]
    restore: Callable[[Tensor, Tensor, Tensor, Places], None]
    attention_prefill: Attention
    attention_decode: Attention
    conv_prefill: CausalConv
    conv_decode: CausalConv
    delta_prefill: DeltaRule
    delta_decode: DeltaRule
    delta_gates: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
    rms_norm: Callable[[Tensor, Tensor, float], Tensor]
    gated_rms_norm: Callable[[Tensor, Tensor, Tensor, float], Tensor]
    head_norm_rope: Callable[[Tensor, Tensor, Tensor, Tensor, float], Tensor]
    greedy: Callable[[Tensor], Tensor]
    draw: Draw


def reference_kernels() -> KernelSet:
    """The readable form of every op; runs on any device torch knows."""
    return KernelSet(
        prepare_product=product.prepare,
        append_kv=kv_pages.append,
        copy_pages=kv_pages.copy_pages,
        pack_extent=kv_pages.pack_extent,
        unpack_extent=kv_pages.unpack_extent,
        copy_slots=state_image.copy_slots,
        snapshot=state_image.snapshot,
        restore=state_image.restore,
        attention_prefill=paged_attention.prefill,
        attention_decode=paged_attention.decode,
        conv_prefill=causal_conv.prefill,
        conv_decode=causal_conv.decode,
        delta_prefill=gated_delta_rule.prefill,
        delta_decode=gated_delta_rule.decode,
        delta_gates=norm_rope.delta_gates,
        rms_norm=norm_rope.rms_norm,
        gated_rms_norm=norm_rope.gated_rms_norm,
        head_norm_rope=norm_rope.head_norm_rope,
        greedy=sampling.greedy,
        draw=sampling.draw,
    )


def cpu_kernels() -> KernelSet:
    """The forms that are fast on a CPU; where there is none, the readable one."""
    return replace(
        reference_kernels(),
        prepare_product=product_cpu.prepare,
        attention_prefill=paged_attention_cpu.prefill,
        attention_decode=paged_attention_cpu.decode,
        conv_prefill=causal_conv_cpu.prefill,
        conv_decode=causal_conv_cpu.decode,
        delta_prefill=gated_delta_rule_cpu.prefill,
        delta_decode=gated_delta_rule_cpu.decode,
        rms_norm=norm_rope_cpu.rms_norm,
        gated_rms_norm=norm_rope_cpu.gated_rms_norm,
        head_norm_rope=norm_rope_cpu.head_norm_rope,
    )


def triton_kernels() -> KernelSet:
    """The forms for a GPU; products are the library's that torch brings.

    Raises:
        ImportError: Triton is not installed.
    """
    from ninfer_kernels.causal_conv import triton as causal_conv_triton
    from ninfer_kernels.gated_delta_rule import triton as gated_delta_rule_triton
    from ninfer_kernels.kv_pages import triton as kv_pages_triton
    from ninfer_kernels.norm_rope import triton as norm_rope_triton
    from ninfer_kernels.paged_attention import triton as paged_attention_triton
    from ninfer_kernels.sampling import triton as sampling_triton
    from ninfer_kernels.state_image import triton as state_image_triton

    return KernelSet(
        prepare_product=product_gpu.prepare,
        append_kv=kv_pages_triton.append,
        copy_pages=kv_pages_triton.copy_pages,
        pack_extent=kv_pages_triton.pack_extent,
        unpack_extent=kv_pages_triton.unpack_extent,
        copy_slots=state_image_triton.copy_slots,
        snapshot=state_image_triton.snapshot,
        restore=state_image_triton.restore,
        attention_prefill=paged_attention_triton.prefill,
        attention_decode=paged_attention_triton.decode,
        conv_prefill=causal_conv_triton.prefill,
        conv_decode=causal_conv_triton.decode,
        delta_prefill=gated_delta_rule_triton.prefill,
        delta_decode=gated_delta_rule_triton.decode,
        delta_gates=norm_rope_triton.delta_gates,
        rms_norm=norm_rope_triton.rms_norm,
        gated_rms_norm=norm_rope_triton.gated_rms_norm,
        head_norm_rope=norm_rope_triton.head_norm_rope,
        greedy=sampling_triton.greedy,
        draw=sampling_triton.draw,
    )


def kernels_for(device: torch.device) -> KernelSet:
    """The set that is fast on that device.

    Raises:
        ValueError: A device that no set was made for.
        ImportError: A GPU, and Triton is not installed.
    """
    match device.type:
        case "cpu":
            return cpu_kernels()
        case "cuda":
            return triton_kernels()
        case other:
            raise ValueError(f"device: found {other!r}; legal: cpu or cuda")
