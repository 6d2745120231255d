"""One preset document that is valid, and one way to break each thing that the format promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

COPY = {"batch_ns": 1, "operation_ns": 2, "ns_per_byte_q32": 3}
COMPUTE = {
    "chunk_ns": 4,
    "token_ns_q32": 5,
    "attention_pair_ns_q32": 6,
    "vision_item_ns": 0,
    "vision_patch_ns_q32": 0,
}

Document = dict[str, Any]


def valid() -> Document:
    """A fresh document with two machines, of which one has all that a machine can have."""
    return {
        "schema_version": 3,
        "artifact_type": "ninfer_context_cost_presets",
        "machines": [
            {
                "hardware_class": "gpu-1",
                "transfer": {name: dict(COPY) for name in ("d2h", "h2d", "d2d")},
                "transfer_provenance": {"source": "somebody", "measured_on": "2026-09-14"},
                "prefill": [
                    {
                        "signature": "name:model.a",
                        "coefficients": dict(COMPUTE),
                        "provenance": {"source": "somebody", "model": "A"},
                    },
                    {"signature": "0123456789abcdef0123456789abcdef", "coefficients": COMPUTE},
                ],
            },
            {"hardware_class": "gpu-2", "transfer": None, "prefill": []},
        ],
    }


def gpu(document: Document) -> Document:
    machine: Document = document["machines"][0]
    return machine


def entry(document: Document) -> Document:
    first: Document = gpu(document)["prefill"][0]
    return first


FAULTS: dict[str, tuple[Callable[[Document], object], str]] = {
    "unknown member at the top": (
        lambda d: d.update(machine=[]),
        "mine.json.machine: found an unknown member;"
        " legal: only schema_version, artifact_type, machines",
    ),
    "no machines": (
        lambda d: d.pop("machines"),
        "mine.json.machines: found nothing; legal: it must be given",
    ),
    "no schema": (
        lambda d: d.pop("schema_version"),
        "mine.json.schema_version: found nothing; legal: it must be given",
    ),
    "older schema": (
        lambda d: d.update(schema_version=2),
        "mine.json schema_version: found 2; legal: 3",
    ),
    "schema as a fraction": (
        lambda d: d.update(schema_version=3.0),
        "mine.json schema_version: found 3.0; legal: 3",
    ),
    "other artifact": (
        lambda d: d.update(artifact_type="weights"),
        "mine.json artifact_type: found weights; legal: ninfer_context_cost_presets",
    ),
    "machines is no list": (
        lambda d: d.update(machines={}),
        "mine.json machines: found {}; legal: a list",
    ),
    "a machine is no object": (
        lambda d: d["machines"].append(7),
        "mine.json machines[2]: found 7; legal: an object",
    ),
    "no hardware class": (
        lambda d: gpu(d).pop("hardware_class"),
        "mine.json machines[0].hardware_class: found nothing; legal: it must be given",
    ),
    "hardware class with capitals": (
        lambda d: gpu(d).update(hardware_class="RTX 3090"),
        'mine.json machines[0].hardware_class: found "RTX 3090";'
        " legal: lower-case words and digits, joined by -",
    ),
    "hardware class twice": (
        lambda d: d["machines"][1].update(hardware_class="gpu-1"),
        "mine.json machines[1].hardware_class: found gpu-1 again; legal: each once",
    ),
    "misspelt member of a machine": (
        lambda d: gpu(d).update(transfers=None),
        "mine.json machines[0].transfers: found an unknown member;"
        " legal: only hardware_class, transfer, prefill, transfer_provenance",
    ),
    "transfer left out": (
        lambda d: gpu(d).pop("transfer"),
        "mine.json machines[0].transfer: found nothing; legal: it must be given",
    ),
    "transfer is no object": (
        lambda d: gpu(d).update(transfer="fast"),
        'mine.json machines[0].transfer: found "fast"; legal: an object',
    ),
    "a direction left out": (
        lambda d: gpu(d)["transfer"].pop("d2d"),
        "mine.json machines[0].transfer.d2d: found nothing; legal: it must be given",
    ),
    "a direction too many": (
        lambda d: gpu(d)["transfer"].update(h2h=COPY),
        "mine.json machines[0].transfer.h2h: found an unknown member; legal: only d2h, h2d, d2d",
    ),
    "a direction that takes no time": (
        lambda d: gpu(d)["transfer"].update(h2d=dict.fromkeys(COPY, 0)),
        "mine.json machines[0].transfer.h2d: found all zero; legal: a copy that takes time",
    ),
    "a copy coefficient left out": (
        lambda d: gpu(d)["transfer"]["d2h"].pop("operation_ns"),
        "mine.json machines[0].transfer.d2h.operation_ns: found nothing; legal: it must be given",
    ),
    "a misspelt copy coefficient": (
        lambda d: gpu(d)["transfer"]["d2h"].update(op_ns=1),
        "mine.json machines[0].transfer.d2h.op_ns: found an unknown member;"
        " legal: only batch_ns, operation_ns, ns_per_byte_q32",
    ),
    "a negative coefficient": (
        lambda d: gpu(d)["transfer"]["d2h"].update(batch_ns=-1),
        "mine.json machines[0].transfer.d2h.batch_ns: found -1; legal: an integer, 0 to 2**64 - 1",
    ),
    "a coefficient over 64 bits": (
        lambda d: entry(d)["coefficients"].update(chunk_ns=2**64),
        "mine.json machines[0].prefill[0].coefficients.chunk_ns: found 18446744073709551616;"
        " legal: an integer, 0 to 2**64 - 1",
    ),
    "a fraction": (
        lambda d: entry(d)["coefficients"].update(token_ns_q32=1.5),
        "mine.json machines[0].prefill[0].coefficients.token_ns_q32: found 1.5;"
        " legal: an integer, 0 to 2**64 - 1",
    ),
    "not a number": (
        lambda d: entry(d)["coefficients"].update(token_ns_q32=float("nan")),
        "mine.json machines[0].prefill[0].coefficients.token_ns_q32: found NaN;"
        " legal: an integer, 0 to 2**64 - 1",
    ),
    "true for one": (
        lambda d: entry(d)["coefficients"].update(token_ns_q32=True),
        "mine.json machines[0].prefill[0].coefficients.token_ns_q32: found true;"
        " legal: an integer, 0 to 2**64 - 1",
    ),
    "a number as text": (
        lambda d: entry(d)["coefficients"].update({"token_ns_q32": "5"}),
        'mine.json machines[0].prefill[0].coefficients.token_ns_q32: found "5";'
        " legal: an integer, 0 to 2**64 - 1",
    ),
    "prefill is no list": (
        lambda d: gpu(d).update(prefill=None),
        "mine.json machines[0].prefill: found null; legal: a list",
    ),
    "a prefill entry is no object": (
        lambda d: gpu(d)["prefill"].append([]),
        "mine.json machines[0].prefill[2]: found []; legal: an object",
    ),
    "no signature": (
        lambda d: entry(d).pop("signature"),
        "mine.json machines[0].prefill[0].signature: found nothing; legal: it must be given",
    ),
    "a signature that nothing can have": (
        lambda d: entry(d).update(signature="Qwen3.5-27B"),
        'mine.json machines[0].prefill[0].signature: found "Qwen3.5-27B";'
        " legal: 32 hexadecimal digits, generic, or name: and a lower-case name",
    ),
    "a signature twice on one machine": (
        lambda d: gpu(d)["prefill"][1].update(signature="name:model.a"),
        "mine.json machines[0].prefill[1].signature: found name:model.a again; legal: each once",
    ),
    "no coefficients": (
        lambda d: entry(d).pop("coefficients"),
        "mine.json machines[0].prefill[0].coefficients: found nothing; legal: it must be given",
    ),
    "a vision coefficient left out": (
        lambda d: entry(d)["coefficients"].pop("vision_item_ns"),
        "mine.json machines[0].prefill[0].coefficients.vision_item_ns: found nothing;"
        " legal: it must be given",
    ),
    "text for nothing": (
        lambda d: entry(d)["coefficients"].update(
            chunk_ns=0, token_ns_q32=0, attention_pair_ns_q32=0, vision_item_ns=9
        ),
        "mine.json machines[0].prefill[0].coefficients: found chunk_ns, token_ns_q32 and"
        " attention_pair_ns_q32 all zero; legal: a text prefill that takes time",
    ),
    "an unknown member of an entry": (
        lambda d: entry(d).update(model="A"),
        "mine.json machines[0].prefill[0].model: found an unknown member;"
        " legal: only signature, coefficients, provenance",
    ),
    "provenance without a source": (
        lambda d: entry(d)["provenance"].pop("source"),
        "mine.json machines[0].prefill[0].provenance.source: found nothing;"
        " legal: it must be given",
    ),
    "an unknown member of a provenance": (
        lambda d: entry(d)["provenance"].update(author="somebody"),
        "mine.json machines[0].prefill[0].provenance.author: found an unknown member;"
        " legal: only source, model, measured_on, conditions, note",
    ),
    "an empty provenance": (
        lambda d: gpu(d)["transfer_provenance"].update(source=" "),
        'mine.json machines[0].transfer_provenance.source: found " "; legal: some text',
    ),
    "provenance is no object": (
        lambda d: gpu(d).update(transfer_provenance=None),
        "mine.json machines[0].transfer_provenance: found null; legal: an object",
    ),
}
