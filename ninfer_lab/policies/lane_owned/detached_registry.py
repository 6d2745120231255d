"""Which bundles live on without a lane? (RT-3)

Owns them: one owner each, so nothing is counted. A bundle comes in when its lane is reset and goes
out when a request is recognised as its continuation, or when it must give way, the least reusable
first. Does not know lanes, nor where pages and slots go back to.
"""

from __future__ import annotations

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import OwnerId
from ninfer_lab.policies.lane_owned.bundle import LaneBundle
from ninfer_lab.policies.lane_owned.reuse_plan import FULL_RESET, ReusePlan, plan_reuse


class DetachedRegistry:
    """Single-owner bundles.

    Args:
        limit_entries_count: Most of them; 0 switches the registry off.
    """

    def __init__(self, limit_entries_count: int) -> None:
        self._limit_entries_count = limit_entries_count
        self._entries: dict[OwnerId, LaneBundle] = {}

    @property
    def is_on(self) -> bool:
        """Whether bundles are detached at all."""
        return self._limit_entries_count > 0

    @property
    def entries(self) -> tuple[LaneBundle, ...]:
        """In the order of their detachment."""
        return tuple(self._entries.values())

    @property
    def pages_count(self) -> int:
        """Pages of all entries."""
        return sum(len(entry.pages) for entry in self._entries.values())

    @property
    def is_over_limit(self) -> bool:
        """Whether one must give way for the limit's sake."""
        return len(self._entries) > self._limit_entries_count

    def match(self, request: AdmissionRequest) -> tuple[LaneBundle, ReusePlan] | None:
        """The entry that spares a request most, of equals the one detached first."""
        best: tuple[LaneBundle, ReusePlan] | None = None
        for entry in self._entries.values():
            plan = plan_reuse(request, entry)
            if plan.reuse_tokens > (FULL_RESET if best is None else best[1]).reuse_tokens:
                best = entry, plan
        return best

    def detach(self, bundle: LaneBundle) -> None:
        """Takes a bundle in; it may put the registry over its limit."""
        if bundle.owner.id in self._entries:
            raise InvariantBroken("REG-2 one owner", f"{bundle.owner} is detached already")
        self._entries[bundle.owner.id] = bundle

    def attach(self, owner: OwnerId) -> LaneBundle:
        """Hands a bundle out; the registry knows it no more."""
        entry = self._entries.pop(owner, None)
        if entry is None:
            raise InvariantBroken("REG-2 one owner", f"owner {owner} is not detached")
        return entry

    def least_reusable(self) -> LaneBundle | None:
        """Who must give way next; of equals the one that was left first."""
        return min(
            self._entries.values(),
            key=lambda entry: (entry.reusable_prompt_tokens, entry.publication_order),
            default=None,
        )
