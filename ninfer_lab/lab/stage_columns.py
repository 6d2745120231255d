"""What is sent of plans and occupancies to a picture that steps through stages?

Owns the columns and facts that the placement map and the stepper share: each plan once, however
many moments show a stage of it. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.target import Stage, StageName

_NAMES = tuple(StageName)


def stage_columns(
    shown: Sequence[tuple[Stage, ...]], at: Sequence[int | None]
) -> tuple[npt.NDArray[Any], dict[str, Any]]:
    """What is used at every stage of every plan; and which plan and stage each moment shows.

    Args:
        shown: Of each moment, all stages of its plan; none where it shows no plan.
        at: Of each moment, the stage it stands at; `None` where it stands at none.
    """
    plans = {stages: i for i, stages in enumerate(dict.fromkeys(each for each in shown if each))}
    facts = {
        "plan": [plans.get(stages) for stages in shown],
        "stage": list(at),
        "stages": [[_NAMES.index(stage.name) for stage in stages] for stages in plans],
        "stage_names": [name.value for name in StageName],
    }
    return uses_column(stage.occupancy for stages in plans for stage in stages), facts


def uses_column(occupancies: Iterable[Occupancy]) -> npt.NDArray[Any]:
    """Allocated, reserved and capacity of every axis, one occupancy behind the other."""
    rows = [
        (use.allocated_count, use.reserved_count, use.capacity_count)
        for occupancy in occupancies
        for use in occupancy.axes
    ]
    return np.array(rows, np.float64).ravel()
