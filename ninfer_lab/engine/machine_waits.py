"""How does the step loop wait for the machine?

Owns the two waits there are: for a forward, and for copies between the tiers where nothing else can
run. Time passes nowhere else in the engine. Does not know whose work it is.
"""

from __future__ import annotations

from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.work import ForwardResult, ForwardStep


def computed(machine: MachineApi, clock: Clock, step: ForwardStep) -> ForwardResult:
    """One forward, from its start to its result.

    Raises:
        Exception: The machine's own; the rows are lost.
    """
    machine.submit(step)
    wait_for_work_in_flight(machine, clock)
    return machine.take_result()


def wait_for_work_in_flight(machine: MachineApi, clock: Clock) -> None:
    """Until what is in flight was to end; there is something."""
    completion_ns = machine.next_completion_ns()
    assert completion_ns is not None
    clock.wait_until(completion_ns)
