"""What does a lane-owned engine hold at one moment?

Owns the translation of bundles and running rows to the snapshot that every design shows. Reads
only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.ids import SequenceId
from ninfer_lab.policies.lane_owned.bundle import LaneBundle, SavedState
from ninfer_lab.policies.row_ledger import RowLedger, checkpoint_placement


def picture(
    ledger: RowLedger,
    revision: int,
    bundles: Iterable[LaneBundle],
    rewrites: Mapping[SequenceId, SavedState],
) -> ControllerSnapshot:
    """Every bundle as an owner, wherever it lies, and every row with the checkpoint it carries.

    Args:
        rewrites: Checkpoints of running rows.
    """
    captured = {
        row.handle.id: (checkpoint_placement(rewrite.summary, rewrite.slot, row.pages),)
        for row in ledger.rows
        for rewrite in (rewrites.get(row.handle.id),)
        if rewrite is not None
    }
    listed = sorted(bundles, key=lambda bundle: bundle.owner.id)
    catalog = (
        CatalogEntry(
            owner=bundle.owner.id,
            session_key=None,
            publication_order=bundle.publication_order,
            checkpoints=tuple(state.summary for state in bundle.states),
        )
        for bundle in listed
    )
    placements = (bundle.placement for bundle in listed)
    return ControllerSnapshot(
        ledger=ledger.snapshot(revision, placements, captured), catalog=tuple(catalog)
    )
