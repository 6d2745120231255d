"""How does a machine commit a fault, once, where a request is restored?

Owns `FaultyMachine`: it stands between engine and machine, does as it is told until it is armed,
then commits its one fault at the first chance, and does as it is told again. The ledger above it
knows nothing and stays right; only memory, or the row table, is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from torch import Tensor

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.ids import HostGranuleId, HostSlotId, LaneId, PageId, StateSlotId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.transfer import Transfer
from ninfer_lab.contract.work import Cut, ForwardRow, ForwardStep, PageCopy, StateAccess
from ninfer_lab.lab.faults.fault import Fault
from ninfer_lab.lab.restore_proof.forward_tap import PassThrough, TensorMachine, with_tensors

KEYS, VALUES = 0, 1
FIRST_PAGE, SECOND_PAGE = 0, 1


class FaultyMachine(PassThrough):
    """Commits one fault, once.

    Args:
        inner: The machine that is right.
        fault: Which; `None` never does anything, for a clean run by the same road.
    """

    def __init__(self, inner: TensorMachine, fault: Fault | None) -> None:
        super().__init__(inner)
        self._fault = fault
        self._memory = _Memory()
        self._is_armed = False
        self._restored_lane: LaneId | None = None
        self._was_committed = False

    @property
    def was_committed(self) -> bool:
        """Whether the fault has happened."""
        return self._was_committed

    def arm(self) -> None:
        """The next request that is restored meets the fault."""
        self._is_armed = True

    def bind(self, lane: LaneId, pool: KvPool, pages: Sequence[PageId]) -> None:
        table = tuple(pages)
        if self._is_armed and table:
            self._restored_lane = lane
            if self._commits(Fault.FOREIGN_PAGE):
                foreign = self._memory.foreign_page(table[FIRST_PAGE])
                table = (foreign, *table[1:])
            elif self._commits(Fault.SWAPPED_PAGES):
                if len(table) <= SECOND_PAGE + 1:
                    raise _no_chance(f"a table of {len(table)} pages", "two full pages and a tail")
                table = (table[SECOND_PAGE], table[FIRST_PAGE], *table[2:])
        self.inner.bind(lane, pool, table)

    def extend(self, lane: LaneId, pool: KvPool, pages: Sequence[PageId]) -> None:
        table = self.inner.row_table(lane, pool)
        if lane == self._restored_lane and table and self._commits(Fault.STALE_ROW_TABLE):
            pages = (table[-1],) * len(pages)
        self.inner.extend(lane, pool, pages)

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        self._memory.copied(copies)
        if self._restored_lane is not None:
            if self._commits(Fault.LOST_COPY):
                return
            if self._commits(Fault.TORN_COPY):
                for copy in copies:
                    self._copy_half(copy)
                return
        self.inner.copy_pages(copies)

    def start_transfer(self, transfer: Transfer) -> None:
        self._memory.moved(transfer)
        self.inner.start_transfer(transfer)

    def unbind(self, lane: LaneId) -> None:
        if lane == self._restored_lane:
            self._restored_lane = None
        self.inner.unbind(lane)

    def submit(self, step: ForwardStep) -> None:
        self._memory.before(step, self.inner)
        asked = step.rows[0]
        if asked.lane == self._restored_lane and asked.cut.state_read_slot is not None:
            step = self._meddled(step, asked, asked.cut.state_read_slot)
        self.inner.submit(step)
        written_slot = step.rows[0].cut.state_write_slot
        if written_slot != asked.cut.state_write_slot:
            # The running request gets what it asked for; only the published image is ruined.
            self.tensors.copy_state(written_slot, asked.cut.state_write_slot)

    def _meddled(self, step: ForwardStep, row: ForwardRow, read_slot: StateSlotId) -> ForwardStep:
        """The first forward after a restore, as the faulty machine runs it."""
        if self._fault is None or self._was_committed or not self._is_armed:
            return step
        cut, write_slot = row.cut, row.cut.state_write_slot
        match self._fault:
            case Fault.WRONG_STATE_SLOT:
                cut = cut._replace(state_read_slot=self._memory.foreign_slot(read_slot))
            case Fault.STATE_NOT_RESTORED:
                self.tensors.zero_state(write_slot)
                cut = cut._replace(state_read_slot=write_slot)
            case Fault.STALE_CONV_HISTORY:
                self._age(read_slot, write_slot, conv=True, recurrent=False)
                cut = cut._replace(state_read_slot=write_slot)
            case Fault.STALE_RECURRENT_STATE:
                self._age(read_slot, write_slot, conv=False, recurrent=True)
                cut = cut._replace(state_read_slot=write_slot)
            case Fault.FRONTIER_OFF_BY_ONE:
                self._age(read_slot, write_slot, conv=True, recurrent=True)
                cut = cut._replace(state_read_slot=write_slot)
            case Fault.WRITE_INTO_FROZEN_STATE:
                if cut.state_access is not StateAccess.FORK:
                    raise _no_chance(f"{cut.state_access.value} access", "a Fork")
                cut = cut._replace(state_write_slot=read_slot)
            case Fault.SWAPPED_KEYS_AND_VALUES:
                self._swap_planes(row.lane)
            case (
                Fault.FOREIGN_PAGE
                | Fault.SWAPPED_PAGES
                | Fault.LOST_COPY
                | Fault.TORN_COPY
                | Fault.STALE_ROW_TABLE
            ):
                return step  # committed by another call
            case _:
                assert_never(self._fault)
        self._was_committed = True
        return replace(step, rows=(row._replace(cut=cut),))

    def _commits(self, fault: Fault) -> bool:
        """Whether this is the fault and the moment; it happens only once."""
        if self._fault is not fault or self._was_committed:
            return False
        self._was_committed = True
        return True

    def _age(
        self, read_slot: StateSlotId, write_slot: StateSlotId, *, conv: bool, recurrent: bool
    ) -> None:
        """Puts into the write slot what was read, with the chosen halves one forward older."""
        if read_slot != write_slot:
            self.tensors.copy_state(read_slot, write_slot)
        old_conv, old_recurrent = self._memory.image_before(read_slot)
        new_conv, new_recurrent = self.tensors.state_slice(write_slot)
        if conv:
            new_conv.copy_(old_conv)
        if recurrent:
            new_recurrent.copy_(old_recurrent)

    def _copy_half(self, copy: PageCopy) -> None:
        source = self.tensors.page_slice(copy.source).flatten()
        half = len(source) // 2
        self.tensors.page_slice(copy.destination).flatten()[:half].copy_(source[:half])

    def _swap_planes(self, lane: LaneId) -> None:
        table = self.inner.row_table(lane, KvPool.MAIN)
        assert table, "a restored row has pages"
        page = self.tensors.page_slice(table[FIRST_PAGE])  # [L, 2, S, H, D]
        keys = page[:, KEYS].clone()
        page[:, KEYS].copy_(page[:, VALUES])
        page[:, VALUES].copy_(keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What a slot holds: by the run of forwards that began at one root, and the image before the
    last of them.
    """

    root: int
    conv_before: Tensor
    recurrent_before: Tensor


class _Memory:
    """What earlier forwards wrote where, so that a fault can be another conversation's, or a
    token's age.
    """

    def __init__(self) -> None:
        self._roots_count = 0
        self._slots: dict[StateSlotId, _Written] = {}
        self._pages: dict[PageId, int] = {}
        self._host_slots: dict[HostSlotId, _Written] = {}
        self._host_pages: dict[HostGranuleId, int] = {}

    def before(self, step: ForwardStep, machine: TensorMachine) -> None:
        """A forward is about to run."""
        for row in step.rows:
            cut = row.cut
            conv, recurrent = self._image(cut, machine)
            written = _Written(
                root=self._root_of(cut), conv_before=conv, recurrent_before=recurrent
            )
            self._slots.pop(
                cut.state_write_slot, None
            )  # so that the slots stay in order of writing
            self._slots[cut.state_write_slot] = written
            table = machine.row_table(row.lane, KvPool.MAIN)
            assert table is not None
            first, last = cut.start_tokens // PAGE_TOKENS, (cut.end_tokens - 1) // PAGE_TOKENS
            for page in table[first : last + 1]:
                self._pages[page] = written.root

    def copied(self, copies: Sequence[PageCopy]) -> None:
        """Partial tails are about to stand twice."""
        for copy in copies:
            self._pages[copy.destination] = self._pages[copy.source]

    def moved(self, transfer: Transfer) -> None:
        """Contents are about to stand in the other tier as well."""
        if transfer.direction is TransferDirection.D2H:
            for state in transfer.states:
                self._host_slots[state.host_slot] = self._slots[state.device_slot]
            for page in transfer.pages:
                self._host_pages[page.host_granule] = self._pages[page.device_page]
            return
        for state in transfer.states:
            self._slots.pop(state.device_slot, None)  # so that they stay in order of writing
            self._slots[state.device_slot] = self._host_slots[state.host_slot]
        for page in transfer.pages:
            self._pages[page.device_page] = self._host_pages[page.host_granule]

    def image_before(self, slot: StateSlotId) -> tuple[Tensor, Tensor]:
        """The image in a slot as it was before the forward that wrote it last."""
        written = self._slots[slot]
        return written.conv_before, written.recurrent_before

    def foreign_slot(self, slot: StateSlotId) -> StateSlotId:
        """The slot another conversation wrote last."""
        own = self._slots[slot].root
        others = [other for other, written in self._slots.items() if written.root != own]
        if not others:
            raise _no_chance("one conversation", "two")
        return others[-1]

    def foreign_page(self, page: PageId) -> PageId:
        """The first page another conversation wrote."""
        own = self._pages[page]
        others = [other for other, root in self._pages.items() if root != own]
        if not others:
            raise _no_chance("one conversation", "two")
        return others[0]

    def _image(self, cut: Cut, machine: TensorMachine) -> tuple[Tensor, Tensor]:
        """A copy of the image that a forward reads."""
        if cut.state_read_slot is None:
            conv, recurrent = machine.tensors.state_slice(cut.state_write_slot)
            return conv.new_zeros(conv.shape), recurrent.new_zeros(recurrent.shape)
        conv, recurrent = machine.tensors.state_slice(cut.state_read_slot)
        return conv.clone(), recurrent.clone()

    def _root_of(self, cut: Cut) -> int:
        if cut.state_read_slot is not None:
            return self._slots[cut.state_read_slot].root
        self._roots_count += 1
        return self._roots_count


def breaking(fault: Fault) -> Callable[[MachineApi], MachineApi]:
    """What stands between engine and machine commits `fault` where a request is first restored.

    For `TorchParts.wrap_machine`; a machine without tensors is refused there (NinferLabError).
    """

    def wrap(machine: MachineApi) -> MachineApi:
        faulty = FaultyMachine(with_tensors(machine), fault)
        faulty.arm()
        return faulty

    return wrap


def _no_chance(found: str, legal: str) -> NinferLabError:
    return NinferLabError("the scenario a fault is committed in", found=found, legal=legal)
