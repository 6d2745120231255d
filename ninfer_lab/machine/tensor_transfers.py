"""Which bytes does a transfer move?

Owns the way from places to tensors: an image is two copies, pages that lie one behind the other on
both sides are one (COST-3 counts the same). Does not know why anything is moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import assert_never

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.transfer import Transfer
from ninfer_lab.machine.copy_streams import TensorCopy
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors


def copies_of(transfer: Transfer, device: DeviceTensors, host: HostTensors) -> list[TensorCopy]:
    """The copy calls of one transfer, each with its destination and its source.

    Raises:
        InvariantBroken: A slot, page or granule that is not there, or a page of another pool than
            Main. Nothing was copied.
    """
    for page in transfer.pages:
        refuse_other_pools(page.pool)
    with places_of_program():
        pairs = _pairs(transfer, device, host)
    match transfer.direction:
        case TransferDirection.H2D:
            return pairs
        case TransferDirection.D2H:
            return [(on_host, on_device) for on_device, on_host in pairs]
        case TransferDirection.D2D:
            raise AssertionError("a Transfer has no such direction")
        case _:
            assert_never(transfer.direction)


def _pairs(transfer: Transfer, device: DeviceTensors, host: HostTensors) -> list[TensorCopy]:
    """Every copy call as (on the Device, on the Host)."""
    pairs: list[TensorCopy] = []
    for state in transfer.states:
        pairs += zip(
            device.state_slice(state.device_slot), host.state_slice(state.host_slot), strict=True
        )
    for _, page, granule, pages_count in transfer.page_runs({KvPool.MAIN: host.page_granules}):
        pairs.append(
            (device.page_run_bytes(page, pages_count), host.page_run_bytes(granule, pages_count))
        )
    return pairs


@contextmanager
def places_of_program() -> Iterator[None]:
    """A place that is not there was named by Program: its law is broken, and no copy has failed,
    which would end one admission where the engine must stop.
    """
    try:
        yield
    except ValueError as error:
        raise InvariantBroken("MACHINE places", str(error)) from error


def refuse_other_pools(pool: KvPool) -> None:
    """A model without a draft head has tensors for the Main pool alone."""
    if pool is not KvPool.MAIN:
        raise InvariantBroken(
            "MACHINE pools", f"a page of the {pool.value} pool, and only Main has tensors here"
        )
