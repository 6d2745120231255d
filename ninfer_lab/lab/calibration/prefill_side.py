"""How is one prefill behind a kept prefix carried out here, again and again?

Owns a machine with one model and one lane, a prompt that reaches as far as the grid, and a state at
every frontier that a point starts from: what is timed is then the suffix alone, cut into forwards
as the engine cuts it, by the machine's own account of each forward. Does not know what comes of the
times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch
from torch import Tensor

from ninfer_kernels.kernel_set import kernels_for
from ninfer_lab.contract.capacity import NO_HOST_ARENA, KvPool
from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.ids import LaneId, PageId, RequestId, StateSlotId
from ninfer_lab.contract.numerics import ModelDtype, Numerics
from ninfer_lab.contract.options import pages_of_tokens
from ninfer_lab.contract.sampling import Sampling
from ninfer_lab.contract.work import Cut, Draw, ForwardPhase, ForwardRow, ForwardStep
from ninfer_lab.lab.calibration.grid import PrefillPoint
from ninfer_lab.machine.torch_machine import TorchMachine
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.model import HybridModel
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors
from ninfer_lab.models.qwen3_5.weights import load_weights

PROMPT_SEED = 11
"""Of the prompt: any tokens cost the same."""

_LANE = LaneId(0)
_WORK_SLOT = StateSlotId(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """What is measured, and on what.

    Attributes:
        folder: Of the checkpoint.
        geometry: As the folder says; its context limit is no limit here, for what the model says
            beyond it is nobody's concern.
    """

    folder: Path
    geometry: ModelGeometry
    dtype: ModelDtype
    device: torch.device


class PrefillSide:
    """A model on a machine, with every prefix of the points ready.

    Args:
        points: What will be measured.
        served: The model.
        clock: Times the forwards.
    """

    def __init__(self, points: Sequence[PrefillPoint], served: ServedModel, clock: Clock) -> None:
        end_tokens = max(point.reused_tokens + point.suffix_tokens for point in points)
        frontiers = sorted({point.reused_tokens for point in points} - {0})
        pages_count = pages_of_tokens(end_tokens)
        geometry = served.geometry
        tensors = DeviceTensors.allocate(
            geometry,
            page_count=pages_count,
            state_slot_count=1 + len(frontiers),
            dtype=served.dtype,
            device=served.device,
        )
        model = HybridModel(
            geometry=geometry,
            weights=load_weights(served.folder, geometry, dtype=served.dtype, device=served.device),
            kernels=kernels_for(served.device),
            numerics=Numerics.FAST,
        )
        host = HostTensors.beside(tensors, state_slot_count=0, arena=NO_HOST_ARENA)
        self._machine = TorchMachine(model, tensors, host, clock)
        self._machine.bind(_LANE, KvPool.MAIN, [PageId(page) for page in range(pages_count)])
        random = Random(PROMPT_SEED)
        self._prompt = tuple(random.randrange(geometry.vocab_size) for _ in range(end_tokens))
        self._slots: dict[int, StateSlotId | None] = {0: None}
        reached_tokens = 0
        for ordinal, frontier in enumerate(frontiers, start=1):
            slot = StateSlotId(ordinal)
            for start, end in _chunks(reached_tokens, frontier, points[0].chunk_tokens):
                read = self._slots.get(start, slot)
                self._forward(start, end, read, slot, is_last=False)
            self._slots[frontier], reached_tokens = slot, frontier

    @property
    def last_logits(self) -> Tensor | None:
        """What the first token behind the prefill measured last was drawn from."""
        return self._machine.last_logits

    def measurer(self, point: PrefillPoint) -> Callable[[], int]:
        """Runs the prefill once and says what the machine took for it, ns."""
        end_tokens = point.reused_tokens + point.suffix_tokens
        cuts = _chunks(point.reused_tokens, end_tokens, point.chunk_tokens)
        source = self._slots[point.reused_tokens]

        def measure() -> int:
            elapsed_ns = 0
            for start, end in cuts:
                read = source if start == point.reused_tokens else _WORK_SLOT
                is_last = end == end_tokens
                elapsed_ns += self._forward(start, end, read, _WORK_SLOT, is_last=is_last)
            return elapsed_ns

        return measure

    def _forward(
        self,
        start_tokens: int,
        end_tokens: int,
        read: StateSlotId | None,
        write: StateSlotId,
        *,
        is_last: bool,
    ) -> int:
        """One forward; the last one of a prompt draws its first token, as a request does."""
        row = ForwardRow(
            lane=_LANE,
            token_ids=self._prompt[start_tokens:end_tokens],
            cut=Cut(start_tokens, end_tokens, read, write),
            draw=Draw(RequestId(1), Sampling(), end_tokens) if is_last else None,
        )
        self._machine.submit(ForwardStep(phase=ForwardPhase.PREFILL, rows=(row,)))
        return self._machine.take_result().elapsed_ns


def _chunks(start_tokens: int, end_tokens: int, chunk_tokens: int) -> list[tuple[int, int]]:
    """Cuts `[a, b)` of a prefill."""
    starts = range(start_tokens, end_tokens, chunk_tokens)
    return [(start, min(start + chunk_tokens, end_tokens)) for start in starts]
