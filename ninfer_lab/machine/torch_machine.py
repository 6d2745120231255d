"""How are forwards and copies carried out on real tensors?

Owns the device tensors and the row tables, a derived copy of what Program bound. Decides nothing:
which slot or page belongs to whom is Program's ledger, which token is right is the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import LaneId, PageId
from ninfer_lab.contract.work import ForwardPhase, ForwardResult, ForwardRow, ForwardStep, PageCopy
from ninfer_lab.machine.sampling import draw_tokens
from ninfer_lab.models.qwen3_5.forward_rows import DecodeRow, PrefillRow
from ninfer_lab.models.qwen3_5.model import HybridModel, PrefillLogits
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors

if TYPE_CHECKING:
    from torch import Tensor


class TorchMachine:
    """One model on one device. A forward on a CPU runs inside `submit`, so it has ended when that
    returns.

    Args:
        tensors: As many pages and slots as Program's capacity says.
        clock: The engine's; forwards are timed with it.
    """

    def __init__(self, model: HybridModel, tensors: DeviceTensors, clock: Clock) -> None:
        self._model = model
        self._tensors = tensors
        self._clock = clock
        self._tables: dict[LaneId, tuple[PageId, ...]] = {}
        self._result: ForwardResult | None = None
        self._last_logits: Tensor | None = None

    @property
    def tensors(self) -> DeviceTensors:
        """The memory itself, for fault injection and for tests that look inside."""
        return self._tensors

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

    def bind(self, lane: LaneId, pages: Sequence[PageId]) -> None:
        if lane in self._tables:
            raise InvariantBroken("MACHINE row table", f"lane {lane} is bound already")
        self._tables[lane] = tuple(pages)

    def extend(self, lane: LaneId, pages: Sequence[PageId]) -> None:
        self._tables[lane] = (*self._tables[lane], *pages)

    def replace_tail(self, lane: LaneId, page: PageId) -> None:
        self._tables[lane] = (*self._tables[lane][:-1], page)

    def unbind(self, lane: LaneId) -> None:
        del self._tables[lane]

    def row_table(self, lane: LaneId) -> tuple[PageId, ...] | None:
        return self._tables.get(lane)

    def copy_pages(self, copies: Sequence[PageCopy]) -> None:
        for copy in copies:
            self._tensors.copy_page(copy.source, copy.destination)

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
        self._result = ForwardResult(
            drawn_tokens=draw_tokens(
                self._model.kernels, logits, tuple(row.draw for row in step.rows)
            ),
            elapsed_ns=self._clock.now_ns() - started_ns,
            gathered_bytes=self._tensors.meter.total_bytes - gathered_before_bytes,
        )

    def next_completion_ns(self) -> int | None:
        return None if self._result is None else self._clock.now_ns()

    def take_result(self) -> ForwardResult:
        assert self._result is not None, "no forward is in flight"
        result, self._result = self._result, None
        return result

    def _prefill(self, row: ForwardRow) -> Tensor:
        wanted = PrefillLogits.NONE if row.draw is None else PrefillLogits.LAST
        prefill = PrefillRow(
            token_ids=row.token_ids,
            start_tokens=row.cut.start_tokens,
            page_ids=self._tables[row.lane],
            state_read_slot=row.cut.state_read_slot,
            state_write_slot=row.cut.state_write_slot,
        )
        return self._model.prefill(self._tensors, prefill, wanted)

    def _decode_row(self, row: ForwardRow) -> DecodeRow:
        (token_id,) = row.token_ids
        return DecodeRow(
            token_id=token_id,
            position_tokens=row.cut.start_tokens,
            page_ids=self._tables[row.lane],
            state_read_slot=row.cut.state_read_slot,
            state_write_slot=row.cut.state_write_slot,
        )
