"""Law: what is timed is the machine's own work, and all of it: bytes move, tokens are drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lab.calibration.synthetic_bench import SyntheticBench
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.cost.machine_cost_model import CoefficientOrigin
from ninfer_lab.lab.calibration.calibrate import CalibrationRequest, calibrate
from ninfer_lab.lab.calibration.copy_timing import HostWatch, watch_for
from ninfer_lab.lab.calibration.grid import (
    SMALL_PAGES,
    Part,
    PrefillPoint,
    TransferPoint,
)
from ninfer_lab.lab.calibration.prefill_side import PrefillSide, ServedModel
from ninfer_lab.lab.calibration.tensor_bench import TensorBench, believed
from ninfer_lab.lab.calibration.transfer_side import TransferSide
from ninfer_lab.lab.serving import tiny_checkpoint
from ninfer_lab.models.qwen3_5.config import read_geometry

CPU = torch.device("cpu")
TICK_NS = 7


class TickingClock:
    """Each look at it finds it a tick later."""

    def __init__(self) -> None:
        self.looks_count = 0

    def now_ns(self) -> int:
        self.looks_count += 1
        return self.looks_count * TICK_NS

    def wait_until(self, moment_ns: int) -> None:
        raise AssertionError("nothing here waits")


def point(direction: TransferDirection, **counts: int) -> TransferPoint:
    return TransferPoint(direction=direction, shape=SMALL_PAGES, part=Part.TRAINING, **counts)


DOWN = point(TransferDirection.D2H, pages_count=6, runs_count=2)
UP = point(TransferDirection.H2D, images_count=2)
WITHIN = point(TransferDirection.D2D, pages_count=3, runs_count=3)


def sides(*points: TransferPoint) -> TransferSide:
    return TransferSide(points, CPU, HostWatch(TickingClock()))


def test_a_batch_is_timed_from_its_first_name_to_its_last_byte() -> None:
    clock = TickingClock()
    side = TransferSide([DOWN, UP, WITHIN], CPU, HostWatch(clock))
    assert [side.measurer(each)() for each in (DOWN, UP, WITHIN)] == [TICK_NS] * 3
    assert clock.looks_count == 6


def test_pages_and_images_really_move() -> None:
    side = sides(DOWN, UP, WITHIN)
    tiers = side.tiers_of(SMALL_PAGES)
    page_bytes = SMALL_PAGES.page_bytes
    side.measurer(DOWN)()
    for host_page, device_page in enumerate((0, 1, 2, 4, 5, 6)):
        there = tiers.host.kv_arena[host_page * page_bytes : (host_page + 1) * page_bytes]
        assert torch.equal(there, tiers.device.page_run_bytes(device_page, 1)), "a gap per run"
    side.measurer(UP)()
    for slot in range(2):
        for on_device, on_host in zip(
            tiers.device.state_slice(slot), tiers.host.state_slice(slot), strict=True
        ):
            assert torch.equal(on_device.view(torch.int32), on_host.view(torch.int32))
    side.measurer(WITHIN)()
    for page in range(3):
        copied = tiers.device.page_run_bytes(3 + page, 1)
        assert torch.equal(copied, tiers.device.page_run_bytes(page, 1))


def test_what_is_copied_is_not_zero() -> None:
    """Memory that nobody wrote may be one page that the system shares: copying it is no work."""
    tiers = sides(DOWN, UP).tiers_of(SMALL_PAGES)
    for tensor in (tiers.host.kv_arena, tiers.host.recurrent, tiers.device.kv_pages):
        assert tensor.view(-1).view(torch.int32).count_nonzero() > 0.99 * tensor.nbytes / 4


def test_a_cpu_is_timed_by_the_host_s_clock() -> None:
    assert isinstance(watch_for(CPU, TickingClock()), HostWatch)


# ── prefill ─────────────────────────────────────────────────────────────────────────────────────


def served() -> ServedModel:
    folder = tiny_checkpoint()
    return ServedModel(
        folder=folder, geometry=read_geometry(folder), dtype=ModelDtype.FLOAT32, device=CPU
    )


def prefill(reused: int, suffix: int) -> PrefillPoint:
    return PrefillPoint(
        reused_tokens=reused, suffix_tokens=suffix, chunk_tokens=32, part=Part.TRAINING
    )


def test_a_prefill_is_the_sum_of_its_forwards() -> None:
    """The machine looks at the clock before and after each forward."""
    points = [prefill(0, 32), prefill(0, 80), prefill(64, 8), prefill(64, 40)]
    side = PrefillSide(points, served(), TickingClock())
    assert [side.measurer(each)() // TICK_NS for each in points] == [1, 3, 1, 2]


def test_a_kept_prefix_is_continued_and_not_computed() -> None:
    """The first token after 64 + 40 tokens is the same from the prefix as from the root, again and
    again: measuring has spoiled neither state nor pages.
    """
    whole, suffix = prefill(0, 104), prefill(64, 40)
    side = PrefillSide([whole, suffix, prefill(32, 32)], served(), TickingClock())
    logits = []
    for each in (whole, suffix, prefill(32, 32), suffix):
        side.measurer(each)()
        logits.append(side.last_logits)
    first, again, _, once_more = logits
    assert first is not None
    assert again is not None
    assert once_more is not None
    assert torch.allclose(first, again, atol=1e-4)
    assert torch.equal(again, once_more)


# ── the bench ───────────────────────────────────────────────────────────────────────────────────


def test_the_bench_says_what_was_measured() -> None:
    bench = TensorBench(checkpoint=None, device="cpu", dtype=ModelDtype.FLOAT32)
    said = bench.measured_on
    threads = torch.get_num_threads()
    assert said.hardware_class.startswith("cpu-")
    assert said.hardware_class.endswith(f"{threads}-thread" + "s" * (threads > 1))
    assert said.model == "4 layers of 128, float32 (tiny)"
    assert f"torch {torch.__version__}, {threads} threads" in said.conditions


def test_a_device_that_is_not_here_is_refused() -> None:
    request = replace(CalibrationRequest(shows_progress=False), device="tpu")
    with pytest.raises(OptionsError, match="device: found tpu; legal: cpu"):
        calibrate(request)


def test_what_was_written_is_found_again_on_the_same_machine(tmp_path: Path) -> None:
    # spec: COST-5
    """And on another, which a copy of the file with another class stands for, it is not."""
    here = TensorBench(checkpoint=None, device="cpu", dtype=ModelDtype.FLOAT32).measured_on
    request = CalibrationRequest(is_quick=True, shows_progress=False)
    made_up = replace(calibrate(request, bench=SyntheticBench()), measured_on=here)
    path = tmp_path / "mine.json"
    made_up.write(path)
    belief = believed(path)
    assert made_up.prefill is not None
    assert belief.prefill == made_up.prefill.timing
    assert belief.transfer_source.file_name == "mine.json"
    path.write_text(path.read_text().replace(here.hardware_class, "cpu-elsewhere-2-threads"))
    assert believed(path).prefill_source.origin is CoefficientOrigin.GENERIC
