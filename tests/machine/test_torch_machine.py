"""Law: what is demoted and restored elsewhere goes on bit for bit, and with charged time the
machine on tensors ends its work when the one without does.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from ninfer_kernels.kernel_set import cpu_kernels
from ninfer_lab.contract.capacity import HostArenaGeometry, KvPool
from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.device_timing import (
    DecodeTiming,
    DeviceTiming,
    PrefillTiming,
    SimulatedDevice,
    TransferTiming,
    TransferTimings,
)
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import (
    HostGranuleId,
    HostSlotId,
    LaneId,
    PageId,
    RequestId,
    StateSlotId,
)
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.numerics import ModelDtype, Numerics
from ninfer_lab.contract.sampling import Sampling
from ninfer_lab.contract.transfer import PageTransfer, StateTransfer, Transfer
from ninfer_lab.contract.work import Cut, Draw, ForwardPhase, ForwardRow, ForwardStep, PageCopy
from ninfer_lab.lab.token_sources import SeededTokens
from ninfer_lab.machine.charged_time import ChargedTime
from ninfer_lab.machine.copy_streams import CopyStream, PlainCopies
from ninfer_lab.machine.simulated_machine import SimulatedMachine
from ninfer_lab.machine.torch_machine import TorchMachine
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes
from ninfer_lab.models.qwen3_5.model import HybridModel
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors
from ninfer_lab.models.qwen3_5.weights import bind_weights, random_weights
from oracle.served_model import SMALL, token_ids

LANE = LaneId(0)
MAIN = KvPool.MAIN
D2H, H2D = TransferDirection.D2H, TransferDirection.H2D
TOKENS = token_ids(SMALL, 73, seed=1)
PROMPT_TOKENS = 70
PAGES_COUNT = 6
SLOTS_COUNT = 4
GRANULES_COUNT = 30


def arena_of(dtype: ModelDtype) -> HostArenaGeometry:
    """A page is four granules, and an extent may begin at any."""
    return HostArenaGeometry(
        granule_bytes=kv_page_bytes(SMALL, dtype) // 4,
        granules_count=GRANULES_COUNT,
        main_page_granules=4,
    )


def machine(
    dtype: ModelDtype = ModelDtype.FLOAT32,
    *,
    clock: VirtualClock | None = None,
    charged: ChargedTime | None = None,
    copies: CopyStream | None = None,
) -> TorchMachine:
    """Memory of both tiers is NaN, so that a stale read shows in the logits."""
    model = HybridModel(
        geometry=SMALL,
        weights=bind_weights(SMALL, random_weights(SMALL, seed=2), dtype=dtype),
        kernels=cpu_kernels(),
        numerics=Numerics.CANONICAL,
    )
    tensors = DeviceTensors.allocate(
        SMALL, page_count=PAGES_COUNT, state_slot_count=SLOTS_COUNT, dtype=dtype
    )
    host = HostTensors.beside(tensors, state_slot_count=3, arena=arena_of(dtype))
    spoil_device(tensors)
    for slot in range(3):
        host.poison_state(slot)
    host.kv_arena.fill_(0xFF)
    return TorchMachine(model, tensors, host, clock or VirtualClock(), charged, copies)


def spoil_device(tensors: DeviceTensors) -> None:
    for page in range(PAGES_COUNT):
        tensors.poison_page(page)
    for slot in range(SLOTS_COUNT):
        tensors.poison_state(slot)


def row(start: int, end: int, *, read: int | None, write: int, draws: bool = True) -> ForwardRow:
    cut = Cut(
        start_tokens=start,
        end_tokens=end,
        state_read_slot=None if read is None else StateSlotId(read),
        state_write_slot=StateSlotId(write),
    )
    draw = Draw(request=RequestId(1), sampling=Sampling(), position_tokens=end)
    return ForwardRow(lane=LANE, token_ids=TOKENS[start:end], cut=cut, draw=draw if draws else None)


def prefill(write: int) -> ForwardStep:
    """The prompt, from the root: a full page and six tokens of a tail."""
    first = row(0, PROMPT_TOKENS, read=None, write=write)
    return ForwardStep(phase=ForwardPhase.PREFILL, rows=(first,))


def logits(device: TorchMachine, step: ForwardStep) -> Tensor:
    device.submit(step)
    device.take_result()
    assert device.last_logits is not None
    return device.last_logits


def continuation(device: TorchMachine, slot: int) -> list[Tensor]:
    """Logits of the three tokens after the prompt, one by one."""
    return [
        logits(
            device,
            ForwardStep(phase=ForwardPhase.DECODE, rows=(row(at, at + 1, read=slot, write=slot),)),
        )
        for at in range(PROMPT_TOKENS, len(TOKENS))
    ]


def page(device_page: int, host_granule: int, pool: KvPool = MAIN) -> PageTransfer:
    return PageTransfer(
        pool=pool, device_page=PageId(device_page), host_granule=HostGranuleId(host_granule)
    )


def transfer(
    direction: TransferDirection, *pages: PageTransfer, states: tuple[tuple[int, int], ...] = ()
) -> Transfer:
    """Images as (Device slot, Host slot)."""
    return Transfer(
        direction=direction,
        states=tuple(
            StateTransfer(device_slot=StateSlotId(on_device), host_slot=HostSlotId(on_host))
            for on_device, on_host in states
        ),
        pages=pages,
    )


def copied(device: TorchMachine, asked: Transfer) -> None:
    device.start_transfer(asked)
    assert device.transfer_is_done()


@pytest.mark.parametrize("dtype", ModelDtype)
def test_demoted_spoiled_and_restored_elsewhere_it_goes_on_bit_for_bit(dtype: ModelDtype) -> None:
    # spec: STATE-2, KV-5
    stayed, moved = machine(dtype), machine(dtype)
    for each in (stayed, moved):
        each.bind(LANE, MAIN, (PageId(5), PageId(2)))
        logits(each, prefill(write=1))
    expected = continuation(stayed, slot=1)

    copied(moved, transfer(D2H, page(5, 9), page(2, 0), states=((1, 2),)))
    spoil_device(moved.tensors)
    copied(moved, transfer(H2D, page(1, 9), page(4, 0), states=((3, 2),)))
    moved.unbind(LANE)
    moved.bind(LANE, MAIN, (PageId(1), PageId(4)))
    for found, wanted in zip(continuation(moved, slot=3), expected, strict=True):
        assert torch.equal(found, wanted)


def test_pages_in_a_row_are_restored_each_to_its_own_place() -> None:
    device = machine()
    for each in range(3):
        device.tensors.page_slice(each).fill_(each + 1)
    copied(device, transfer(D2H, page(0, 2), page(1, 6), page(2, 10)))
    spoil_device(device.tensors)
    copied(device, transfer(H2D, page(4, 6), page(5, 10), page(0, 2)))
    for each, wanted in ((4, 2), (5, 3), (0, 1)):
        assert (device.tensors.page_slice(each) == wanted).all()
    assert all(device.tensors.page_slice(each).isnan().all() for each in (1, 2, 3))


def test_a_demoted_page_is_its_bytes_at_its_granule_and_no_other_byte_changes() -> None:
    device = machine()
    device.bind(LANE, MAIN, (PageId(5), PageId(2)))
    logits(device, prefill(write=1))
    before = device.host_tensors.kv_arena.clone()
    device.tensors.page_slice(2).nan_to_num_(nan=0.5)
    copied(device, transfer(D2H, page(2, 7)))
    arena, page_bytes = device.host_tensors.kv_arena, kv_page_bytes(SMALL, ModelDtype.FLOAT32)
    first = 7 * page_bytes // 4
    stored = arena[first : first + page_bytes].view(torch.float32)
    assert torch.equal(stored, device.tensors.page_slice(2).flatten())
    assert torch.equal(arena[:first], before[:first])
    assert torch.equal(arena[first + page_bytes :], before[first + page_bytes :])


def test_a_demoted_image_is_whole_and_its_source_stays_as_it_is() -> None:  # spec: STATE-1
    device = machine()
    device.bind(LANE, MAIN, (PageId(5), PageId(2)))
    logits(device, prefill(write=1))
    before = [part.clone() for part in device.tensors.state_slice(1)]
    copied(device, transfer(D2H, states=((1, 0),)))
    for stored, kept, wanted in zip(
        device.host_tensors.state_slice(0), device.tensors.state_slice(1), before, strict=True
    ):
        assert torch.equal(stored, wanted)
        assert torch.equal(kept, wanted)
    assert all(part.isnan().all() for part in device.host_tensors.state_slice(1))


@pytest.mark.parametrize(
    "wrong",
    [
        transfer(D2H, page(5, 0), states=((SLOTS_COUNT, 0),)),
        transfer(D2H, page(5, 0), states=((0, 3),)),
        transfer(D2H, page(0, 0), page(PAGES_COUNT, 4)),
        transfer(D2H, page(0, 0), page(1, GRANULES_COUNT - 3)),
    ],
)
def test_a_place_that_is_not_there_is_refused_before_anything_is_copied(wrong: Transfer) -> None:
    device = machine()
    device.tensors.kv_pages.fill_(1)
    with pytest.raises(InvariantBroken, match=r"MACHINE places.* legal: 0 <="):
        device.start_transfer(wrong)
    assert (device.host_tensors.kv_arena == 0xFF).all()
    assert device.next_completion_ns() is None


def test_a_page_copy_to_nowhere_is_a_broken_law_and_no_failed_copy() -> None:
    with pytest.raises(InvariantBroken, match=f"found {PAGES_COUNT}; legal: 0 <= page"):
        machine().copy_pages((PageCopy(source=PageId(0), destination=PageId(PAGES_COUNT)),))


@pytest.mark.parametrize(
    "call",
    [
        lambda device: device.start_transfer(transfer(D2H, page(0, 0, KvPool.BACKEND))),
        lambda device: device.copy_pages(
            (PageCopy(source=PageId(0), destination=PageId(1), pool=KvPool.BACKEND),)
        ),
    ],
)
def test_a_pool_without_tensors_is_refused(call: Callable[[TorchMachine], None]) -> None:
    with pytest.raises(InvariantBroken, match="only Main has tensors"):
        call(machine())


# ── when it ends ────────────────────────────────────────────────────────────────────────────────


class SlowCopies(PlainCopies):
    """Copies that end when they are told to, as on a GPU."""

    ask_again_ns = 30

    def __init__(self) -> None:
        self.has_ended = False
        self.fails = False
        self.waits_count = 0

    def is_done(self) -> bool:
        if self.fails:
            raise RuntimeError("the device fell off the bus")
        return self.has_ended

    def wait(self) -> None:
        self.waits_count += 1


def test_in_real_time_copies_on_a_cpu_have_ended_at_once() -> None:
    device = machine(clock=VirtualClock(start_ns=5))
    assert device.next_completion_ns() is None
    device.start_transfer(transfer(D2H, page(0, 0)))
    assert device.next_completion_ns() == 5
    assert device.transfer_is_done()
    assert device.next_completion_ns() is None


def test_in_real_time_a_transfer_ends_when_its_copies_do() -> None:
    copies = SlowCopies()
    device = machine(clock=VirtualClock(start_ns=5), copies=copies)
    device.start_transfer(transfer(D2H, page(0, 0)))
    assert not device.transfer_is_done()
    assert device.next_completion_ns() == 5 + 30, "when to ask again"
    copies.has_ended = True
    assert device.transfer_is_done()
    assert device.next_completion_ns() is None


def test_copies_that_fail_raise_once_and_leave_nothing_in_flight() -> None:
    copies = SlowCopies()
    device = machine(copies=copies)
    device.start_transfer(transfer(D2H, page(0, 0)))
    copies.fails = True
    with pytest.raises(RuntimeError, match="fell off"):
        device.transfer_is_done()
    assert device.next_completion_ns() is None
    copies.fails, copies.has_ended = False, True
    copied(device, transfer(D2H, page(0, 0)))


def charged_device() -> SimulatedDevice:
    law = TransferTiming(batch_ns=40, operation_ns=10, ns_per_byte_q32=2**31)
    return SimulatedDevice(
        timing=DeviceTiming(
            transfer=TransferTimings(d2h=law, h2d=law, d2d=law),
            prefill=PrefillTiming(chunk_ns=900, token_ns_q32=2**32, attention_pair_ns_q32=0),
            decode=DecodeTiming(step_ns=500, row_ns=7, kv_bytes_per_token=1, kv_ns_per_byte_q32=9),
        ),
        kv_page_bytes=kv_page_bytes(SMALL, ModelDtype.FLOAT32),
        state_image_bytes=state_image_bytes(SMALL, ModelDtype.FLOAT32),
    )


def test_charged_time_says_when_and_the_copies_are_waited_for() -> None:
    clock, copies = VirtualClock(), SlowCopies()
    time = ChargedTime(charged_device(), arena_of(ModelDtype.FLOAT32), clock)
    device = machine(clock=clock, charged=time, copies=copies)
    device.start_transfer(transfer(D2H, page(0, 0)))
    ends_ns = kv_page_bytes(SMALL, ModelDtype.FLOAT32) // 2
    assert device.next_completion_ns() == ends_ns
    clock.wait_until(ends_ns - 1)
    copies.has_ended = True
    assert not device.transfer_is_done(), "ended in fact, and not yet in charged time"
    assert copies.waits_count == 0
    clock.wait_until(ends_ns)
    copies.has_ended = False
    assert device.transfer_is_done(), "the other way round"
    assert copies.waits_count == 1
    assert device.next_completion_ns() is None


def seen(device: MachineApi, clock: VirtualClock) -> list[tuple[int | None, bool]]:
    """What an engine learns of a run with copies of every kind, forwards beside them among it."""
    learned = []

    def look() -> None:
        learned.append((device.next_completion_ns(), device.transfer_is_done()))

    device.bind(LANE, MAIN, (PageId(5), PageId(2)))
    device.submit(prefill(write=1))
    clock.wait_until(device.next_completion_ns() or 0)
    device.take_result()
    device.copy_pages((PageCopy(source=PageId(2), destination=PageId(3)),))
    device.start_transfer(transfer(D2H, page(5, 9), page(2, 0), states=((1, 2),)))
    look()
    step = ForwardStep(phase=ForwardPhase.DECODE, rows=(row(70, 71, read=1, write=0),))
    device.replace_tail(LANE, MAIN, PageId(3))
    device.submit(step)
    clock.wait_until(device.next_completion_ns() or 0)
    learned.append((device.take_result().elapsed_ns, False))
    look()
    clock.wait_until(device.next_completion_ns() or 0)
    look()
    learned.append((device.next_completion_ns(), False))
    device.start_transfer(transfer(H2D, page(0, 9), page(1, 13)))
    look()
    clock.wait_until(clock.now_ns() + 1_000_000)
    look()
    return learned


def test_both_machines_end_the_same_work_at_the_same_moments() -> None:
    clock, other_clock = VirtualClock(), VirtualClock()
    arena = arena_of(ModelDtype.FLOAT32)
    on_tensors = machine(clock=clock, charged=ChargedTime(charged_device(), arena, clock))
    without = SimulatedMachine(
        ChargedTime(charged_device(), arena, other_clock),
        SeededTokens(seed=1, vocabulary_tokens=50, first_token=10),
    )
    learned = seen(on_tensors, clock)
    assert learned == seen(without, other_clock)
    assert [done for _, done in learned] == [False, False, False, True, False, False, True]
