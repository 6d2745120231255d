"""What does the planner believe that machine work costs?

Owns `MachineCostModel`, one immutable belief for a whole planning problem, and the itemised prices
it gives. The laws themselves are `contract.device_timing`'s; here they carry believed coefficients
and say where these came from.
Does not know what the work is for: a price changes the order of feasible targets, never whether one
is feasible, and Program never sees it (COST-1, INV-13). Decode steps have no price.
Source: spec COST-2..5, VAL-2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ninfer_lab.contract.device_timing import (
    DecodeTiming,
    DeviceTiming,
    PrefillTerms,
    PrefillTiming,
    TransferTimings,
)
from ninfer_lab.contract.fixed_point import saturated_sum
from ninfer_lab.contract.machine_work import MachineWork, PrefillWork, TransferBatch


class CoefficientOrigin(Enum):
    """How a component of the model was found, weakest first."""

    GENERIC = "generic"
    """Nothing matched: a fallback measured on another machine or another model."""
    SHIPPED = "shipped"
    """The preset file of the project matched."""
    FILE = "file"
    """The user's preset file matched."""
    TRUTH = "truth"
    """The machine's own timing, which only a machine in virtual time can tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoefficientSource:
    """Where one component's coefficients came from.

    Attributes:
        hardware_class: Of the machine they were measured on; `None` if nothing was measured.
        signature: Of the prefill they were measured on; `None` for transfers.
        file_name: The preset file they stand in; `None` if they stand in none.
    """

    origin: CoefficientOrigin
    hardware_class: str | None
    signature: str | None
    file_name: str | None

    def __str__(self) -> str:
        if self.file_name is None:
            return self.origin.value
        of = "" if self.signature is None else f" {self.signature}"
        return f"{self.origin.value} ({self.hardware_class}{of} in {self.file_name})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferPrice:
    """One batch of copies, and the two times of which it costs the longer (COST-3)."""

    batch: TransferBatch
    latency_ns: int
    bandwidth_ns: int

    @property
    def total_ns(self) -> int:
        """The batch's price."""
        return max(self.latency_ns, self.bandwidth_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPrice:
    """A price with its items: ordered copies, then prefill (COST-2).

    Attributes:
        prefill: `None` where nothing is computed.
    """

    transfers: tuple[TransferPrice, ...]
    prefill: PrefillTerms | None

    @property
    def total_ns(self) -> int:
        """Sum of the items."""
        prefill_ns = 0 if self.prefill is None else self.prefill.total_ns
        return saturated_sum(*(item.total_ns for item in self.transfers), prefill_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineCostModel:
    """Believed coefficients of copies and of prefill, each component with its source.

    Example: restore a StateImage of 147 MiB and 41,000 tokens of KV at 64 KiB from Host, then
    compute 25 tokens. At 40 GB/s the restore takes 71 ms; computing 41,000 tokens takes 17 s.
    """

    transfer: TransferTimings
    prefill: PrefillTiming
    transfer_source: CoefficientSource
    prefill_source: CoefficientSource

    def work_ns(self, work: MachineWork) -> int:
        """The price of a target's immediate work, or of one recovery recipe (COST-2)."""
        prefill_ns = 0 if work.prefill is None else self.prefill.elapsed_ns(work.prefill)
        return saturated_sum(self.transfer.elapsed_ns(work.transfers), prefill_ns)

    def prefill_ns(self, work: PrefillWork) -> int:
        """The price of a prefill alone: Rebuild of VAL-2 where it starts at root."""
        return self.prefill.elapsed_ns(work)

    def recovery_ns(self, recipes: Iterable[MachineWork]) -> int:
        """The cheapest of the recipes that Program lists for one checkpoint (VAL-2).

        Raises:
            ValueError: No recipe; a rebuild from root always is one.
        """
        return min(self.work_ns(recipe) for recipe in recipes)

    def price(self, work: MachineWork) -> WorkPrice:
        """The price with its items, for reports; its total is `work_ns`."""
        return WorkPrice(
            transfers=tuple(self._transfer_price(batch) for batch in work.transfers),
            prefill=None if work.prefill is None else self.prefill.terms(work.prefill),
        )

    def _transfer_price(self, batch: TransferBatch) -> TransferPrice:
        timing = self.transfer.of(batch.direction)
        return TransferPrice(
            batch=batch,
            latency_ns=timing.latency_ns(batch.operation_count),
            bandwidth_ns=timing.bandwidth_ns(batch.payload_bytes),
        )

    def __str__(self) -> str:
        return f"transfers: {self.transfer_source}; prefill: {self.prefill_source}"


def timing_from_model(model: MachineCostModel, decode: DecodeTiming) -> DeviceTiming:
    """A machine of which the model is right: truth equal to belief, the default of every world.

    Args:
        model: What the planner believes about copies and prefill.
        decode: What a decode step takes, about which the planner believes nothing.
    """
    return DeviceTiming(transfer=model.transfer, prefill=model.prefill, decode=decode)


def model_from_timing(timing: DeviceTiming) -> MachineCostModel:
    """The belief that is right about a machine: what a planner holds where nobody says otherwise.

    Args:
        timing: The truth. What it says of decode steps has no price.
    """
    source = CoefficientSource(
        origin=CoefficientOrigin.TRUTH, hardware_class=None, signature=None, file_name=None
    )
    return MachineCostModel(
        transfer=timing.transfer,
        prefill=timing.prefill,
        transfer_source=source,
        prefill_source=source,
    )
