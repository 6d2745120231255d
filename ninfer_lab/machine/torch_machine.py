"""How are forwards and copies carried out on real tensors?

Owns the tensors of both tiers and what is in flight. Decides nothing: which slot or page belongs to
whom is Program's ledger, which token is right is the model's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.contents import ImagePlace, PagePlace
from ninfer_lab.contract.ids import LaneId
from ninfer_lab.contract.transfer import Transfer
from ninfer_lab.contract.work import ForwardPhase, ForwardResult, ForwardRow, ForwardStep, PageCopy
from ninfer_lab.machine.charged_time import ChargedTime
from ninfer_lab.machine.copy_streams import CopyStream, copies_for
from ninfer_lab.machine.lane_tables import LaneTables
from ninfer_lab.machine.sampling import draw_tokens
from ninfer_lab.machine.tensor_contents import TensorContents
from ninfer_lab.machine.tensor_transfers import copies_of, places_of_program, refuse_other_pools
from ninfer_lab.models.qwen3_5.forward_rows import DecodeRow, PrefillRow
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.model import HybridModel, PrefillLogits
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors

if TYPE_CHECKING:
    from torch import Tensor


class TorchMachine(LaneTables):
    """One model on one device. A forward runs inside `submit`: it has ended when that returns, on a
    GPU as well, so that it is timed whole. On a CPU so has a transfer inside `start_transfer`; on a
    GPU transfers run beside forwards.

    Args:
        model: What computes.
        tensors: As many pages and slots as Program's capacity says.
        host: As many Host slots and granules as it says, beside the same tensors.
        clock: The engine's; forwards are timed with it.
        charged: With a virtual clock: what work is charged instead of the time it really takes, so
            that this world decides as the simulated one does.
        copies: How transfers run; what suits the tensors' device by default.
        weights_digest: Names the weights; asked when a session leaves or comes in.
    """

    def __init__(
        self,
        model: HybridModel,
        tensors: DeviceTensors,
        host: HostTensors,
        clock: Clock,
        charged: ChargedTime | None = None,
        copies: CopyStream | None = None,
        weights_digest: Callable[[], str] | None = None,
    ) -> None:
        super().__init__()
        self._model = model
        self._tensors = tensors
        self._host = host
        self._contents = TensorContents(tensors, host, weights_digest)
        self._copies = copies or copies_for(tensors.kv_pages.device)
        self._clock = clock
        self._charged = charged
        self._result: ForwardResult | None = None
        self._last_logits: Tensor | None = None
        self._has_transfer = False

    @property
    def tensors(self) -> DeviceTensors:
        """The memory itself, for fault injection and for tests that look inside."""
        return self._tensors

    @property
    def host_tensors(self) -> HostTensors:
        """The memory of the other tier."""
        return self._host

    @property
    def model(self) -> HybridModel:
        return self._model

    @property
    def last_logits(self) -> Tensor | None:
        """What the forward submitted last drew from, for proofs that compare bits.

        float32, a row per row of the step (`[B, vocab]`), or `[0, vocab]` for a prefill that drew
        nothing; `None` before the first forward.
        """
        return self._last_logits

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        for copy in copies:
            refuse_other_pools(copy.pool)
        sources = [copy.source for copy in copies]
        targets = [copy.destination for copy in copies]
        with places_of_program():
            self._tensors.check_pages((*sources, *targets))
        self._model.kernels.copy_pages(self._tensors.kv_pages, sources, targets)
        if self._charged is not None:
            self._charged.charge_page_copies(copies)

    def start_transfer(self, transfer: Transfer) -> None:
        assert not self._has_transfer, "the transfer before has not been seen to end"
        assert not transfer.is_empty
        self._copies.start(copies_of(transfer, self._tensors, self._host))
        if self._charged is not None:
            self._charged.charge_transfer(transfer)
        self._has_transfer = True

    def transfer_is_done(self) -> bool:
        assert self._has_transfer, "no transfer is in flight"
        if self._charged is not None:
            if not self._charged.transfer_has_ended:
                return False
            self._has_transfer = False
            self._copies.wait()  # charged time says when, so the copies have no say
            return True
        try:
            is_done = self._copies.is_done()
        except RuntimeError:
            self._has_transfer = False
            raise
        self._has_transfer = not is_done
        return is_done

    def submit(self, step: ForwardStep) -> None:
        assert self._result is None, "the result of the forward before has not been taken"
        started_ns = self._clock.now_ns()
        gathered_before_bytes = self._tensors.meter.total_bytes
        match step.phase:
            case ForwardPhase.PREFILL:
                logits = self._prefill(step.rows[0])
            case ForwardPhase.DECODE:
                rows = [self._decode_row(row) for row in step.rows]
                logits = self._model.decode(self._tensors, rows)
        self._last_logits = logits
        drawn = draw_tokens(self._model.kernels, logits, tuple(row.draw for row in step.rows))
        self._tensors.wait()
        self._result = ForwardResult(
            drawn_tokens=drawn,
            elapsed_ns=(
                self._clock.now_ns() - started_ns
                if self._charged is None
                else self._charged.charge_forward(step)
            ),
            gathered_bytes=self._tensors.meter.total_bytes - gathered_before_bytes,
        )

    def next_completion_ns(self) -> int | None:
        if self._result is not None:
            return self._clock.now_ns() if self._charged is None else self._charged.compute_until_ns
        if not self._has_transfer:
            return None
        if self._charged is not None:
            return self._charged.transfer_until_ns
        return self._clock.now_ns() + self._copies.ask_again_ns

    def take_result(self) -> ForwardResult:
        assert self._result is not None, "no forward is in flight"
        result, self._result = self._result, None
        return result

    # ── contents, for sessions on their way to and from a file ──────────────────────────────────

    @property
    def contents_signature(self) -> str:
        return self._contents.signature

    def content_bytes(self, pool: KvPool | None) -> int:
        return self._contents.content_bytes(pool)

    def read_image(self, place: ImagePlace) -> bytes:
        return self._contents.read_image(place)

    def read_page(self, place: PagePlace, cells_count: int) -> bytes:
        return self._contents.read_page(place, cells_count)

    def write_image(self, place: ImagePlace, content: bytes) -> None:
        self._contents.write_image(place, content)

    def write_row(self, lane: LaneId, pool: KvPool, pages: Sequence[bytes]) -> None:
        refuse_other_pools(pool)
        for page, content in zip(self._tables[lane, pool], pages, strict=True):
            self._contents.write_page(page, content)

    # ── forwards ────────────────────────────────────────────────────────────────────────────────

    def _prefill(self, row: ForwardRow) -> Tensor:
        wanted = PrefillLogits.NONE if row.draw is None else PrefillLogits.LAST
        prefill = PrefillRow(
            token_ids=tuple(row.token_ids),
            start_tokens=row.cut.start_tokens,
            page_ids=self._tables[row.lane, KvPool.MAIN],
            state_read_slot=row.cut.state_read_slot,
            state_write_slot=row.cut.state_write_slot,
        )
        return self._model.prefill(self._tensors, prefill, wanted)

    def _decode_row(self, row: ForwardRow) -> DecodeRow:
        (token_id,) = row.token_ids
        return DecodeRow(
            token_id=token_id,
            position_tokens=row.cut.start_tokens,
            page_ids=self._tables[row.lane, KvPool.MAIN],
            state_read_slot=row.cut.state_read_slot,
            state_write_slot=row.cut.state_write_slot,
        )
