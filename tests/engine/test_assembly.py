"""Law: options are judged before anything is read, and a design is built over the machine that the
engine drives.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.engine.assembly import assemble_torch, catalog_design
from simulation.content_machine import ContentMachine


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (EngineOptions(max_concurrency=9), "max_concurrency"),
        (EngineOptions(kv_capacity_tokens=64), "kv_capacity_tokens"),
        (EngineOptions(max_concurrency=4, max_private_continuations=3), "max_private_cont"),
    ],
)
def test_options_that_hold_no_request_are_refused_before_the_checkpoint_is_looked_for(
    options: EngineOptions, name: str, tmp_path: Path
) -> None:  # spec: CFG-1
    with pytest.raises(OptionsError, match=rf"options\.{name}"):
        assemble_torch(tmp_path / "nothing-here", options)


def test_a_fresh_design_holds_nothing() -> None:
    options = EngineOptions(max_concurrency=2, max_context_tokens=256).resolve()
    design = catalog_design(options, ContentMachine(options.capacity))
    held = design.describe()
    assert (held.catalog, held.ledger.owners, held.ledger.sequences) == ((), (), ())
    assert [use.used_count for use in design.occupancy().axes] == [0, 0]
    assert [use.capacity_count for use in design.occupancy().axes] == [4, 8]
