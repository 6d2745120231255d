"""What may be otherwise in a fork, and how does it take effect in the middle of a run?

Owns the changes and the switch that turns them on: prices, times, faults and requests may change
from an event on, since nothing before it hangs on them; capacities and the design are fixed with
the first event. Holds beliefs and timings that ask the switch with every use. Does not run
anything (`fork`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ninfer_lab.contract.device_timing import DeviceTiming
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_work import MachineWork, PrefillWork, TransferBatch
from ninfer_lab.contract.options import CacheMode, EngineOptions, RequestOptions
from ninfer_lab.contract.work import ForwardStep
from ninfer_lab.cost.machine_cost_model import MachineCostModel, WorkPrice
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.engine.engine import Engine
from ninfer_lab.lab.meddling import Meddling
from ninfer_lab.lab.world import World

# ── from an event on ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class OtherBelief:
    """The planner holds other prices: it decides otherwise, and the machine is as it was."""

    belief: MachineCostModel

    def __str__(self) -> str:
        return "other prices"


@dataclass(frozen=True, slots=True)
class OtherTruth:
    """The machine takes other times; what the planner believes is as it was."""

    truth: DeviceTiming

    def __str__(self) -> str:
        return "other times"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Forwards and copies that fail, counted from there: 0 is the next."""

    forwards: frozenset[int] = frozenset()
    transfers: frozenset[int] = frozenset()

    def __str__(self) -> str:
        failing = [f"forward {n}" for n in sorted(self.forwards)]
        failing += [f"transfer {n}" for n in sorted(self.transfers)]
        return f"{', '.join(failing) or 'nothing'} from there fails"


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A request's client takes it back there, if it has not ended."""

    request: RequestId

    def __str__(self) -> str:
        return f"request {self.request} is taken back"


@dataclass(frozen=True, slots=True)
class WithoutCache:
    """Requests that are sent from there on neither read nor leave anything."""

    def __str__(self) -> str:
        return "later requests do without the cache"


# ── from the first event on ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class OtherOptions:
    """Other capacities, or rules that an engine has for life."""

    options: EngineOptions

    def __str__(self) -> str:
        return "other options"


@dataclass(frozen=True, slots=True)
class OtherDesign:
    """Another cache design."""

    name: str
    design: ControllerFactory

    def __str__(self) -> str:
        return f"design {self.name}"


FromHere = OtherBelief | OtherTruth | Faults | TakenBack | WithoutCache
FromTheFirst = OtherOptions | OtherDesign
Change = FromHere | FromTheFirst


# ── how they take effect ────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class Switch:
    """Off until an engine has told so many events.

    Attributes:
        at: Events that are to stand as they are.
        at_ns: When the last of them is told: before, nobody needs to count.
        turned_at: Events that had been told when it was turned on, between two steps.
    """

    at: int
    at_ns: int
    turned_at: int | None = None

    @property
    def is_on(self) -> bool:
        """Whether what is changed is in force."""
        return self.turned_at is not None

    def look(self, engine: Engine, now_ns: int) -> bool:
        """Turns it on when it is time; returns whether it was turned just now."""
        if self.is_on or now_ns < self.at_ns or len(engine.events) < self.at:
            return False
        self.turned_at = len(engine.events)
        return True


def world_with(world: World, changes: Iterable[Change], switch: Switch) -> World:
    """The world with what is changed about its planner, its machine and its engine."""
    for change in changes:
        match change:
            case OtherBelief(belief=belief):
                world = replace(world, belief=_believed(world.belief, belief, switch))
            case OtherTruth(truth=truth):
                world = replace(world, truth=_timed(world.truth, truth, switch))
            case OtherOptions(options=options):
                world = replace(world, story=replace(world.story, options=options))
            case _:
                continue
    return world


def meddling_with(changes: Sequence[Change], switch: Switch) -> Meddling:
    """What has to be done while the story is told; turns the switch, too."""
    taken_back = [change.request for change in changes if isinstance(change, TakenBack)]
    without_cache = any(isinstance(change, WithoutCache) for change in changes)
    faults = [change for change in changes if isinstance(change, Faults)]

    def before_step(engine: Engine, now_ns: int) -> None:
        if switch.look(engine, now_ns):
            for request in taken_back:
                engine.cancel(request)

    def sent(options: RequestOptions) -> RequestOptions:
        if switch.is_on and without_cache:
            return replace(options, mode=CacheMode.DISABLED)
        return options

    return Meddling(
        before_step=before_step,
        options=sent,
        failing_forwards=_FromThere(switch, frozenset().union(*(f.forwards for f in faults))),
        failing_transfers=_FromThere(switch, frozenset().union(*(f.transfers for f in faults))),
    )


class _FromThere:
    """Ordinals that are counted from the first that is asked for with the switch on."""

    def __init__(self, switch: Switch, wanted: frozenset[int]) -> None:
        self._switch = switch
        self._wanted = wanted
        self._first: int | None = None

    def __contains__(self, ordinal: object) -> bool:
        assert isinstance(ordinal, int)
        if not self._switch.is_on:
            return False
        if self._first is None:
            self._first = ordinal
        return ordinal - self._first in self._wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class _SwitchedBelief(MachineCostModel):
    """Prices as they were, and others once the switch is on."""

    later: MachineCostModel
    switch: Switch

    def work_ns(self, work: MachineWork) -> int:
        if self.switch.is_on:
            return self.later.work_ns(work)
        return MachineCostModel.work_ns(self, work)

    def prefill_ns(self, work: PrefillWork) -> int:
        if self.switch.is_on:
            return self.later.prefill_ns(work)
        return MachineCostModel.prefill_ns(self, work)

    def price(self, work: MachineWork) -> WorkPrice:
        if self.switch.is_on:
            return self.later.price(work)
        return MachineCostModel.price(self, work)


def _believed(now: MachineCostModel, later: MachineCostModel, switch: Switch) -> MachineCostModel:
    return _SwitchedBelief(
        transfer=now.transfer,
        prefill=now.prefill,
        transfer_source=now.transfer_source,
        prefill_source=now.prefill_source,
        later=later,
        switch=switch,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _SwitchedTruth(DeviceTiming):
    """Times as they were, and others once the switch is on."""

    later: DeviceTiming
    switch: Switch

    def transfers_ns(self, batches: Iterable[TransferBatch]) -> int:
        if self.switch.is_on:
            return self.later.transfers_ns(batches)
        return DeviceTiming.transfers_ns(self, batches)

    def forward_ns(self, step: ForwardStep) -> int:
        if self.switch.is_on:
            return self.later.forward_ns(step)
        return DeviceTiming.forward_ns(self, step)


def _timed(now: DeviceTiming, later: DeviceTiming, switch: Switch) -> DeviceTiming:
    return _SwitchedTruth(
        transfer=now.transfer,
        prefill=now.prefill,
        decode=now.decode,
        later=later,
        switch=switch,
    )
