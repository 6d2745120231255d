"""Which cache designs can a world be run with?

Owns their names. Each is a factory that assembly takes in place of the catalog's; the step loop,
scheduler, frontend and machine stay the same. Does not know what any of them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.engine.assembly import ControllerFactory, catalog_design
from ninfer_lab.policies.lane_owned.design import lane_owned
from ninfer_lab.policies.lane_owned.switches import (
    DETACHED_REGISTRY,
    LANE_SELECTION,
    PRESERVE_EXISTING,
)

CATALOG, LANE_OWNED = "catalog", "lane-owned"

DESIGNS: Mapping[str, ControllerFactory] = MappingProxyType(
    {
        CATALOG: catalog_design,
        LANE_OWNED: lane_owned(),
        "lane-owned-preserve": lane_owned(PRESERVE_EXISTING),
        "lane-owned-registry": lane_owned(DETACHED_REGISTRY),
        "lane-owned-lane-key": lane_owned(LANE_SELECTION),
    }
)
"""Everything that can be named; a policy of one's own is handed over as it is."""


def named(name: str) -> ControllerFactory:
    """A design by its name.

    Raises:
        OptionsError: There is none of that name.
    """
    design = DESIGNS.get(name)
    if design is None:
        raise OptionsError("design", found=name, legal=" or ".join(DESIGNS))
    return design
