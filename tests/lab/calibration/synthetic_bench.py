"""A machine whose times are made up: laws with known coefficients, and noise from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from random import Random

from ninfer_lab.contract.device_timing import PrefillTiming, TransferTiming, TransferTimings
from ninfer_lab.lab.calibration.calibration import MeasuredOn
from ninfer_lab.lab.calibration.grid import Part, PrefillPoint, TransferPoint

TRANSFERS = TransferTimings(
    d2h=TransferTiming(batch_ns=50_000, operation_ns=7_000, ns_per_byte_q32=180_000_000),
    h2d=TransferTiming(batch_ns=20_000, operation_ns=9_000, ns_per_byte_q32=90_000_000),
    d2d=TransferTiming(batch_ns=3_000, operation_ns=8_000, ns_per_byte_q32=11_000_000),
)
PREFILL = PrefillTiming(
    chunk_ns=5_000_000, token_ns_q32=400 * 10**12, attention_pair_ns_q32=80 * 10**9
)
SIGNATURE = "0123456789abcdef0123456789abcdef"
HARDWARE = "cpu-made-up-2-threads"


@dataclass
class SyntheticBench:
    """`MachineBench` without a machine.

    Attributes:
        noise: A measurement is off by up to this part, either way.
        bend: Long copies take so many times what the law says: a machine that the law does not fit.
        held_out_bend: The same of prefills that are held out.
        asked: Points in the order they were measured.
    """

    noise: float = 0.0
    bend: float = 1.0
    held_out_bend: float = 1.0
    transfers: TransferTimings = TRANSFERS
    prefill: PrefillTiming = PREFILL
    seed: int = 1
    asked: list[object] = field(default_factory=list)

    @property
    def measured_on(self) -> MeasuredOn:
        return MeasuredOn(
            hardware_class=HARDWARE,
            signature=SIGNATURE,
            model="a model",
            conditions="a quiet room",
            day=date(2026, 11, 30),
        )

    def transfer_measurers(
        self, points: Sequence[TransferPoint]
    ) -> list[tuple[TransferPoint, Callable[[], int]]]:
        random = Random(self.seed)

        def measurer(point: TransferPoint) -> Callable[[], int]:
            timing = self.transfers.of(point.direction)
            law_ns: float = timing.elapsed_ns(point.payload_bytes, point.operation_count)
            if point.payload_bytes > 16 << 20:
                law_ns *= self.bend
            return lambda: self._took(point, law_ns, random)

        return [(point, measurer(point)) for point in points]

    def prefill_measurers(
        self, points: Sequence[PrefillPoint]
    ) -> list[tuple[PrefillPoint, Callable[[], int]]]:
        random = Random(self.seed)

        def measurer(point: PrefillPoint) -> Callable[[], int]:
            law_ns: float = self.prefill.elapsed_ns(point.work)
            if point.part is Part.HELD_OUT:
                law_ns *= self.held_out_bend
            return lambda: self._took(point, law_ns, random)

        return [(point, measurer(point)) for point in points]

    def _took(self, point: object, law_ns: float, random: Random) -> int:
        self.asked.append(point)
        return max(1, round(law_ns * (1 + self.noise * random.uniform(-1, 1))))


def elsewhere(factor: int) -> TransferTimings:
    """Other transfers, to tell from those above."""
    slower = {
        name: replace(timing, batch_ns=timing.batch_ns * factor)
        for name, timing in (("d2h", TRANSFERS.d2h), ("h2d", TRANSFERS.h2d), ("d2d", TRANSFERS.d2d))
    }
    return TransferTimings(**slower)
