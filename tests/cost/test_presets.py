"""Law: each component of the model is found on its own, the user's file first and generic last."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ninfer_lab.contract.device_timing import PrefillTiming, TransferTiming, TransferTimings
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.cost.machine_cost_model import CoefficientOrigin
from ninfer_lab.cost.preset_file import parse_presets, shipped_presets
from ninfer_lab.cost.presets import (
    GENERIC,
    MachinePresets,
    PrefillPreset,
    PresetError,
    PresetTable,
    Provenance,
    hardware_class_of,
    processor_class_of,
    resolve_cost_model,
)
from ninfer_lab.models.qwen3_5.geometries import PUBLIC_FAMILY, QWEN3_5_27B, public_signature
from ninfer_lab.models.qwen3_5.measurement import prefill_signature

BF16 = ModelDtype.BFLOAT16
FALLBACK, MATCH, OWN = (
    CoefficientOrigin.GENERIC,
    CoefficientOrigin.SHIPPED,
    CoefficientOrigin.FILE,
)


def transfers(mark: int) -> TransferTimings:
    one = TransferTiming(batch_ns=mark, operation_ns=0, ns_per_byte_q32=0)
    return TransferTimings(d2h=one, h2d=one, d2d=one)


def prefill(signature: str, mark: int) -> PrefillPreset:
    timing = PrefillTiming(chunk_ns=mark, token_ns_q32=0, attention_pair_ns_q32=0)
    return PrefillPreset(signature=signature, coefficients=timing)


def machine(name: str, transfer: int | None, **by_signature: int) -> MachinePresets:
    return MachinePresets(
        hardware_class=name,
        transfer=None if transfer is None else transfers(transfer),
        prefill=tuple(prefill(signature, mark) for signature, mark in by_signature.items()),
    )


def table(*machines: MachinePresets, file_name: str = "shipped.json") -> PresetTable:
    return PresetTable(file_name=file_name, machines=machines)


SHIPPED = table(machine(GENERIC, 1, generic=2), machine("gpu", 3, a=4, b=5), machine("old", None))


@pytest.mark.parametrize(
    ("hardware_class", "signature", "user", "expected"),
    [
        # Nothing matches: that is no error.
        ("unknown", "a", None, (1, FALLBACK, 2, FALLBACK)),
        ("unknown", "a", table(), (1, FALLBACK, 2, FALLBACK)),
        # The machine matches, the model does not.
        ("gpu", "c", None, (3, MATCH, 2, FALLBACK)),
        ("gpu", "b", None, (3, MATCH, 5, MATCH)),
        ("old", "a", None, (1, FALLBACK, 2, FALLBACK)),
        # The user's file wins for what it says, and only for that.
        ("gpu", "a", table(machine("gpu", 8, a=9)), (8, OWN, 9, OWN)),
        ("gpu", "a", table(machine("gpu", 8)), (8, OWN, 4, MATCH)),
        ("gpu", "a", table(machine("gpu", None, a=9)), (3, MATCH, 9, OWN)),
        ("gpu", "c", table(machine("gpu", 8, a=9)), (8, OWN, 2, FALLBACK)),
        ("unknown", "a", table(machine("unknown", None, a=9)), (1, FALLBACK, 9, OWN)),
        # Another machine's entry of the same signature is none of this machine.
        ("unknown", "a", table(machine("gpu", 8, a=9)), (1, FALLBACK, 2, FALLBACK)),
        # A user's generic machine is a machine of that name, not a second fallback.
        ("gpu", "c", table(machine(GENERIC, 8, generic=9)), (3, MATCH, 2, FALLBACK)),
        (GENERIC, "a", None, (1, FALLBACK, 2, FALLBACK)),
    ],
)
def test_each_component_is_resolved_on_its_own(
    hardware_class: str,
    signature: str,
    user: PresetTable | None,
    expected: tuple[int, CoefficientOrigin, int, CoefficientOrigin],
) -> None:  # spec: COST-5
    model = resolve_cost_model(
        hardware_class=hardware_class, signature=signature, shipped=SHIPPED, user=user
    )
    found = (
        model.transfer.h2d.batch_ns,
        model.transfer_source.origin,
        model.prefill.chunk_ns,
        model.prefill_source.origin,
    )
    assert found == expected


def test_a_source_names_file_machine_and_signature() -> None:
    user = table(machine("gpu", None, a=9), file_name="mine.json")
    model = resolve_cost_model(hardware_class="gpu", signature="a", shipped=SHIPPED, user=user)
    assert str(model.transfer_source) == "shipped (gpu in shipped.json)"
    assert str(model.prefill_source) == "file (gpu a in mine.json)"


@pytest.mark.parametrize(
    ("shipped", "missing"),
    [
        (table(machine("gpu", 1, a=2)), "transfer"),
        (table(machine(GENERIC, None, generic=2)), "transfer"),
        (table(machine(GENERIC, 1, a=2)), "prefill signature generic"),
    ],
)
def test_a_shipped_table_without_a_fallback_is_refused(shipped: PresetTable, missing: str) -> None:
    with pytest.raises(PresetError) as refused:
        resolve_cost_model(hardware_class="unknown", signature="c", shipped=shipped)
    assert str(refused.value) == (
        f"shipped.json machine generic {missing}: found nothing;"
        " legal: the shipped table falls back to it for what no file knows"
    )


def test_the_shipped_table_knows_27b_by_its_geometry_on_both_cards() -> None:  # spec: COST-5
    shipped = shipped_presets()
    for hardware_class in ("nvidia-geforce-rtx-5090-sm120", "nvidia-geforce-rtx-3090-sm86"):
        model = resolve_cost_model(
            hardware_class=hardware_class,
            signature=prefill_signature(QWEN3_5_27B, BF16),
            shipped=shipped,
        )
        assert model.transfer_source.origin is model.prefill_source.origin is MATCH


def test_the_shipped_table_knows_the_mixture_of_experts_by_name() -> None:
    model = resolve_cost_model(
        hardware_class="nvidia-geforce-rtx-3090-sm86",
        signature=public_signature("qwen3.5-35b-a3b", BF16),
        shipped=shipped_presets(),
    )
    assert model.prefill_source.origin is MATCH
    assert model.prefill.chunk_ns == 32_306_259


def test_every_public_size_resolves_on_every_machine() -> None:
    shipped = shipped_presets()
    for hardware_class in [m.hardware_class for m in shipped.machines]:
        for name in PUBLIC_FAMILY:
            resolve_cost_model(
                hardware_class=hardware_class,
                signature=public_signature(name, BF16),
                shipped=shipped,
            )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hidden_size", 4096),
        ("intermediate_size", 12_288),
        ("query_head_count", 32),
        ("kv_head_count", 8),
        ("linear_value_head_count", 32),
        ("head_is_tied", True),
        ("vocab_size", 151_936),
    ],
)
def test_a_signature_changes_with_what_a_prefill_computes(field: str, value: int) -> None:
    # spec: COST-5
    other = replace(QWEN3_5_27B, **{field: value})  # type: ignore[arg-type]
    assert prefill_signature(other, BF16) != prefill_signature(QWEN3_5_27B, BF16)


def test_a_signature_keeps_still_for_what_costs_nothing() -> None:  # spec: COST-5
    same = replace(QWEN3_5_27B, max_position_tokens=1_010_000, eos_token_ids=(7,))
    assert prefill_signature(same, BF16) == prefill_signature(QWEN3_5_27B, BF16)
    assert prefill_signature(QWEN3_5_27B, BF16) != prefill_signature(
        QWEN3_5_27B, ModelDtype.FLOAT32
    )


@pytest.mark.parametrize(
    ("device_name", "capability", "expected"),
    [
        ("NVIDIA GeForce RTX 3090", (8, 6), "nvidia-geforce-rtx-3090-sm86"),
        ("NVIDIA GeForce RTX 5090", (12, 0), "nvidia-geforce-rtx-5090-sm120"),
        ("NVIDIA H200", (9, 0), "nvidia-h200-sm90"),
        ("Tesla T4", (7, 5), "nvidia-tesla-t4-sm75"),
        ("NVIDIA A100-SXM4-80GB (MIG)", (8, 0), "nvidia-a100-sxm4-80gb-mig-sm80"),
    ],
)
def test_a_hardware_class_is_a_slug_of_the_device(
    device_name: str, capability: tuple[int, int], expected: str
) -> None:
    assert hardware_class_of(device_name, capability) == expected


@pytest.mark.parametrize(
    ("name", "threads", "expected"),
    [
        ("AMD EPYC", 1, "cpu-amd-epyc-1-thread"),
        ("Xeon(R) W @ 3.60GHz", 8, "cpu-xeon-r-w-3-60ghz-8-threads"),
        ("", 2, "cpu-2-threads"),
    ],
)
def test_a_processor_is_a_class_with_the_threads_that_compute(
    name: str, threads: int, expected: str
) -> None:
    assert processor_class_of(name, threads) == expected
    document = {
        "schema_version": 3,
        "artifact_type": "ninfer_context_cost_presets",
        "machines": [{"hardware_class": expected, "transfer": None, "prefill": []}],
    }
    assert parse_presets(json.dumps(document), file_name="a.json").machine(expected) is not None


def test_a_calibration_replaces_what_it_measured_and_nothing_else() -> None:
    by_me = Provenance(source="a calibration")
    known = SHIPPED.machine("gpu")
    assert known is not None

    copies = SHIPPED.with_measured("gpu", transfer=transfers(8), transfer_provenance=by_me)
    changed = copies.machine("gpu")
    assert changed == replace(known, transfer=transfers(8), transfer_provenance=by_me)

    computed = SHIPPED.with_measured("gpu", prefill=(prefill("b", 9), prefill("c", 10)))
    changed = computed.machine("gpu")
    assert changed is not None
    assert [(p.signature, p.coefficients.chunk_ns) for p in changed.prefill] == [
        ("a", 4),
        ("b", 9),
        ("c", 10),
    ]
    assert changed.transfer == known.transfer

    for table_after in (copies, computed):
        assert table_after.machines[0] == SHIPPED.machines[0]
        assert table_after.machines[2] == SHIPPED.machines[2]


def test_a_calibration_of_an_unknown_machine_adds_it_last() -> None:
    after = SHIPPED.with_measured("new", prefill=(prefill("a", 9),))
    assert after.machines[:-1] == SHIPPED.machines
    assert after.machines[-1] == machine("new", None, a=9)
