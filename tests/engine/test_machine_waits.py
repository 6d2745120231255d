"""Law: a forward's result is taken when its time has passed, and not a moment later."""

from __future__ import annotations

from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.ids import HostSlotId, StateSlotId
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.transfer import StateTransfer, Transfer
from ninfer_lab.contract.work import ForwardPhase, ForwardStep
from ninfer_lab.engine.machine_waits import computed, wait_for_work_in_flight
from simulation.content_machine import FORWARD_NS, TRANSFER_NS
from simulation.half_read import LANE, half_read, row


def test_time_passes_as_long_as_the_work_in_flight_takes() -> None:
    machine = half_read()
    clock = machine.clock
    assert isinstance(clock, VirtualClock)
    image = StateTransfer(device_slot=StateSlotId(0), host_slot=HostSlotId(0))
    began_ns = clock.now_ns()
    machine.start_transfer(Transfer(direction=TransferDirection.D2H, states=(image,), pages=()))
    step = ForwardStep(phase=ForwardPhase.PREFILL, rows=(row(70, 72, read=0, write=1),))
    result = computed(machine, clock, step)
    machine.committed(LANE)
    assert result.drawn_tokens == (None,)
    assert clock.now_ns() == began_ns + FORWARD_NS
    assert not machine.transfer_is_done()
    wait_for_work_in_flight(machine, clock)
    assert clock.now_ns() == began_ns + TRANSFER_NS
    assert machine.transfer_is_done()
