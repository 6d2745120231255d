"""What might a planner believe of a machine, rightly or wrongly?

Owns the beliefs of the miscalibration studies as values: presets by their names, a belief that is
wrong by a factor, and the published case of a card priced with another card's coefficients. Does
not know what a belief leads to (`belief_decisions`, `belief_worlds`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import polars as pl

from ninfer_lab.contract.device_timing import PrefillTiming, TransferTiming, TransferTimings
from ninfer_lab.contract.fixed_point import Q32_ONE
from ninfer_lab.contract.machine_work import PrefillWork
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import GENERIC, resolve_cost_model
from ninfer_lab.models.qwen3_5.geometries import QWEN3_5_27B
from ninfer_lab.models.qwen3_5.measurement import prefill_signature

RTX_3090 = "nvidia-geforce-rtx-3090-sm86"
RTX_5090 = "nvidia-geforce-rtx-5090-sm120"

SLOW_LINK_BYTES_PER_NS = 6
"""What the reporter's PCIe 3.0 x8 moved, GB/s."""

PUBLISHED_CHUNK_TOKENS = 1024
PUBLISHED_PREFILL_TOKENS = 55_000
PUBLISHED_BELIEVED_S = 26.0
PUBLISHED_MEASURED_S = 57.0
PUBLISHED_RATIO = 2.27
"""Median of measured over predicted over 127 requests of that report."""

Timing = TypeVar("Timing", PrefillTiming, TransferTiming)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """A cost model by the name it has in tables.

    Attributes:
        model: What the planner holds.
    """

    name: str
    model: MachineCostModel


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCase:
    """27B on an RTX 3090 at the end of a slow link, priced by presets of an RTX 5090.

    Attributes:
        truth: What work really takes there.
        beliefs: The right one first, then those that are wrong.
    """

    truth: MachineCostModel
    beliefs: tuple[Belief, ...]

    @property
    def prefill_table(self) -> pl.DataFrame:
        """The long prefill of the report, by belief and truth, beside the published seconds."""
        work = PrefillWork.between(
            0, PUBLISHED_PREFILL_TOKENS, prefill_chunk_tokens=PUBLISHED_CHUNK_TOKENS
        )
        believed = next(b.model for b in self.beliefs if b.name == GENERIC)
        believed_s, true_s = believed.prefill_ns(work) / 1e9, self.truth.prefill_ns(work) / 1e9
        rows = [
            ("believed_s", PUBLISHED_BELIEVED_S, believed_s),
            ("measured_s", PUBLISHED_MEASURED_S, true_s),
            ("measured / believed", PUBLISHED_RATIO, true_s / believed_s),
        ]
        return pl.DataFrame(
            [
                {"55,000 tokens of 27B": name, "published": said, "here": round(here, 2)}
                for name, said, here in rows
            ]
        )


def published_case() -> PublishedCase:
    """The case as presets and the report tell it.

    Raises:
        PresetError: Not run from a checkout, where the shipped presets are.
    """
    card, generic, other = (_preset(name) for name in (RTX_3090, GENERIC, RTX_5090))
    truth = replace(card, transfer=_at_rate(card.transfer, Q32_ONE // SLOW_LINK_BYTES_PER_NS))
    return PublishedCase(
        truth=truth,
        beliefs=(
            Belief(name="right", model=truth),
            Belief(name=GENERIC, model=generic),
            Belief(name="generic link alone", model=replace(truth, transfer=generic.transfer)),
            Belief(name="generic prefill alone", model=replace(truth, prefill=generic.prefill)),
            Belief(name="RTX 5090", model=other),
            Belief(name="RTX 5090 prefill alone", model=replace(truth, prefill=other.prefill)),
        ),
    )


def wrong_by(
    model: MachineCostModel, *, link: float = 1.0, prefill: float = 1.0
) -> MachineCostModel:
    """A belief in which copies, or prefill, take so many times what they do in another.

    Args:
        link: Over 1 believes copies slower than they are.
        prefill: Likewise.
    """
    transfer = model.transfer
    return replace(
        model,
        transfer=TransferTimings(
            d2h=_scaled(transfer.d2h, link),
            h2d=_scaled(transfer.h2d, link),
            d2d=_scaled(transfer.d2d, link),
        ),
        prefill=_scaled(model.prefill, prefill),
    )


def _preset(hardware_class: str) -> MachineCostModel:
    return resolve_cost_model(
        hardware_class=hardware_class,
        signature=prefill_signature(QWEN3_5_27B, QWEN3_5_27B.stored_dtype),
        shipped=shipped_presets(),
    )


def _at_rate(transfer: TransferTimings, ns_per_byte_q32: int) -> TransferTimings:
    """The same calls over another link between the tiers."""
    return replace(
        transfer,
        d2h=replace(transfer.d2h, ns_per_byte_q32=ns_per_byte_q32),
        h2d=replace(transfer.h2d, ns_per_byte_q32=ns_per_byte_q32),
    )


def _scaled(timing: Timing, factor: float) -> Timing:
    match timing:
        case TransferTiming():
            return TransferTiming(
                batch_ns=round(timing.batch_ns * factor),
                operation_ns=round(timing.operation_ns * factor),
                ns_per_byte_q32=round(timing.ns_per_byte_q32 * factor),
            )
        case PrefillTiming():
            return PrefillTiming(
                chunk_ns=round(timing.chunk_ns * factor),
                token_ns_q32=round(timing.token_ns_q32 * factor),
                attention_pair_ns_q32=round(timing.attention_pair_ns_q32 * factor),
                vision_item_ns=round(timing.vision_item_ns * factor),
                vision_patch_ns_q32=round(timing.vision_patch_ns_q32 * factor),
            )
