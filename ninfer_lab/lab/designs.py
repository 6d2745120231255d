"""Which cache designs can a world be run with?

Owns their names. Each is a factory that assembly takes in place of the catalog's; the step loop,
scheduler, frontend and machine stay the same. Does not know what any of them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.engine.assembly import ControllerFactory, catalog_design
from ninfer_lab.policies.community.llama_slots import llama_slots
from ninfer_lab.policies.community.marconi import marconi
from ninfer_lab.policies.community.sglang_radix import sglang_radix
from ninfer_lab.policies.community.snapshot_tree import snapshot_tree
from ninfer_lab.policies.community.tensorrt_priority import tensorrt_priority
from ninfer_lab.policies.community.vllm_aligned import vllm_aligned
from ninfer_lab.policies.lane_owned.design import lane_owned
from ninfer_lab.policies.lane_owned.switches import (
    DETACHED_REGISTRY,
    LANE_SELECTION,
    PRESERVE_EXISTING,
)

CATALOG, LANE_OWNED = "catalog", "lane-owned"
VLLM, SGLANG, TENSORRT, LLAMA = "vllm", "sglang", "tensorrt-llm", "llama.cpp"
MARCONI, SNAPSHOT_TREE = "marconi", "snapshot-tree"

COMMUNITY: tuple[str, ...] = (VLLM, SGLANG, TENSORRT, LLAMA, MARCONI, SNAPSHOT_TREE)
"""Models from public documents of given versions, not those engines themselves (PEER-2)."""

DESIGNS: Mapping[str, ControllerFactory] = MappingProxyType(
    {
        CATALOG: catalog_design,
        LANE_OWNED: lane_owned(),
        "lane-owned-preserve": lane_owned(PRESERVE_EXISTING),
        "lane-owned-registry": lane_owned(DETACHED_REGISTRY),
        "lane-owned-lane-key": lane_owned(LANE_SELECTION),
        VLLM: vllm_aligned(),
        SGLANG: sglang_radix,
        TENSORRT: tensorrt_priority(),
        LLAMA: llama_slots(),
        MARCONI: marconi(),
        SNAPSHOT_TREE: snapshot_tree,
    }
)
"""Everything that can be named; a policy of one's own is handed over as it is."""


def name_of(design: ControllerFactory) -> str | None:
    """Its name here; `None` for a policy of one's own."""
    return next((name for name, each in DESIGNS.items() if each == design), None)


def named(name: str) -> ControllerFactory:
    """A design by its name.

    Raises:
        OptionsError: There is none of that name.
    """
    design = DESIGNS.get(name)
    if design is None:
        raise OptionsError("design", found=name, legal=" or ".join(DESIGNS))
    return design
