"""Law: a preset file is read whole or refused by its field, and replaced whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cost.preset_documents import FAULTS, entry, valid
from ninfer_lab.contract.device_timing import PrefillTiming, TransferTiming, TransferTimings
from ninfer_lab.cost.preset_file import (
    parse_presets,
    read_presets,
    shipped_presets,
    text_of_presets,
    write_presets,
)
from ninfer_lab.cost.presets import (
    MachinePresets,
    PrefillPreset,
    PresetError,
    PresetTable,
    Provenance,
)


def parse(document: object) -> PresetTable:
    return parse_presets(json.dumps(document), file_name="mine.json")


def test_a_valid_file_becomes_its_values() -> None:
    copy = TransferTiming(batch_ns=1, operation_ns=2, ns_per_byte_q32=3)
    compute = PrefillTiming(chunk_ns=4, token_ns_q32=5, attention_pair_ns_q32=6)
    assert parse(valid()) == PresetTable(
        file_name="mine.json",
        machines=(
            MachinePresets(
                hardware_class="gpu-1",
                transfer=TransferTimings(d2h=copy, h2d=copy, d2d=copy),
                transfer_provenance=Provenance(source="somebody", measured_on="2026-09-14"),
                prefill=(
                    PrefillPreset(
                        signature="name:model.a",
                        coefficients=compute,
                        provenance=Provenance(source="somebody", model="A"),
                    ),
                    PrefillPreset(
                        signature="0123456789abcdef0123456789abcdef", coefficients=compute
                    ),
                ),
            ),
            MachinePresets(hardware_class="gpu-2", transfer=None, prefill=()),
        ),
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_down_to_its_field(fault: str) -> None:  # spec: BAD-1
    break_it, message = FAULTS[fault]
    document = valid()
    break_it(document)
    with pytest.raises(PresetError) as refused:
        parse(document)
    assert str(refused.value) == message


def test_a_coefficient_of_64_bits_is_read() -> None:
    document = valid()
    entry(document)["coefficients"]["chunk_ns"] = 2**64 - 1
    assert parse(document).machines[0].prefill[0].coefficients.chunk_ns == 2**64 - 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.json line 1: found Expecting value"),
        ('{\n  "schema_version": 3,\n  oops\n}', "mine.json line 3: found Expecting property name"),
        ("[1, 2]", "mine.json: found [1, 2]; legal: an object"),
        ('{"a": 1, "b": 2, "a": 3}', "mine.json member a: found given twice in one object"),
        ("[" * 100_000, "mine.json: found maximum recursion depth exceeded"),
        ('{"schema_version": 1' + "0" * 5_000 + "}", "mine.json: found Exceeds the limit"),
    ],
    ids=["empty", "broken line", "a list", "member twice", "endless nesting", "endless number"],
)
def test_what_is_no_json_object_is_refused_with_its_line(text: str, message: str) -> None:
    # spec: BAD-1
    with pytest.raises(PresetError) as refused:
        parse_presets(text, file_name="mine.json")
    assert str(refused.value).startswith(message)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:  # spec: BAD-1
    absent = tmp_path / "absent.json"
    with pytest.raises(PresetError, match=r"absent\.json: found no such file; legal: a JSON file"):
        read_presets(absent)
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe{}")
    with pytest.raises(PresetError, match=r"binary\.json: found .*utf-8.*; legal: a JSON file"):
        read_presets(binary)
    with pytest.raises(PresetError, match=r"found .*directory.*; legal: a JSON file"):
        read_presets(tmp_path)


def test_the_shipped_file_is_written_as_this_writes_it(tmp_path: Path) -> None:
    shipped = shipped_presets()
    assert [m.hardware_class for m in shipped.machines] == [
        "generic",
        "nvidia-geforce-rtx-5090-sm120",
        "nvidia-geforce-rtx-3090-sm86",
    ]
    path = tmp_path / "cost_presets.json"
    write_presets(shipped, path)
    assert read_presets(path) == shipped
    committed = Path(__file__).parents[2] / "datasets" / "cost_presets" / "cost_presets.json"
    assert path.read_bytes() == committed.read_bytes()


def test_every_shipped_number_says_where_it_comes_from() -> None:
    for machine in shipped_presets().machines:
        assert machine.transfer is not None
        assert machine.transfer_provenance is not None
        for preset in machine.prefill:
            assert preset.provenance is not None
            assert preset.provenance.model is not None
            assert preset.coefficients.vision_item_ns > 0


def test_shipped_rates_are_the_published_ones() -> None:
    # GB/s down, up and on the device; µs a token and ns a pair, as they are published.
    speeds = {
        "generic": (40.0, 40.0, 100),
        "nvidia-geforce-rtx-5090-sm120": (46.8, 51.5, 1616),
        "nvidia-geforce-rtx-3090-sm86": (23.1, 24.9, 397),
    }
    tokens = {
        "generic": [(235.7, 7.10)],
        "nvidia-geforce-rtx-5090-sm120": [(87.5, 1.91), (235.7, 7.10)],
        "nvidia-geforce-rtx-3090-sm86": [
            (718.3, 10.78),
            (712.1, 11.54),
            (156.4, 4.16),
            (284.5, 4.54),
            (104.2, 2.01),
        ],
    }
    for machine in shipped_presets().machines:
        link = machine.transfer
        assert link is not None
        per_s = [2**32 / t.ns_per_byte_q32 for t in (link.d2h, link.h2d, link.d2d)]
        down, up, within = speeds[machine.hardware_class]
        assert (round(per_s[0], 1), round(per_s[1], 1), round(per_s[2])) == (down, up, within)
        assert tokens[machine.hardware_class] == [
            (
                round(preset.coefficients.token_ns_q32 / 2**32 / 1e3, 1),
                round(preset.coefficients.attention_pair_ns_q32 / 2**32, 2),
            )
            for preset in machine.prefill
        ]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # spec: BAD-1
    path = tmp_path / "mine.json"
    path.write_text(text_of_presets(parse(valid())), encoding="utf-8")
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    for owner, name in ((os, "fsync"), (Path, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            with pytest.raises(OSError, match="no space left"):
                write_presets(shipped_presets(), path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]


def test_a_table_that_could_not_be_read_back_is_not_written(tmp_path: Path) -> None:
    # spec: BAD-1
    nameless = MachinePresets(hardware_class="", transfer=None, prefill=())
    path = tmp_path / "mine.json"
    with pytest.raises(PresetError, match=r"mine\.json machines\[0\]\.hardware_class"):
        write_presets(PresetTable(file_name="mine.json", machines=(nameless,)), path)
    assert list(tmp_path.iterdir()) == []


def test_a_write_replaces_a_good_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    write_presets(parse(valid()), path)
    write_presets(shipped_presets(), path)
    assert read_presets(path).machines == shipped_presets().machines
    assert list(tmp_path.iterdir()) == [path]
