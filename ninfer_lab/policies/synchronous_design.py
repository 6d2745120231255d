"""What is the same in every design whose admissions take no time?

Owns the half of `contract.cache_controller` that follows from it: no transition is ever under way,
growth is promised at admission, nobody is let past a blocked head, and a row's forwards come from
the `RowLedger`. A policy adds the other half: `admit`, `on_forward`, `finish`, `describe`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ninfer_lab.contract.cache_controller import AdmissionAborted, Admitted
from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath, SourceDisposition
from ninfer_lab.contract.capacity import Axis, Occupancy
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import OwnerId, RequestId, SequenceHandle
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.machine_work import MachineWork, PrefillWork
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.search_report import TargetVerdict
from ninfer_lab.contract.target import StageName, StateTransition, Violation
from ninfer_lab.contract.work import Cut
from ninfer_lab.policies.row_ledger import RowLedger


class SynchronousDesign:
    """To derive a policy from.

    Args:
        options: Capacities.
        machine: On which rows are bound.

    Attributes:
        ledger: Pages, slots and rows.
        options: As resolved for the machine.
    """

    def __init__(self, options: ResolvedOptions, machine: MachineApi) -> None:
        self.ledger = RowLedger(options, machine)
        self.options = options
        self._revision = 0

    @property
    def revision(self) -> int:
        """Grows whenever a blocked request is worth another look."""
        return self._revision

    def moved(self) -> int:
        """Something that everybody sees has changed.

        Returns:
            The new revision.
        """
        self._revision += 1
        return self._revision

    def poll(self) -> Admitted | AdmissionAborted | None:
        """Nothing is ever under way."""
        return None

    def cancel_admission(self) -> None:
        """There is none to take back.

        Raises:
            InvariantBroken: Always.
        """
        raise InvariantBroken("INV-9 one transition", "none is under way in this design")

    def may_backfill(
        self,
        head: AdmissionRequest,
        borrower: AdmissionRequest,
        donors: Mapping[RequestId, SequenceHandle],
    ) -> bool:
        """Nothing is proven, so nobody is let past."""
        return False

    def can_run(self, handle: SequenceHandle) -> bool:
        """Nothing is under way that it could disturb."""
        return True

    def grow_lease(self, handle: SequenceHandle) -> bool:
        """The whole output was promised at admission."""
        return True

    def next_cut(self, handle: SequenceHandle) -> Cut:
        """The row's next forward."""
        return self.ledger.next_cut(handle)

    def on_accept(self, handle: SequenceHandle, token_id: int) -> None:
        """A drawn token joined the exact history."""
        self.ledger.row(handle).output.append(token_id)

    def occupancy(self) -> Occupancy:
        """Used_r now."""
        return self.ledger.occupancy()

    def verdict(
        self,
        request: AdmissionRequest,
        path: ReusePath,
        reuse_tokens: int,
        owner: OwnerId | None = None,
        *,
        disposition: SourceDisposition = SourceDisposition.CONSUME,
        missing_pages: int = 0,
    ) -> TargetVerdict:
        """One way in that the policy looked at, in the words in which searches are recorded.

        Args:
            path: The way.
            reuse_tokens: What it spares.
            owner: On whose places it would run; `None` for none.
            disposition: Whether that owner's places become the request's.
            missing_pages: How many it was short of; 0 fits.
        """
        prompt = request.prompt
        work = PrefillWork.between(
            reuse_tokens,
            len(prompt.tokens),
            prefill_chunk_tokens=self.options.prefill_chunk_tokens,
            cuts_tokens=prompt.rewrite_execution_frontiers,
        )
        retained = disposition is SourceDisposition.RETAIN
        state = StateTransition.FORK if retained else StateTransition.MOVE
        return TargetVerdict(
            path=path,
            owner=owner,
            disposition=None if owner is None else disposition,
            reuse_tokens=reuse_tokens,
            prefill_tokens=len(prompt.tokens) - reuse_tokens,
            evicted=(),
            degraded=(),
            deleted=(),
            state=state if reuse_tokens else StateTransition.ROOT,
            cow_pages=0,
            stages=(),
            work=MachineWork.of(prefill=work),
            has_publication_slot=True,
            violations=self._short_of(missing_pages) if missing_pages else (),
        )

    def _short_of(self, missing_pages: int) -> tuple[Violation, ...]:
        capacity_count = self.options.capacity.device_kv_pages
        return (
            Violation(
                stage=StageName.DESTINATIONS_RESERVED,
                axis=Axis.DEVICE_KV,
                used_count=capacity_count + missing_pages,
                capacity_count=capacity_count,
            ),
        )
