"""Which copies does a transition ask of the machine, place by place?

Owns the translation from what a post-state lacks to places: demotions, restorations, copied tails.
Reads the ledger; only `publish_demotion` changes it, once the copies have arrived.
"""

from __future__ import annotations

from ninfer_lab.contract.ids import HostGranuleId, HostSlotId, KvPageId, StateImageId
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.transfer import PageTransfer, StateTransfer, Transfer
from ninfer_lab.contract.work import PageCopy
from ninfer_lab.program.storage.bitset import ordinals_of
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.storage.post_state import Extent, PostState
from ninfer_lab.program.transactions.held_places import HeldPlaces


def demotion(ledger: Ledger, post: PostState, held: HeldPlaces) -> Transfer:
    """Everything that gets its first Host replica, Device to held Host places."""
    images = ordinals_of(ledger.layout.host_images.of(post.pending))
    states = []
    for image, host_slot in zip(images, held.host_slots, strict=True):
        device_slot = ledger.states.device_slot(StateImageId(image))
        assert device_slot is not None, "only what lies on the Device can be demoted"
        states.append(StateTransfer(device_slot=device_slot, host_slot=host_slot))
    pages = []
    for extent in held.extents:
        store = ledger.kv[extent.pool]
        for page, granule in _placed(ledger, extent):
            device_page = store.device_page(page)
            assert device_page is not None, "only what lies on the Device can be demoted"
            pages.append(
                PageTransfer(pool=extent.pool, device_page=device_page, host_granule=granule)
            )
    return Transfer(direction=TransferDirection.D2H, states=tuple(states), pages=tuple(pages))


def publish_demotion(ledger: Ledger, post: PostState, held: HeldPlaces) -> None:
    """The copies have arrived: Host replicas stand beside the Device ones.

    What is demoted belongs to inactive owners, so nobody can have written it meanwhile (INV-7): the
    content is the one that was copied, and it covers what its checkpoints need.
    """
    images = ordinals_of(ledger.layout.host_images.of(post.pending))
    for image, host_slot in zip(images, held.host_slots, strict=True):
        ledger.states.publish_host(StateImageId(image), host_slot)
    for extent in held.extents:
        for page, granule in _placed(ledger, extent):
            ledger.kv[extent.pool].publish_host(page, granule)


def restoration(
    ledger: Ledger, source: CheckpointRecord | None, post: PostState, held: HeldPlaces
) -> Transfer:
    """The source's Host replicas that the sequence needs, to held Device places."""
    if source is None:
        return Transfer(direction=TransferDirection.H2D, states=(), pages=())
    states = []
    if post.state is StateTransition.RESTORE:
        host_slot = ledger.states.host_slot(source.image)
        assert host_slot is not None, "a checkpoint has a whole image somewhere (OWN-7)"
        states.append(StateTransfer(device_slot=held.device_slots[0], host_slot=host_slot))
    pages = []
    for (pool, store), needs in zip(ledger.kv.items(), post.needs, strict=True):
        places = iter(held.device_pages[pool])
        wanted = [KvPageId(page) for page in ordinals_of(needs.restored)]
        if needs.copied_tail_pages and store.device_page(source.pages_of(pool)[-1]) is None:
            wanted.append(source.pages_of(pool)[-1])
        for page, place in zip(wanted, places, strict=False):
            granule = store.host_granule(page)
            assert granule is not None, "a checkpoint has every page somewhere (OWN-7)"
            pages.append(PageTransfer(pool=pool, device_page=place, host_granule=granule))
    return Transfer(direction=TransferDirection.H2D, states=tuple(states), pages=tuple(pages))


def saved_image(
    ledger: Ledger, source: CheckpointRecord, held: HeldPlaces, host_slot: HostSlotId
) -> Transfer:
    """The image that the sequence will write over, once more, to a held Host slot."""
    device_slot = held.device_slots[0] if held.device_slots else None
    if device_slot is None:
        device_slot = ledger.states.device_slot(source.image)
    assert device_slot is not None, "the sequence starts from an image on the Device"
    state = StateTransfer(device_slot=device_slot, host_slot=host_slot)
    return Transfer(direction=TransferDirection.D2H, states=(state,), pages=())


def tail_copies(
    ledger: Ledger, source: CheckpointRecord | None, post: PostState, held: HeldPlaces
) -> tuple[PageCopy, ...]:
    """Partial tails that lie on the Device and stay with somebody else, to held Device pages."""
    if source is None:
        return ()
    copied = []
    for (pool, store), needs in zip(ledger.kv.items(), post.needs, strict=True):
        if not needs.copied_tail_pages:
            continue
        lies_at = store.device_page(source.pages_of(pool)[-1])
        if lies_at is not None:
            copied.append(
                PageCopy(source=lies_at, destination=held.device_pages[pool][-1], pool=pool)
            )
    return tuple(copied)


def _placed(ledger: Ledger, extent: Extent) -> list[tuple[KvPageId, HostGranuleId]]:
    """The pages of an extent, each with its first granule."""
    assert extent.first is not None
    step = ledger.kv[extent.pool].page_granules
    return [
        (KvPageId(page), HostGranuleId(extent.first + i * step))
        for i, page in enumerate(ordinals_of(extent.pages))
    ]
