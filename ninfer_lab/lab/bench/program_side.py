"""How many targets does Program project in a second?

Owns the two timings on a full ledger: targets from scratch, and the neighbours of a target, with
what making it ready for them takes. Outcomes are met before, as a planner meets each of them in
very many targets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import assert_never

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.engine.projection_room import ProjectionRoom
from ninfer_lab.lab.bench.checkpoints import SEED
from ninfer_lab.lab.bench.interleaved import Spread
from ninfer_lab.lab.bench.measured import Rate
from ninfer_lab.lab.bench.rows import ProjectionForm
from ninfer_lab.lab.planner_problems import full_ledger

CHANGED_SHARE = 0.25
STEPS_COUNT = 3
TARGETS = 200
NEIGHBOURED_TARGETS = 5


def projections(form: ProjectionForm, repeats: int) -> Rate:
    """Projections per second of processor time.

    Raises:
        InvariantBroken: The two forms do not agree on a neighbour.
    """
    room, draw = ProjectionRoom(full_ledger()), Random(SEED)
    targets = [
        room.drawn(draw, changed_share=CHANGED_SHARE, steps_count=STEPS_COUNT)
        for _ in range(TARGETS)
    ]
    match form:
        case ProjectionForm.WHOLE:
            asked = [room.outcomes(target) for target in targets]
            fitting = sum(map(room.fits, asked))

            def run() -> int:
                return sum(map(room.fits, asked))

            count = len(asked)
        case ProjectionForm.NEIGHBOUR:
            bases = [(room.outcomes(t), room.below(t)) for t in targets[:NEIGHBOURED_TARGETS]]
            fitting = sum(room.fits(room.replaced(base, o)) for base, below in bases for o in below)

            def run() -> int:
                return sum(sum(map(room.beside(base), below)) for base, below in bases)

            count = sum(len(below) for _, below in bases)
        case _:
            assert_never(form)
    if run() != fitting:
        raise InvariantBroken("REC-2", f"{form.value}: not the {fitting} of {count} that fit")
    rates = [count / _seconds(run) for _ in range(repeats)]
    detail = (
        f"{count:,} targets over {room.pages_count:,} pages, of which {fitting / count:.0%} fit"
    )
    return Rate(spread=Spread.of(rates), detail=detail)


def _seconds(run: Callable[[], object]) -> float:
    started_ns = time.process_time_ns()
    run()
    return (time.process_time_ns() - started_ns) / 1e9
