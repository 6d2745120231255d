"""What is the same in every design whose admissions take no time?

Owns the half of `contract.cache_controller` that follows from it: no transition is ever under way,
growth is promised at admission, nobody is let past a blocked head, and a row's forwards come from
the `RowLedger`. A policy adds `admit` and `finish`, and `on_forward` and `describe` if it keeps
anything; for the values that these answer with there is a short way here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ninfer_lab.contract.cache_controller import (
    AdmissionAborted,
    Admitted,
    ControllerSnapshot,
    TemporarilyBlocked,
)
from ninfer_lab.contract.candidate import AdmissionRequest, ReusePath, SourceDisposition
from ninfer_lab.contract.capacity import Axis, Occupancy
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import OwnerId, RequestId, SequenceHandle
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.machine_work import MachineWork, PrefillWork
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.result import CaptureOutcome, CaptureResult, OwnerState, Settlement
from ninfer_lab.contract.search_report import SearchReport, TargetVerdict
from ninfer_lab.contract.target import StageName, StateTransition, Violation
from ninfer_lab.contract.work import Cut
from ninfer_lab.policies.row_ledger import EndedRow, Row, RowLedger


class SynchronousDesign:
    """To derive a policy from.

    Args:
        options: Capacities.
        machine: On which rows are bound.
        granule_pages: An admission promises whole multiples of it.

    Attributes:
        ledger: Pages, slots and rows.
        options: As resolved for the machine.
    """

    def __init__(
        self, options: ResolvedOptions, machine: MachineApi, *, granule_pages: int = 1
    ) -> None:
        self.ledger = RowLedger(options, machine, granule_pages=granule_pages)
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

    def on_forward(self, handle: SequenceHandle) -> CaptureResult:
        """The cut has run; a policy that keeps states asks for them here."""
        row = self.ledger.commit(handle)
        return CaptureResult(CaptureOutcome.NOT_WANTED, row.frontier_tokens)

    def on_accept(self, handle: SequenceHandle, token_id: int) -> None:
        """A drawn token joined the exact history."""
        self.ledger.row(handle).output.append(token_id)

    def occupancy(self) -> Occupancy:
        """Used_r now."""
        return self.ledger.occupancy()

    def describe(self) -> ControllerSnapshot:
        """Running rows alone; a policy that keeps something shows it here."""
        return ControllerSnapshot(ledger=self.ledger.snapshot(self.revision, (), {}), catalog=())

    def blocked(self, request: AdmissionRequest) -> TemporarilyBlocked:
        """The answer to a request that must wait for running ones."""
        missing_pages = self.ledger.entitled_pages(request) - self.ledger.unpromised_pages
        path = ReusePath.ROOT
        verdict = self.verdict(request, path, 0, missing_pages=max(1, missing_pages))
        return TemporarilyBlocked(
            revision=self.revision,
            reason=f"{missing_pages} more pages than are nobody's",
            report=SearchReport(verdicts=(verdict,), chosen=None),
        )

    def admitted(
        self,
        row: Row,
        path: ReusePath,
        looked_at: Sequence[TargetVerdict] = (),
        *,
        evicted: tuple[OwnerId, ...] = (),
        cow_pages: int = 0,
    ) -> Admitted:
        """The answer to a request whose row has just been started; everybody sees it.

        Args:
            looked_at: Every way in, the one that was taken last; by default that one alone.
            evicted: Owners that had to go for it.
            cow_pages: Copied, so that the row can write behind what it reads.
        """
        reuse_tokens, state = row.frontier_tokens, StateTransition.ROOT
        if row.read_slot is not None:
            state = StateTransition.FORK if row.is_reading_lent else StateTransition.MOVE
        *others, taken = looked_at or [self.verdict(row.request, path, reuse_tokens)]
        verdicts = (*others, taken._replace(state=state, evicted=evicted, cow_pages=cow_pages))
        self.moved()
        return Admitted(
            handle=row.handle,
            path=path,
            state=state,
            reuse_tokens=reuse_tokens,
            cow_pages=cow_pages,
            evicted=evicted,
            report=SearchReport(verdicts=verdicts, chosen=len(verdicts) - 1),
            capture=None,
        )

    def settled(self, ended: EndedRow, published: OwnerState | None) -> Settlement:
        """The answer to an end; everybody sees it.

        Args:
            published: What is kept of the request, if anything is.
        """
        return Settlement(
            published=published,
            frontier_tokens=ended.frontier_tokens,
            resource_revision=self.moved(),
        )

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
