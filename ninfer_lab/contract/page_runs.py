"""How are many pages told in few words?

Owns runs: of consecutive ids, and of consecutive logical pages whose replicas lie one behind the
other in each tier. A long context is a few runs, and its growth is one. Lossless for any list,
lawful or not. Does not know whose pages they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import cast

from ninfer_lab.contract.ids import (
    HostGranuleId,
    HostSlotId,
    KvPageId,
    OwnerId,
    PageId,
    StateSlotId,
    TransactionId,
)
from ninfer_lab.contract.placement import OpenTransition, PageReplicas
from ninfer_lab.contract.target import StageName
from ninfer_lab.contract.transaction import TransactionPhase


@dataclass(frozen=True, slots=True, kw_only=True)
class IdRun:
    """The ids `[first, first + ids_count)`, of whatever kind the field that holds it says."""

    first: int
    ids_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IdsChange:
    """An ordered list of ids, by what it has in common with the one before.

    Attributes:
        kept_count: Leading ids that stayed.
        appended: What follows them now.
    """

    kept_count: int
    appended: tuple[IdRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRun:
    """The logical pages `[first_page, first_page + pages_count)` and where they lie.

    Attributes:
        first_device_page: Of the first; the next lies on the next page. `None`: none is there.
        first_host_granule: Of the first. `None`: none is there.
        host_step_granules: From one to the next; 0 where there is no next or no Host replica.
    """

    first_page: KvPageId
    pages_count: int
    first_device_page: PageId | None
    first_host_granule: HostGranuleId | None
    host_step_granules: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionRuns:
    """The open transition, with its places as runs (see `OpenTransition`)."""

    transaction: TransactionId
    phase: TransactionPhase
    stage: StageName
    claimed: tuple[OwnerId, ...]
    device_slots: tuple[IdRun, ...]
    host_slots: tuple[IdRun, ...]
    device_pages: tuple[IdRun, ...]
    device_backend_pages: tuple[IdRun, ...]
    growth_pages: int
    backend_growth_pages: int
    host_granules: tuple[IdRun, ...]

    @classmethod
    def of(cls, transition: OpenTransition) -> TransitionRuns:
        """The same in few words."""
        return cls(
            transaction=transition.transaction,
            phase=transition.phase,
            stage=transition.stage,
            claimed=transition.claimed,
            device_slots=id_runs(transition.device_slots),
            host_slots=id_runs(transition.host_slots),
            device_pages=id_runs(transition.device_pages),
            device_backend_pages=id_runs(transition.device_backend_pages),
            growth_pages=transition.growth_pages,
            backend_growth_pages=transition.backend_growth_pages,
            host_granules=id_runs(transition.host_granules),
        )

    @property
    def transition(self) -> OpenTransition:
        """What `of` was given."""
        return OpenTransition(
            transaction=self.transaction,
            phase=self.phase,
            stage=self.stage,
            claimed=self.claimed,
            device_slots=cast("tuple[StateSlotId, ...]", listed(self.device_slots)),
            host_slots=cast("tuple[HostSlotId, ...]", listed(self.host_slots)),
            device_pages=cast("tuple[PageId, ...]", listed(self.device_pages)),
            device_backend_pages=cast("tuple[PageId, ...]", listed(self.device_backend_pages)),
            growth_pages=self.growth_pages,
            backend_growth_pages=self.backend_growth_pages,
            host_granules=cast("tuple[HostGranuleId, ...]", listed(self.host_granules)),
        )


def id_runs(ids: Sequence[int]) -> tuple[IdRun, ...]:
    """The shortest runs that list the same ids in the same order.

    Example:
        >>> id_runs((4, 5, 6, 2))
        (IdRun(first=4, ids_count=3), IdRun(first=2, ids_count=1))
    """
    runs: list[IdRun] = []
    start = 0
    for end in range(1, len(ids) + 1):
        if end == len(ids) or ids[end] != ids[end - 1] + 1:
            runs.append(IdRun(first=ids[start], ids_count=end - start))
            start = end
    return tuple(runs)


def listed(runs: Iterable[IdRun]) -> tuple[int, ...]:
    """The ids that `id_runs` was given."""
    return tuple(chain.from_iterable(range(r.first, r.first + r.ids_count) for r in runs))


def ids_change(old: tuple[int, ...], new: tuple[int, ...]) -> IdsChange:
    """What must be told so that `new` can be made from `old`."""
    if new[: len(old)] == old:  # the usual growth, compared at once
        kept = len(old)
    else:
        differing = (i for i, (was, now) in enumerate(zip(old, new, strict=False)) if was != now)
        kept = next(differing, min(len(old), len(new)))
    return IdsChange(kept_count=kept, appended=id_runs(new[kept:]))


def changed_ids(old: tuple[int, ...], change: IdsChange) -> tuple[int, ...]:
    """The list after a change."""
    return old[: change.kept_count] + listed(change.appended)


def replica_runs(replicas: Iterable[PageReplicas]) -> tuple[ReplicaRun, ...]:
    """Runs that tell every given replica, in the same order."""
    runs: list[ReplicaRun] = []
    group: list[PageReplicas] = []
    for each in replicas:
        if group and not _continues(group, each):
            runs.append(_run(group))
            group = []
        group.append(each)
    if group:
        runs.append(_run(group))
    return tuple(runs)


def listed_replicas(runs: Iterable[ReplicaRun]) -> Iterable[PageReplicas]:
    """The replicas that `replica_runs` was given."""
    for run in runs:
        device, host = run.first_device_page, run.first_host_granule
        for i in range(run.pages_count):
            yield PageReplicas(
                page=KvPageId(run.first_page + i),
                device_page=None if device is None else PageId(device + i),
                host_granule=(
                    None if host is None else HostGranuleId(host + i * run.host_step_granules)
                ),
            )


def _continues(group: Sequence[PageReplicas], new: PageReplicas) -> bool:
    last = group[-1]
    if new.page != last.page + 1:
        return False
    if (new.device_page is None) != (last.device_page is None):
        return False
    if new.device_page is not None and new.device_page != (last.device_page or 0) + 1:
        return False
    if new.host_granule is None or last.host_granule is None:
        return new.host_granule is last.host_granule
    return len(group) == 1 or new.host_granule - last.host_granule == _step_granules(group)


def _step_granules(group: Sequence[PageReplicas]) -> int:
    if len(group) == 1 or group[0].host_granule is None or group[1].host_granule is None:
        return 0
    return group[1].host_granule - group[0].host_granule


def _run(group: Sequence[PageReplicas]) -> ReplicaRun:
    return ReplicaRun(
        first_page=group[0].page,
        pages_count=len(group),
        first_device_page=group[0].device_page,
        first_host_granule=group[0].host_granule,
        host_step_granules=_step_granules(group),
    )
