"""How does an inactive owner leave the ledger as bytes? (PER-2)

Owns the copy out of any replica: every image and page once, and of a page no more than what its
checkpoints have committed. Does not know sessions, nor files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.contents import DeviceImage, DevicePage, HostImage, HostPage
from ninfer_lab.contract.ids import KvPageId, StateImageId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import PAGE_TOKENS, ResolvedOptions
from ninfer_lab.contract.session_snapshot import SavedCheckpoint, SessionSnapshot
from ninfer_lab.program.storage.continuation_store import Continuation
from ninfer_lab.program.storage.ledger import Ledger

Name = TypeVar("Name", KvPageId, StateImageId)


def saved(
    ledger: Ledger, machine: MachineApi, options: ResolvedOptions, owner: Continuation
) -> SessionSnapshot:
    """A copy of an owner. Reads only.

    Raises:
        SessionError: It has no endpoint.
    """
    images = _ordinals(each.image for each in owner.checkpoints)
    pages = {
        pool: _ordinals(page for each in owner.checkpoints for page in each.pages_of(pool))
        for pool in KvPool
    }
    contents = {
        pool: tuple(
            _page(ledger, machine, pool, page, cells_count)
            for page, cells_count in _committed_cells(owner, pool, options).items()
        )
        for pool in ledger.kv
    }
    return SessionSnapshot(
        signature=machine.contents_signature,
        identity=owner.identity,
        history=owner.history,
        execution_frontiers_tokens=owner.execution_frontiers_tokens,
        checkpoints=tuple(
            SavedCheckpoint(
                kind=each.summary.kind,
                frontier_tokens=each.summary.frontier_tokens,
                prefix_digest=each.summary.prefix_digest,
                image=images[each.image],
                pages=tuple(pages[KvPool.MAIN][page] for page in each.pages),
                backend_pages=tuple(pages[KvPool.BACKEND][page] for page in each.backend_pages),
            )
            for each in owner.checkpoints
        ),
        images=tuple(_image(ledger, machine, image) for image in images),
        pages=contents[KvPool.MAIN],
        backend_pages=contents.get(KvPool.BACKEND, ()),
    )


def _ordinals(named: Iterable[Name]) -> dict[Name, int]:
    """Each name once, in the order of its first mention."""
    return {name: ordinal for ordinal, name in enumerate(dict.fromkeys(named))}


def _committed_cells(
    owner: Continuation, pool: KvPool, options: ResolvedOptions
) -> dict[KvPageId, int]:
    """Cells of every page of a pool that some checkpoint needs, in the order of first mention.

    What lies behind them in a tail page is another branch's, or nobody's.
    """
    cells: dict[KvPageId, int] = {}
    for each in owner.checkpoints:
        coverage_tokens = options.coverage_tokens(pool, each.summary.frontier_tokens)
        for ordinal, page in enumerate(each.pages_of(pool)):
            here = min(PAGE_TOKENS, coverage_tokens - ordinal * PAGE_TOKENS)
            cells[page] = max(here, cells.get(page, 0))
    return cells


def _image(ledger: Ledger, machine: MachineApi, image: StateImageId) -> bytes:
    device_slot, host_slot = ledger.states.device_slot(image), ledger.states.host_slot(image)
    if device_slot is not None:
        return machine.read_image(DeviceImage(device_slot))
    assert host_slot is not None, "OWN-7: a valid checkpoint has a replica of its image"
    return machine.read_image(HostImage(host_slot))


def _page(
    ledger: Ledger, machine: MachineApi, pool: KvPool, page: KvPageId, cells_count: int
) -> bytes:
    store = ledger.kv[pool]
    device_page, granule = store.device_page(page), store.host_granule(page)
    if device_page is not None:
        return machine.read_page(DevicePage(pool, device_page), cells_count)
    assert granule is not None, "OWN-7: a valid checkpoint has a replica of every page"
    return machine.read_page(HostPage(pool, granule), cells_count)
