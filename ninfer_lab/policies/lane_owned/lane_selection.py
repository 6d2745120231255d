"""On which lane does a request run, and whose bundle must go for it? (LANE-4)

Owns the two passes, as pure functions: what is to happen is known before anything does. Pass 1
takes the lane of the greatest key among those that can be admitted as they are; pass 2 is reached
only if there is none, and is the one place where a bundle is marked for eviction. What it marks
counts as room when pass 1 runs again, until one lane can be admitted or nothing is left to mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.ids import LaneId
from ninfer_lab.policies.lane_owned.bundle import LaneBundle
from ninfer_lab.policies.lane_owned.reuse_plan import ReusePlan, plan_reuse
from ninfer_lab.policies.lane_owned.switches import EvictionOrder, LaneKey, LaneSwitches
from ninfer_lab.policies.lane_owned.trace import Line, LineRan


@dataclass(frozen=True, slots=True, kw_only=True)
class LanesNow:
    """What admission finds.

    Attributes:
        lanes: All of them, ascending.
        retained: What lies on idle lanes.
        entitled_pages: What the request must be promised.
        spare_pages: Pages that are nobody's, or could be taken from bundles without a lane.
    """

    lanes: Sequence[LaneId]
    retained: Mapping[LaneId, LaneBundle]
    entitled_pages: int
    spare_pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The lane that was taken.

    Attributes:
        evicted: Lanes whose bundles pass 2 has marked, in its order.
    """

    lane: LaneId
    plan: ReusePlan
    evicted: tuple[LaneId, ...]


@dataclass(slots=True, kw_only=True)
class _Scan:
    """One request's admission while it is decided."""

    request: AdmissionRequest
    now: LanesNow
    switches: LaneSwitches
    retained: dict[LaneId, LaneBundle]
    spare_pages: int
    evicted: list[LaneId] = field(default_factory=list)
    lines: list[LineRan] = field(default_factory=list)


def select_lane(
    request: AdmissionRequest, now: LanesNow, switches: LaneSwitches
) -> tuple[Selection | None, tuple[LineRan, ...]]:
    """The lane for a request, and the lines that led to it.

    Returns:
        `None` for the lane if the request must wait; nothing would have been gained by eviction.
    """
    scan = _Scan(
        request=request,
        now=now,
        switches=switches,
        retained=dict(now.retained),
        spare_pages=now.spare_pages,
    )
    while (selected := _pass_1(scan)) is None:
        victim = _pass_2(scan)
        if victim is None:
            return None, tuple(scan.lines)
        scan.evicted.append(victim)
        scan.spare_pages += len(scan.retained.pop(victim).pages)
    lane, plan = selected
    return Selection(lane=lane, plan=plan, evicted=tuple(scan.evicted)), tuple(scan.lines)


def _pass_1(scan: _Scan) -> tuple[LaneId, ReusePlan] | None:
    """Every idle lane in ascending order; of those that can be admitted the greatest key."""
    selected: tuple[LaneId, ReusePlan] | None = None
    selected_key: tuple[int, ...] = ()
    for lane in scan.now.lanes:
        if lane not in scan.request.free_lanes:
            scan.lines.append(LineRan(line=Line.BUSY, lane=lane))
            continue
        bundle = scan.retained.get(lane)
        plan = plan_reuse(scan.request, bundle)
        pages = 0 if bundle is None else len(bundle.pages)
        key = _key(scan.switches.lane_key, plan, pages)
        if not _can_admit_lane(scan, pages):
            line = Line.NO_ROOM
        elif selected is None or key > selected_key:
            line, selected, selected_key = Line.TAKEN, (lane, plan), key
        else:
            line = Line.NOT_GREATER
        scan.lines.append(
            LineRan(
                line=line,
                lane=lane,
                path=plan.path,
                reuse_tokens=plan.reuse_tokens,
                bundle_pages=pages,
            )
        )
    if selected is not None:
        scan.lines.append(LineRan(line=Line.RETURNED))
    return selected


def _can_admit_lane(scan: _Scan, bundle_pages: int) -> bool:
    """Looks at pages alone, and takes what is retained on the lane for replaceable."""
    return scan.now.entitled_pages <= scan.spare_pages + bundle_pages


def _key(by: LaneKey, plan: ReusePlan, bundle_pages: int) -> tuple[int, ...]:
    match by:
        case LaneKey.REUSE:
            return (plan.reuse_tokens,)
        case LaneKey.REUSE_THEN_DESTRUCTION:
            return (plan.reuse_tokens, -bundle_pages)
        case _:
            assert_never(by)


def _pass_2(scan: _Scan) -> LaneId | None:
    """The first idle lane whose bundle can be evicted, if evicting can help at all."""
    idle_pages = sum(len(bundle.pages) for bundle in scan.retained.values())
    if scan.now.entitled_pages > scan.spare_pages + idle_pages:
        scan.lines.append(LineRan(line=Line.BLOCKED))
        return None
    for lane in _eviction_order(scan):
        bundle = scan.retained.get(lane)
        pages = 0 if bundle is None else len(bundle.pages)
        line = Line.NOT_RETAINED if bundle is None else Line.EVICT_RETAINED
        scan.lines.append(LineRan(line=line, lane=lane, bundle_pages=pages))
        if bundle is not None:
            return lane
    scan.lines.append(LineRan(line=Line.BLOCKED))
    return None


def _eviction_order(scan: _Scan) -> Sequence[LaneId]:
    idle = [lane for lane in scan.now.lanes if lane in scan.request.free_lanes]
    match scan.switches.eviction_order:
        case EvictionOrder.LANE:
            return idle
        case EvictionOrder.RETENTION:
            kept = scan.retained
            return sorted(
                idle,
                key=lambda lane: (kept[lane].reusable_prompt_tokens if lane in kept else 0, lane),
            )
        case _:
            assert_never(scan.switches.eviction_order)
