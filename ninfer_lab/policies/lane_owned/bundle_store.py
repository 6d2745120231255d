"""Which bundle lies where, and who must give way?

Owns every bundle that no request runs on: one for each idle lane at most, and those that live on
without a lane. Gives pages and slots back when a bundle ends, tells the trace who ended it, and
keeps for every lane the state slots that are its own. Does not know which request goes where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.ids import LaneId, OwnerId
from ninfer_lab.policies.lane_owned.bundle import LaneBundle
from ninfer_lab.policies.lane_owned.detached_registry import DetachedRegistry
from ninfer_lab.policies.lane_owned.reuse_plan import ReusePlan
from ninfer_lab.policies.lane_owned.switches import LaneSwitches
from ninfer_lab.policies.lane_owned.trace import (
    Attached,
    Destroyer,
    Destruction,
    Detached,
    LaneTrace,
    Lost,
)
from ninfer_lab.policies.row_ledger import RowLedger

STATES_PER_LANE = 2
"""The state at the frontier and that of the rewrite checkpoint."""


class BundleStore:
    """Inactive bundles.

    Args:
        ledger: Where pages and slots go back to.
        lanes: All of them, ascending.
        switches: How large the registry is.
        trace: Where ends are told.

    Attributes:
        lanes: As given.
    """

    def __init__(
        self,
        ledger: RowLedger,
        lanes: Sequence[LaneId],
        switches: LaneSwitches,
        trace: LaneTrace,
    ) -> None:
        self.lanes = lanes
        self._ledger = ledger
        self._trace = trace
        self._retained: dict[LaneId, LaneBundle] = {}
        self._registry = DetachedRegistry(switches.detached_entries_count)
        slots_count = ledger.options.capacity.device_state_slots
        self._lane_share_slots = min(STATES_PER_LANE, slots_count // len(lanes))

    # ── what there is ───────────────────────────────────────────────────────────────────────────

    @property
    def retained(self) -> Mapping[LaneId, LaneBundle]:
        """What lies on idle lanes, as a copy."""
        return dict(self._retained)

    @property
    def detached(self) -> tuple[LaneBundle, ...]:
        """What lives on without a lane."""
        return self._registry.entries

    @property
    def bundles(self) -> Iterator[LaneBundle]:
        """All of them."""
        yield from self._retained.values()
        yield from self._registry.entries

    @property
    def spare_pages(self) -> int:
        """Pages that are nobody's, or could be taken from bundles without a lane."""
        return self._ledger.unpromised_pages + self._registry.pages_count

    def match(
        self, request: AdmissionRequest, than: ReusePlan
    ) -> tuple[LaneBundle, ReusePlan] | None:
        """The bundle without a lane that spares the request most, if that is more than a plan."""
        found = self._registry.match(request)
        return None if found is None or found[1].reuse_tokens <= than.reuse_tokens else found

    def outlives(self, lane: LaneId, plan: ReusePlan) -> bool:
        """Whether what lies on a lane would be there still after a plan was carried out."""
        return plan.is_full_reset and self._registry.is_on and lane in self._retained

    # ── going in and out ────────────────────────────────────────────────────────────────────────

    def retain(self, lane: LaneId, bundle: LaneBundle) -> None:
        """A request has ended and leaves a bundle on its lane."""
        assert lane not in self._retained, "an active lane retains nothing"
        self._retained[lane] = bundle

    def claim(self, request: AdmissionRequest, lane: LaneId, plan: ReusePlan) -> LaneBundle | None:
        """What lies on the lane is the request's to go on from, or is reset (DES-1)."""
        bundle = self._retained.pop(lane, None)
        if bundle is None or not plan.is_full_reset:
            return bundle
        if self._registry.is_on:
            self._detach(request, bundle)
        else:
            self._end(request, bundle, Destroyer.FULL_RESET)
        return None

    def attach(self, request: AdmissionRequest, lane: LaneId, owner: OwnerId) -> LaneBundle:
        """An entry comes to a lane; what was retained there goes the other way (RT-3)."""
        entry, displaced = self._registry.attach(owner), self._retained.pop(lane, None)
        if displaced is not None:
            self._detach(request, displaced)
        self._trace.tell(Attached(request=request.request, owner=owner, lane=lane))
        return entry

    def evict(self, request: AdmissionRequest, lane: LaneId) -> OwnerId:
        """The eviction function: only what pass 2 has marked comes here."""
        self._trace.evict_calls_count += 1
        bundle = self._retained.pop(lane)
        self._end(request, bundle, Destroyer.EVICTION)
        return bundle.owner.id

    def make_room(
        self, request: AdmissionRequest, wanted_pages: int, held_slots: Mapping[LaneId, int]
    ) -> tuple[OwnerId, ...]:
        """The registry gives way until its limit, the pages and every lane's slots allow a row.

        Args:
            wanted_pages: What the row will be promised beyond what it brings along.
            held_slots: By lanes that are not idle, the entering one among them.

        Returns:
            Who had to go.
        """
        gone: list[OwnerId] = []
        while (
            self._registry.is_over_limit
            or self._ledger.unpromised_pages < wanted_pages
            or self._ledger.slots.free_count < self.owed_slots(held_slots)
        ):
            least = self._registry.least_reusable()
            if least is None:
                break
            self._end(request, self._registry.attach(least.owner.id), Destroyer.REGISTRY)
            gone.append(least.owner.id)
        return tuple(gone)

    def owed_slots(self, held_slots: Mapping[LaneId, int], besides: LaneId | None = None) -> int:
        """Slots that lanes have a right to and do not hold, which nobody else may take.

        Args:
            held_slots: By lanes that are not idle.
            besides: A lane that is not counted.
        """
        held = {lane: len(bundle.slots) for lane, bundle in self._retained.items()}
        held.update(held_slots)
        return sum(
            max(0, self._lane_share_slots - held.get(lane, 0))
            for lane in self.lanes
            if lane != besides
        )

    # ── ends ────────────────────────────────────────────────────────────────────────────────────

    def tell_lost(
        self, request: AdmissionRequest, destroyer: Destroyer, lost: Lost, bundle: LaneBundle
    ) -> None:
        """Says who took what of a bundle."""
        rewrite_tokens = 0 if bundle.rewrite is None else bundle.rewrite.frontier_tokens
        tokens = rewrite_tokens if lost is Lost.CHECKPOINT else bundle.reusable_prompt_tokens
        self._trace.tell(
            Destruction(
                request=request.request,
                destroyer=destroyer,
                lost=lost,
                owner=bundle.owner.id,
                tokens=tokens,
            )
        )

    def _detach(self, request: AdmissionRequest, bundle: LaneBundle) -> None:
        self._registry.detach(bundle)
        self._trace.tell(Detached(request=request.request, owner=bundle.owner.id))

    def _end(self, request: AdmissionRequest, bundle: LaneBundle, destroyer: Destroyer) -> None:
        """Pages and slots go back at once; that is all there is to it (LANE-5)."""
        self._ledger.pages.give_back(bundle.pages)
        self._ledger.slots.give_back(bundle.slots)
        self.tell_lost(request, destroyer, Lost.PAGES, bundle)
