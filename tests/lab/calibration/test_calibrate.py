"""Law: a calibration is believed and written as far as it was accepted, whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.calibration.synthetic_bench import (
    HARDWARE,
    PREFILL,
    SIGNATURE,
    TRANSFERS,
    SyntheticBench,
    elsewhere,
)
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.machine_work import TransferDirection
from ninfer_lab.cost.machine_cost_model import CoefficientOrigin
from ninfer_lab.cost.preset_file import read_presets, shipped_presets, write_presets
from ninfer_lab.cost.presets import (
    MachinePresets,
    PrefillPreset,
    PresetError,
    PresetTable,
    Provenance,
)
from ninfer_lab.lab.calibration.calibrate import (
    CalibrationRequest,
    Suite,
    calibrate,
    dtype_named,
    suite_named,
)
from ninfer_lab.lab.calibration.calibration import Calibration
from ninfer_lab.lab.calibration.command import CalibrateCommand

QUICK = CalibrationRequest(is_quick=True, shows_progress=False)


def calibrated(bench: SyntheticBench | None = None, suite: Suite = Suite.ALL) -> Calibration:
    return calibrate(replace(QUICK, suite=suite), bench=bench or SyntheticBench())


def test_a_machine_that_keeps_the_laws_is_found_and_accepted() -> None:  # spec: COST-3, COST-4
    found = calibrated()
    assert found.accepted == ("transfer", "prefill")
    model = found.belief()
    for direction in TransferDirection:
        fitted, truth = model.transfer.of(direction), TRANSFERS.of(direction)
        assert fitted.ns_per_byte_q32 == pytest.approx(truth.ns_per_byte_q32, rel=1e-3)
    assert model.prefill.chunk_ns == pytest.approx(PREFILL.chunk_ns, rel=1e-5)
    assert model.transfer_source.origin is CoefficientOrigin.FILE
    assert model.prefill_source.signature == SIGNATURE


def test_some_noise_is_borne() -> None:
    found = calibrated(SyntheticBench(noise=0.1))
    assert found.is_accepted
    assert found.prefill is not None
    for each in found.prefill.intervals:
        assert each.low <= each.fitted <= each.high
        assert each.low < each.high
    assert found.prefill.timing.token_ns_q32 == pytest.approx(PREFILL.token_ns_q32, rel=0.1)


def test_an_interval_is_a_point_where_nothing_varies() -> None:
    found = calibrated()
    assert found.transfers is not None
    for each in found.transfers.intervals(TransferDirection.H2D):
        assert each.low == each.fitted == each.high


def test_too_much_noise_is_rejected() -> None:
    found = calibrated(SyntheticBench(noise=0.95))
    assert not found.is_accepted
    assert "REJECTED" in str(found)


def test_a_machine_that_the_law_does_not_fit_is_rejected() -> None:
    found = calibrated(SyntheticBench(bend=4.0))
    assert found.accepted == ("prefill",)
    model = found.belief()
    assert model.transfer_source.origin is CoefficientOrigin.GENERIC, "the rejected fit is not used"
    assert model.prefill_source.origin is CoefficientOrigin.FILE
    shown = found.fitted()
    assert found.transfers is not None
    assert shown.transfer == found.transfers.timings, "but can be looked at"


def test_held_out_points_have_no_say_in_the_fit() -> None:
    """Whatever held-out prefills take, the coefficients are the same; only the verdict is not."""
    quiet = calibrated(suite=Suite.PREFILL)
    odd = calibrated(SyntheticBench(held_out_bend=2.0), suite=Suite.PREFILL)
    assert quiet.prefill is not None
    assert odd.prefill is not None
    assert odd.prefill.timing == quiet.prefill.timing
    assert odd.prefill.judgement.faults[0].startswith("held out: relative error 50%")


def test_a_suite_alone_measures_nothing_else() -> None:
    bench = SyntheticBench()
    found = calibrated(bench, suite=Suite.PREFILL)
    assert found.transfers is None
    assert found.accepted == ("prefill",)
    assert {type(point).__name__ for point in bench.asked} == {"PrefillPoint"}
    assert calibrated(suite=Suite.TRANSFER).prefill is None


@pytest.mark.parametrize(("is_quick", "rounds"), [(True, 10), (False, 63)])
def test_every_point_is_measured_so_often(is_quick: bool, rounds: int) -> None:
    bench = SyntheticBench()
    request = replace(QUICK, suite=Suite.PREFILL, is_quick=is_quick)
    calibrate(request, bench=bench)
    assert len(bench.asked) == 12 * rounds


@pytest.mark.parametrize("chunk", [0, 64, 1000])
def test_a_chunk_without_whole_eighths_is_refused(chunk: int) -> None:
    with pytest.raises(OptionsError, match=f"chunk_tokens: found {chunk}; legal: a multiple"):
        calibrate(replace(QUICK, chunk_tokens=chunk), bench=SyntheticBench())


def test_names_are_looked_up() -> None:
    assert suite_named("transfer") is Suite.TRANSFER
    with pytest.raises(OptionsError, match="suite: found fly; legal: all or transfer or prefill"):
        suite_named("fly")
    with pytest.raises(OptionsError, match="dtype: found int8; legal: float32 or bfloat16"):
        dtype_named("int8")


# ── the preset file ─────────────────────────────────────────────────────────────────────────────


def test_a_new_file_is_read_back_with_its_provenance(tmp_path: Path) -> None:  # spec: COST-5
    path = tmp_path / "mine.json"
    found = calibrated()
    assert found.write(path)
    (machine,) = read_presets(path).machines
    assert machine.hardware_class == HARDWARE
    assert found.transfers is not None
    assert found.prefill is not None
    assert machine.transfer == found.transfers.timings
    entry = machine.prefill_preset(SIGNATURE)
    assert entry is not None
    assert entry.coefficients == found.prefill.timing
    assert entry.provenance == Provenance(
        source="ninfer-lab calibrate",
        model="a model",
        measured_on="2026-11-30",
        conditions="a quiet room, prefill chunk 1,024 tokens",
        note="Relative error at the 95th percentile: 0.0% training and 0.0% held out."
        " Text alone: no vision was measured.",
    )
    assert machine.transfer_provenance is not None
    assert machine.transfer_provenance.source == "ninfer-lab calibrate"


def other_presets() -> PresetTable:
    """What a user's file may hold already: this machine and another, with other entries."""
    kept = PrefillPreset(signature="name:other.model", coefficients=PREFILL)
    return PresetTable(
        file_name="mine.json",
        machines=(
            MachinePresets(hardware_class="cpu-old", transfer=elsewhere(2), prefill=(kept,)),
            MachinePresets(hardware_class=HARDWARE, transfer=elsewhere(3), prefill=(kept,)),
        ),
    )


def test_only_what_was_measured_and_accepted_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    write_presets(other_presets(), path)
    assert calibrated(SyntheticBench(bend=4.0)).write(path)
    before, after = other_presets(), read_presets(path)
    assert after.machines[0] == before.machines[0]
    assert after.machines[1].transfer == before.machines[1].transfer, "rejected, so kept"
    assert [entry.signature for entry in after.machines[1].prefill] == [
        "name:other.model",
        SIGNATURE,
    ]


def test_nothing_accepted_leaves_the_file_byte_for_byte(tmp_path: Path) -> None:  # spec: BAD-1
    path = tmp_path / "mine.json"
    write_presets(other_presets(), path)
    before = path.read_bytes()
    assert not calibrated(SyntheticBench(noise=0.95)).write(path)
    assert path.read_bytes() == before


def test_a_write_that_fails_half_way_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # spec: BAD-1
    path = tmp_path / "mine.json"
    write_presets(other_presets(), path)
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        calibrated().write(path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["mine.json"]


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def command(out: Path, bench: SyntheticBench) -> tuple[int, list[str]]:
    said: list[str] = []
    code = CalibrateCommand(request=QUICK, out=out).run(said.append, bench=bench)
    return code, said


def test_the_command_reports_and_writes(tmp_path: Path) -> None:  # spec: CLI-1
    out = tmp_path / "mine.json"
    code, said = command(out, SyntheticBench())
    assert code == 0
    assert said[0].startswith(f"{HARDWARE}, 2026-11-30: a quiet room\ntransfer: accepted")
    assert said[1] == f"wrote transfer and prefill of this machine to {out}"
    assert read_presets(out).machine(HARDWARE) is not None


def test_a_rejected_suite_is_exit_code_3_and_the_rest_is_written(tmp_path: Path) -> None:
    out = tmp_path / "mine.json"
    code, said = command(out, SyntheticBench(bend=4.0))
    assert code == 3
    assert "transfer: REJECTED\n  training: relative error" in said[0]
    assert said[1] == f"wrote prefill of this machine to {out}"
    code, said = command(tmp_path / "none.json", SyntheticBench(noise=0.95))
    assert (code, said[1]) == (3, f"{tmp_path / 'none.json'} was not touched")
    assert not (tmp_path / "none.json").exists()


def test_a_damaged_file_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    # spec: BAD-1
    out = tmp_path / "mine.json"
    calibrated().write(out)
    damaged = out.read_text().replace('"batch_ns": ', '"batch_ns": -')
    out.write_text(damaged)
    bench = SyntheticBench()
    message = r"mine\.json machines\[0\]\.transfer\.d2h\.batch_ns: found -.*; legal: an integer"
    with pytest.raises(PresetError, match=message):
        command(out, bench)
    assert bench.asked == []
    assert out.read_text() == damaged


def test_a_file_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"--out: found no folder .*nowhere; legal: a file"):
        command(tmp_path / "nowhere" / "mine.json", SyntheticBench())


def test_the_shipped_presets_are_nobody_s_to_change() -> None:
    assert shipped_presets().machine(HARDWARE) is None
