"""When does work end on a device whose time is virtual?

Owns the two moments until which such a device is busy, one per stream. Forwards and page copies
follow each other on one. A transfer runs on the other: it waits for what was asked before it, and
what is asked after it does not wait for it. Both machines charge through here, so the same work
takes the same time in both worlds.
"""

from __future__ import annotations

from collections.abc import Sequence

from ninfer_lab.contract.capacity import HostArenaGeometry, KvPool
from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.device_timing import SimulatedDevice
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.machine_work import TransferBatch, TransferDirection, TransferPhase
from ninfer_lab.contract.transfer import Transfer
from ninfer_lab.contract.work import ForwardStep, PageCopy


class ChargedTime:
    """The device's own streams of work.

    Args:
        device: How long things take, and how large they are.
        arena: How the Host arena is divided: which pages one copy call can carry.
        clock: The engine's.
    """

    def __init__(self, device: SimulatedDevice, arena: HostArenaGeometry, clock: Clock) -> None:
        self._device = device
        self._page_granules = {pool: arena.page_granules(pool) for pool in KvPool}
        self._clock = clock
        self._compute_until_ns = 0
        self._transfer_until_ns = 0

    @property
    def sizes(self) -> str:
        """What the device's contents would measure, in words."""
        device = self._device
        return f"pages of {device.page_bytes}, images of {device.state_image_bytes} bytes"

    @property
    def compute_until_ns(self) -> int:
        """When every forward and page copy charged so far has ended."""
        return self._compute_until_ns

    @property
    def transfer_until_ns(self) -> int:
        """When the transfer charged last ends."""
        return self._transfer_until_ns

    @property
    def transfer_has_ended(self) -> bool:
        """Whether that moment has come."""
        return self._clock.now_ns() >= self._transfer_until_ns

    def charge_page_copies(self, copies: Sequence[PageCopy]) -> None:
        """Device-to-Device copies of whole pages, one operation each."""
        batch = TransferBatch(
            phase=TransferPhase.CANDIDATE,
            direction=TransferDirection.D2D,
            payload_bytes=sum(self._page_bytes(copy.pool) for copy in copies),
            operation_count=len(copies),
        )
        self._compute(self._device.timing.transfers_ns((batch,)))

    def charge_forward(self, step: ForwardStep) -> int:
        """One forward; returns what it takes, ns."""
        elapsed_ns = self._device.timing.forward_ns(step)
        self._compute(elapsed_ns)
        return elapsed_ns

    def charge_transfer(self, transfer: Transfer) -> None:
        """One batch between Device and Host, on a stream of its own (COST-3)."""
        states_bytes = len(transfer.states) * self._device.state_image_bytes
        pages_bytes = sum(self._page_bytes(page.pool) for page in transfer.pages)
        demotes = transfer.direction is TransferDirection.D2H
        batch = TransferBatch(
            phase=TransferPhase.PRESSURE_TO_HOST if demotes else TransferPhase.CANDIDATE,
            direction=transfer.direction,
            payload_bytes=states_bytes + pages_bytes,
            operation_count=transfer.operation_count(self._page_granules),
        )
        start_ns = max(self._clock.now_ns(), self._compute_until_ns, self._transfer_until_ns)
        self._transfer_until_ns = start_ns + self._device.timing.transfers_ns((batch,))

    def _compute(self, elapsed_ns: int) -> None:
        self._compute_until_ns = max(self._compute_until_ns, self._clock.now_ns()) + elapsed_ns

    def _page_bytes(self, pool: KvPool) -> int:
        page_bytes = self._device.page_bytes
        found = page_bytes.main if pool is KvPool.MAIN else page_bytes.backend
        if found is None:
            raise InvariantBroken(
                "MACHINE pools", f"a page of the {pool.value} pool, and the device has no such pool"
            )
        return found
