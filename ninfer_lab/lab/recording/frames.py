"""What does a recording say as tables, beside those of `lab.tables`?

Owns the frames that need a whole run: candidates, plans, placements, checkpoints and misses.
One row per thing, the unit last in every column's name. Reads events only.
Source: spec RCD-1.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.events import (
    Event,
    LedgerChanged,
    RequestAdmitted,
    RequestBlocked,
    TransitionEnded,
)
from ninfer_lab.contract.ids import StateImageId
from ninfer_lab.contract.placement import (
    CheckpointPlacement,
    LedgerSnapshot,
    OpenTransition,
    SpacePlacement,
)
from ninfer_lab.lab.recording.fates import fates_of
from ninfer_lab.lab.recording.misses import Miss
from ninfer_lab.lab.recording.rebuilt import walk
from ninfer_lab.lab.searches import SearchTold, searches

_CANDIDATES = {
    "request": pl.Int64,
    "path": pl.String,
    "owner": pl.Int64,
    "disposition": pl.String,
    "reuse_tokens": pl.Int64,
    "prefill_tokens": pl.Int64,
    "targets": pl.Int64,
    "chosen": pl.Boolean,
}


def candidates(events: Iterable[Event]) -> pl.DataFrame:
    """One row per source that a request could have started from, with how many recorded targets had
    it.
    """
    rows: list[dict[str, object]] = []
    for event, report in searches(events):
        of_event: dict[tuple[object, ...], dict[str, object]] = {}
        for ordinal, verdict in enumerate(report.verdicts):
            key = (verdict.path, verdict.owner, verdict.reuse_tokens, verdict.disposition)
            row = of_event.setdefault(
                key,
                {
                    "request": event.request,
                    "path": verdict.path.value,
                    "owner": verdict.owner,
                    "disposition": (
                        None if verdict.disposition is None else verdict.disposition.value
                    ),
                    "reuse_tokens": verdict.reuse_tokens,
                    "prefill_tokens": verdict.prefill_tokens,
                    "targets": 0,
                    "chosen": False,
                },
            )
            targets_count = row["targets"]
            assert isinstance(targets_count, int)
            row["targets"] = targets_count + 1
            row["chosen"] = row["chosen"] or ordinal == report.chosen
        rows.extend(of_event.values())
    return pl.DataFrame(rows, schema=_CANDIDATES)


_PLANS = {
    "request": pl.Int64,
    "at_ms": pl.Float64,
    "outcome": pl.String,
    "lane": pl.Int64,
    "path": pl.String,
    "state": pl.String,
    "reuse_tokens": pl.Int64,
    "cow_pages": pl.Int64,
    "evicted_owners": pl.Int64,
    "degraded_owners": pl.Int64,
    "seen_targets": pl.Int64,
    "feasible_targets": pl.Int64,
    "adoptable_targets": pl.Int64,
    "best_identity_tokens": pl.Int64,
    "best_offered_tokens": pl.Int64,
    "predicted_now_ms": pl.Float64,
    "predicted_future_loss_ms": pl.Float64,
    "resort": pl.String,
    "stop_reason": pl.String,
    "initial_ms": pl.Float64,
    "search_spent_ms": pl.Float64,
    "licence": pl.String,
}


_OUTCOMES: dict[type[SearchTold], str] = {
    RequestAdmitted: "admitted",
    RequestBlocked: "blocked",
    TransitionEnded: "aborted",
}


def plans(events: Iterable[Event]) -> pl.DataFrame:
    """One row per search: what was carried out, that the request stayed blocked, or that its
    transition ended without it.

    `licence` names the owners that might be fully evicted, and is null where everybody might
    (SRCH-4).
    """
    rows: list[dict[str, object]] = []
    for event, report in searches(events):
        counts, best, search = report.counts, report.best_identity, report.search
        winner = report.winner
        row: dict[str, object] = {
            "request": event.request,
            "at_ms": event.at_ns / 1e6,
            "outcome": _OUTCOMES[type(event)],
            "seen_targets": counts.seen,
            "feasible_targets": counts.feasible,
            "adoptable_targets": counts.adoptable,
            "best_identity_tokens": None if best is None else report.verdicts[best].reuse_tokens,
            "best_offered_tokens": report.best_offered_tokens,
            "resort": report.resort.value,
            "stop_reason": None if search is None else search.stop.value,
            "initial_ms": None if search is None else search.initial_ns / 1e6,
            "search_spent_ms": None if search is None else search.spent_ns / 1e6,
            "licence": (
                None if search is None or search.licence is None else _numbers(search.licence)
            ),
        }
        if isinstance(event, RequestAdmitted):
            row |= {
                "lane": event.lane,
                "path": event.path.value,
                "state": event.state.value,
                "reuse_tokens": event.reuse_tokens,
                "cow_pages": event.cow_pages,
                "evicted_owners": len(event.evicted),
                "degraded_owners": 0 if winner is None else len(winner.degraded),
            }
        if winner is not None and winner.cost is not None:
            row["predicted_now_ms"] = winner.cost.now_ns / 1e6
            row["predicted_future_loss_ms"] = winner.cost.future_loss_ns / 1e6
        rows.append(row)
    return pl.DataFrame(rows, schema=_PLANS)


_PLACEMENTS = {
    "event": pl.Int64,
    "at_ms": pl.Float64,
    "resource_revision": pl.Int64,
    "stage": pl.String,
    "holder": pl.String,
    "id": pl.Int64,
    "lane": pl.Int64,
    "frontier_tokens": pl.Int64,
    "checkpoints": pl.Int64,
    "state_slots": pl.String,
    "host_slots": pl.String,
    "device_pages": pl.Int64,
    "device_backend_pages": pl.Int64,
    "host_pages": pl.Int64,
    "host_backend_pages": pl.Int64,
    "reserved_pages": pl.Int64,
    "reserved_backend_pages": pl.Int64,
    "reserved_host_granules": pl.Int64,
}


def placements(events: Iterable[Event]) -> pl.DataFrame:
    """One row per holder after every change of the ledger; empty where none was recorded.

    What several hold stands in each of their rows; the open transition's row says what it holds for
    replicas that are not there yet. `stage` is the last that it has reached.
    """
    told = tuple(events)
    rows: list[dict[str, object]] = []
    for ordinal, ledger in walk(told):
        event = told[ordinal]
        assert isinstance(event, LedgerChanged)
        moment = {
            "event": ordinal,
            "at_ms": event.at_ns / 1e6,
            "resource_revision": ledger.resource_revision,
            "stage": None if ledger.transition is None else ledger.transition.stage.value,
        }
        rows.extend({**moment, **holder} for holder in _holders(ledger))
    return pl.DataFrame(rows, schema=_PLACEMENTS)


def _holders(ledger: LedgerSnapshot) -> list[dict[str, object]]:
    places = _Places(ledger)
    holders = [
        {
            "holder": "owner",
            "id": owner.owner,
            "lane": None,
            "frontier_tokens": owner.history_tokens,
            "checkpoints": len(owner.checkpoints),
            **places.of(owner.checkpoints, (), ()),
            "reserved_pages": 0,
            "reserved_backend_pages": 0,
            "reserved_host_granules": 0,
        }
        for owner in ledger.owners
    ]
    for sequence in ledger.sequences:
        reserved = {space.pool: space.reserved_pages for space in sequence.spaces}
        own = tuple(i for i in (sequence.read_image, sequence.write_image) if i is not None)
        holders.append(
            {
                "holder": "sequence",
                "id": sequence.sequence,
                "lane": sequence.lane,
                "frontier_tokens": sequence.frontier_tokens,
                "checkpoints": len(sequence.checkpoints),
                **places.of(sequence.checkpoints, own, sequence.spaces),
                "reserved_pages": reserved.get(KvPool.MAIN, 0),
                "reserved_backend_pages": reserved.get(KvPool.BACKEND, 0),
                "reserved_host_granules": 0,
            }
        )
    if ledger.transition is not None:
        holders.append(_transition_row(ledger.transition))
    return holders


def _transition_row(transition: OpenTransition) -> dict[str, object]:
    return {
        "holder": "transition",
        "id": transition.transaction,
        "state_slots": " ".join(map(str, transition.device_slots)),
        "host_slots": " ".join(map(str, transition.host_slots)),
        "reserved_pages": len(transition.device_pages) + transition.growth_pages,
        "reserved_backend_pages": (
            len(transition.device_backend_pages) + transition.backend_growth_pages
        ),
        "reserved_host_granules": len(transition.host_granules),
    }


class _Places:
    """Where the contents of one picture lie."""

    def __init__(self, ledger: LedgerSnapshot) -> None:
        self._images = {each.image: each for each in ledger.images}
        self._pages = {pool: {r.page: r for r in ledger.pages_of(pool)} for pool in KvPool}

    def of(
        self,
        checkpoints: tuple[CheckpointPlacement, ...],
        images: tuple[StateImageId, ...],
        spaces: tuple[SpacePlacement, ...],
    ) -> dict[str, object]:
        """Columns of one holder: its slots by number, its pages counted, each once."""
        ids = dict.fromkeys((*images, *(placed.image for placed in checkpoints)))
        replicas = [self._images[id] for id in ids]
        columns: dict[str, object] = {
            "state_slots": _numbers(each.device_slot for each in replicas),
            "host_slots": _numbers(each.host_slot for each in replicas),
        }
        for pool, name in ((KvPool.MAIN, "pages"), (KvPool.BACKEND, "backend_pages")):
            held = {page for placed in checkpoints for page in placed.pages_of(pool)}
            held.update(page for space in spaces if space.pool is pool for page in space.pages)
            found = [self._pages[pool][page] for page in held]
            columns[f"device_{name}"] = sum(each.device_page is not None for each in found)
            columns[f"host_{name}"] = sum(each.host_granule is not None for each in found)
        return columns


def _numbers(places: Iterable[int | None]) -> str:
    return " ".join(str(place) for place in places if place is not None)


_CHECKPOINTS = {
    "checkpoint": pl.Int64,
    "kind": pl.String,
    "frontier_tokens": pl.Int64,
    "request": pl.Int64,
    "owner": pl.Int64,
    "born_ms": pl.Float64,
    "fate": pl.String,
    "gone_ms": pl.Float64,
}


def checkpoints(events: Iterable[Event]) -> pl.DataFrame:
    """One row per checkpoint that ever stood, with what had become of it at the end."""
    rows = [
        {
            "checkpoint": life.summary.ref.id,
            "kind": life.summary.kind.value,
            "frontier_tokens": life.summary.frontier_tokens,
            "request": life.request,
            "owner": life.owner,
            "born_ms": life.born_ns / 1e6,
            "fate": life.fate.value,
            "gone_ms": None if life.gone_ns is None else life.gone_ns / 1e6,
        }
        for life in fates_of(events).lives()
    ]
    return pl.DataFrame(rows, schema=_CHECKPOINTS)


_MISSES = {
    "request": pl.Int64,
    "cause": pl.String,
    "start_tokens": pl.Int64,
    "end_tokens": pl.Int64,
    "tokens": pl.Int64,
    "shared_tokens": pl.Int64,
}


def miss_rows(misses: Iterable[Miss]) -> pl.DataFrame:
    """One row per run of computed prompt tokens with one cause."""
    rows = [
        {
            "request": miss.request,
            "cause": miss.cause.value,
            "start_tokens": miss.start_tokens,
            "end_tokens": miss.end_tokens,
            "tokens": miss.end_tokens - miss.start_tokens,
            "shared_tokens": miss.shared_tokens,
        }
        for miss in misses
    ]
    return pl.DataFrame(rows, schema=_MISSES)
