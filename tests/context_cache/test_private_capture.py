"""Law: one rewrite checkpoint is wanted, the turn closure before the replay, and none that lies
behind the start.
"""

from __future__ import annotations

import pytest

from ninfer_lab.context_cache.private_capture import wanted_captures
from ninfer_lab.contract.candidate import AdmissionCandidate, AdmissionRequest
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.ids import LaneId, RequestId
from ninfer_lab.contract.options import CacheMode
from simulation.engine_world import prepared

CLOSURE, REPLAY = CheckpointKind.TURN_CLOSURE, CheckpointKind.RESPONSE_REPLAY


@pytest.mark.parametrize(
    ("closure", "replay", "reuse", "wanted"),
    [
        (40, 55, 0, [(CLOSURE, 40)]),
        (40, 55, 12, [(CLOSURE, 40)]),
        (40, 55, 40, [(CLOSURE, 40)]),  # where the request starts: captured before anything runs
        (40, 55, 41, []),  # the lineage has it already, and a replay would push it out
        (40, None, 0, [(CLOSURE, 40)]),
        (None, 55, 0, [(REPLAY, 55)]),
        (None, 55, 55, [(REPLAY, 55)]),
        (None, 55, 56, []),
        (None, None, 0, []),
    ],
)
def test_which_rewrite_checkpoint_is_wanted(  # spec: OWN-4, OWN-5
    closure: int | None, replay: int | None, reuse: int, wanted: list[tuple[CheckpointKind, int]]
) -> None:
    request = AdmissionRequest(
        request=RequestId(1),
        prompt=prepared(range(60), closure=closure, replay=replay),
        max_output_tokens=1,
        mode=CacheMode.READ_WRITE,
        session_key=None,
        publication_order=1,
        free_lanes=(LaneId(0),),
    )
    candidate = AdmissionCandidate(
        request=request, source=None, reuse_tokens=reuse, prefill_tokens=60 - reuse
    )
    captures = wanted_captures(candidate)
    assert [(c.kind, c.frontier_tokens) for c in captures] == wanted
