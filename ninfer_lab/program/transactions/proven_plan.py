"""What stands behind a sealed plan when it is carried out?

Owns that value. Does not know how it was proved.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.ids import CheckpointId, SequenceHandle
from ninfer_lab.contract.plan import ResourcePlan
from ninfer_lab.contract.shared_capture import CapturePlan
from ninfer_lab.program.storage.active_sequence import ActiveSequence
from ninfer_lab.program.storage.post_state import PostState
from ninfer_lab.program.storage.source_lineage import SourceLineage
from ninfer_lab.program.transactions.capture import CaptureOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenPlan:
    """A sealed plan with what Program proved for it.

    Attributes:
        lineage: The candidate's source, read at the plan's revision.
        post: The end state and the way there.
        handle: The sequence it will become.
        capture_at_start: The anchor wanted of a consumed endpoint, `None` without one.
    """

    plan: ResourcePlan
    lineage: SourceLineage
    post: PostState
    handle: SequenceHandle
    capture_at_start: CaptureOrder | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenCapture:
    """A sealed capture with what Program proved for it.

    Attributes:
        checkpoint: What the owner's one checkpoint will be called.
    """

    plan: CapturePlan
    post: PostState
    sequence: ActiveSequence
    checkpoint: CheckpointId
