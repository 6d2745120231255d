"""How are forwards and copies carried out with no tensors, in virtual time?

Owns the result in flight. Time passes only where the engine's loop waits; how much is the truth of
`DeviceTiming`, whatever the planner believes. Tokens come from a `TokenSource`, so the same
requests can be run in both worlds. Decides nothing and knows no contents.
"""

from __future__ import annotations

from collections.abc import Sequence

from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.device_timing import SimulatedDevice
from ninfer_lab.contract.token_source import TokenSource
from ninfer_lab.contract.work import ForwardResult, ForwardRow, ForwardStep, PageCopy
from ninfer_lab.machine.charged_time import ChargedTime
from ninfer_lab.machine.lane_tables import LaneTables


class SimulatedFault(Exception):
    """What a seeded fault raises in place of a forward."""


class SimulatedMachine(LaneTables):
    """`MachineApi` in virtual time.

    Args:
        device: The truth about time and sizes.
        tokens: What requests say.
        clock: The engine's.
        failing_forwards: Ordinals of forwards, from 0, that raise `SimulatedFault`.
    """

    def __init__(
        self,
        device: SimulatedDevice,
        tokens: TokenSource,
        clock: Clock,
        failing_forwards: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__()
        self._tokens = tokens
        self._time = ChargedTime(device, clock)
        self._failing_forwards = failing_forwards
        self._forward_ordinal = 0
        self._result: ForwardResult | None = None

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        self._time.charge_page_copies(len(copies))

    def submit(self, step: ForwardStep) -> None:
        assert self._result is None, "the result of the forward before has not been taken"
        ordinal, self._forward_ordinal = self._forward_ordinal, self._forward_ordinal + 1
        if ordinal in self._failing_forwards:
            raise SimulatedFault(f"forward {ordinal} was seeded to fail")
        self._result = ForwardResult(
            drawn_tokens=tuple([self._drawn(row) for row in step.rows]),
            elapsed_ns=self._time.charge_forward(step),
            gathered_bytes=0,
        )

    def next_completion_ns(self) -> int | None:
        return None if self._result is None else self._time.busy_until_ns

    def take_result(self) -> ForwardResult:
        assert self._result is not None, "no forward is in flight"
        result, self._result = self._result, None
        return result

    def _drawn(self, row: ForwardRow) -> int | None:
        draw = row.draw
        return None if draw is None else self._tokens.token(draw.request, draw.position_tokens)
