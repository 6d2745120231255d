"""What is this machine, and what is measured on it?

Owns the bench of real tensors: it says which hardware class it is and under which conditions,
brings up copies and prefill only when they are asked for, and finds the machine in a preset file.
Does not know how often anything is measured, nor what comes of it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import torch

from ninfer_lab.contract.clock import Clock, MonotonicClock
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.cost.machine_cost_model import MachineCostModel
from ninfer_lab.cost.preset_file import read_presets, shipped_presets
from ninfer_lab.cost.presets import hardware_class_of, processor_class_of, resolve_cost_model
from ninfer_lab.lab.bench.machine_facts import CPU_FACTS, cpu_model
from ninfer_lab.lab.calibration.calibration import MeasuredOn
from ninfer_lab.lab.calibration.copy_timing import watch_for
from ninfer_lab.lab.calibration.grid import PrefillPoint, TransferPoint
from ninfer_lab.lab.calibration.prefill_side import PrefillSide, ServedModel
from ninfer_lab.lab.calibration.samples import Measurer
from ninfer_lab.lab.calibration.transfer_side import TransferSide
from ninfer_lab.lab.serving import tiny_checkpoint
from ninfer_lab.models.qwen3_5.checkpoint_files import resolve_folder
from ninfer_lab.models.qwen3_5.config import read_geometry
from ninfer_lab.models.qwen3_5.measurement import prefill_signature


class TensorBench:
    """`MachineBench` of this process's torch.

    Args:
        checkpoint: Folder of the model; `None` is the small trained one.
        device: `cpu` or `cuda`.
        dtype: Of the model's weights and KV.
        clock: Wall time by default.

    Raises:
        OptionsError: A device that is not here.
        CheckpointError: A folder that is no checkpoint.
    """

    def __init__(
        self,
        *,
        checkpoint: Path | None,
        device: str,
        dtype: ModelDtype,
        clock: Clock | None = None,
    ) -> None:
        legal = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
        if device not in legal:
            raise OptionsError("device", found=device, legal=" or ".join(legal) + " here")
        self._device = torch.device(device)
        self._clock = clock or MonotonicClock()
        folder = resolve_folder(checkpoint or tiny_checkpoint())
        self._served = ServedModel(
            folder=folder, geometry=read_geometry(folder), dtype=dtype, device=self._device
        )

    @property
    def measured_on(self) -> MeasuredOn:
        served = self._served
        return MeasuredOn(
            hardware_class=self._hardware_class(),
            signature=prefill_signature(served.geometry, served.dtype),
            model=_in_words(served),
            conditions=self._conditions(),
            day=datetime.now(tz=UTC).date(),
        )

    def transfer_measurers(
        self, points: Sequence[TransferPoint]
    ) -> Sequence[tuple[TransferPoint, Measurer]]:
        side = TransferSide(points, self._device, watch_for(self._device, self._clock))
        return [(point, side.measurer(point)) for point in points]

    def prefill_measurers(
        self, points: Sequence[PrefillPoint]
    ) -> Sequence[tuple[PrefillPoint, Measurer]]:
        side = PrefillSide(points, self._served, self._clock)
        return [(point, side.measurer(point)) for point in points]

    def _hardware_class(self) -> str:
        if self._device.type == "cuda":
            capability = torch.cuda.get_device_capability(self._device)
            return hardware_class_of(torch.cuda.get_device_name(self._device), capability)
        return processor_class_of(_processor(), torch.get_num_threads())

    def _conditions(self) -> str:
        load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
        return (
            f"{platform.system()}, torch {torch.__version__}, {torch.get_num_threads()} threads,"
            f" {os.cpu_count() or 1} cores{load}"
        )


def believed(
    presets: Path,
    *,
    checkpoint: Path | None = None,
    device: str = "cpu",
    dtype: ModelDtype = ModelDtype.FLOAT32,
) -> MachineCostModel:
    """What a preset file says of this machine and a model, and shipped presets for the rest: for
    `TorchParts.belief`.

    Args:
        presets: As `ninfer-lab calibrate` writes it.
        checkpoint: Folder of the model; the small trained one by default.
        device: Where it will run.
        dtype: Of its weights and KV.

    Raises:
        PresetError: The file cannot be read, or there are no shipped presets.
        OptionsError: A device that is not here.
        CheckpointError: A folder that is no checkpoint.
    """
    user = read_presets(presets)
    here = TensorBench(checkpoint=checkpoint, device=device, dtype=dtype).measured_on
    assert here.signature is not None
    return resolve_cost_model(
        hardware_class=here.hardware_class,
        signature=here.signature,
        shipped=shipped_presets(),
        user=user,
    )


def _processor() -> str:
    return cpu_model(CPU_FACTS.read_text() if CPU_FACTS.is_file() else "") or "unknown"


def _in_words(served: ServedModel) -> str:
    geometry = served.geometry
    return (
        f"{len(geometry.layer_kinds)} layers of {geometry.hidden_size},"
        f" {served.dtype.value} ({served.folder.name})"
    )
