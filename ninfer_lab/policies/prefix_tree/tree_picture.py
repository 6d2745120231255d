"""What does a tree design hold at one moment?

Owns the translation of tree and rows to the snapshot that every design shows. A state with all
pages below it is an owner with one checkpoint; what lies in the tree beside these is shown bare.
Reads only.
"""

from __future__ import annotations

from ninfer_lab.contract.cache_controller import CatalogEntry, ControllerSnapshot
from ninfer_lab.contract.ids import PageId
from ninfer_lab.contract.placement import OwnerPlacement
from ninfer_lab.policies.prefix_tree.blocks import Block, KeptState, PrefixTree
from ninfer_lab.policies.row_ledger import RowLedger, checkpoint_placement


def tree_picture(ledger: RowLedger, revision: int, tree: PrefixTree) -> ControllerSnapshot:
    """Every state and every block."""
    complete: list[KeptState] = []
    bare_pages: list[PageId] = []
    dangling: list[KeptState] = []
    for block in tree.blocks():
        bare_pages += block.pages
        for state in block.states.values():
            bare_pages += state.tail_pages
            (complete if state.is_complete else dangling).append(state)
    complete.sort(key=lambda state: state.summary.ref.owner)
    snapshot = ledger.snapshot(
        revision,
        tuple(map(_placed, complete)),
        {},
        bare_pages=bare_pages,
        bare_slots=(state.slot for state in dangling),
    )
    return ControllerSnapshot(ledger=snapshot, catalog=tuple(map(_listed, complete)))


def pages_below(block: Block) -> tuple[PageId, ...]:
    """Those of its lineage, in the order of their tokens."""
    return tuple(page for each in block.lineage for page in each.pages)


def _placed(state: KeptState) -> OwnerPlacement:
    pages = (*pages_below(state.block), *state.tail_pages)
    return OwnerPlacement(
        owner=state.summary.ref.owner,
        history_tokens=state.frontier_tokens,
        checkpoints=(checkpoint_placement(state.summary, state.slot, pages),),
    )


def _listed(state: KeptState) -> CatalogEntry:
    return CatalogEntry(
        owner=state.summary.ref.owner,
        session_key=None,
        publication_order=state.summary.ref.owner,
        checkpoints=(state.summary,),
    )
