"""When does work end on a device whose time is virtual?

Owns the moment until which such a device is busy: work is ordered and starts when what came before
it has ended. Both machines charge through it, so the same work takes the same time in both worlds.
"""

from __future__ import annotations

from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.device_timing import SimulatedDevice
from ninfer_lab.contract.machine_work import TransferBatch, TransferDirection, TransferPhase
from ninfer_lab.contract.work import ForwardStep


class ChargedTime:
    """The device's own stream of work."""

    def __init__(self, device: SimulatedDevice, clock: Clock) -> None:
        self._device = device
        self._clock = clock
        self._busy_until_ns = 0

    @property
    def busy_until_ns(self) -> int:
        """When everything charged so far has ended."""
        return self._busy_until_ns

    def charge_page_copies(self, pages_count: int) -> None:
        """Device-to-Device copies of whole pages, one operation each."""
        batch = TransferBatch(
            phase=TransferPhase.CANDIDATE,
            direction=TransferDirection.D2D,
            payload_bytes=pages_count * self._device.kv_page_bytes,
            operation_count=pages_count,
        )
        self._occupy(self._device.timing.transfers_ns((batch,)))

    def charge_forward(self, step: ForwardStep) -> int:
        """One forward; returns what it takes, ns."""
        elapsed_ns = self._device.timing.forward_ns(step)
        self._occupy(elapsed_ns)
        return elapsed_ns

    def _occupy(self, elapsed_ns: int) -> None:
        self._busy_until_ns = max(self._busy_until_ns, self._clock.now_ns()) + elapsed_ns
