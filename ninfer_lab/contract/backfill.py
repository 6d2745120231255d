"""May a later request run while the head of the queue is blocked? (BKF-1)

Owns the question as a value. The answer is Program's, bound to its revision, and uses nobody's
predicted time. Does not know why the head is blocked.
"""

from __future__ import annotations

from dataclasses import dataclass

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.ids import OwnerRef, SequenceHandle
from ninfer_lab.contract.planned_capture import PlannedCapture
from ninfer_lab.contract.target import Assessment


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillQuestion:
    """Would the head come in at the same ends of its donors, with the borrower running on?

    Attributes:
        head: The blocked request, as the root that it can always fall back to.
        borrower: The feasible target that the later request would be admitted by.
        donors: Active requests whose terminal release the head waits for: those that were active
            when it became blocked. Earlier borrowers are none, so that no chain of borrowers can
            put the head off.
        protected: Inactive owners that requests other than the donors lean on.
        captures: Checkpoints that the borrower would leave on its way: optional, and yet they
            would take what the head needs.
    """

    head: AdmissionRequest
    borrower: Assessment
    donors: tuple[SequenceHandle, ...]
    protected: tuple[OwnerRef, ...]
    captures: tuple[PlannedCapture, ...] = ()
