"""A Program whose sequences are asked for shared prefixes: short words for that, too."""

from __future__ import annotations

from dataclasses import replace

from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.planning import TargetHandle
from ninfer_lab.contract.result import Committed
from ninfer_lab.contract.shared_capture import (
    CaptureIntent,
    CaptureSession,
    SharedCaptureEnd,
    SharedPublished,
)
from ninfer_lab.contract.transaction import TransactionHandle
from simulation.program_world import ProgramWorld, Start


class CaptureWorld(ProgramWorld):
    """As `ProgramWorld`."""

    def at_offer(self, tokens: int, frontier_tokens: int, start: Start | None = None) -> Committed:
        """A sequence run from the root to a frontier where it may be asked for a shared prefix."""
        begun = replace(start or Start(owner=self.new_owner()), offers=(frontier_tokens,))
        result = self.admit(self.request(range(tokens)), begun)
        while self.sequence(result).frontier_tokens < frontier_tokens:
            self.forward(result)
        assert self.program.is_offered(result.handle)
        return result

    def session(self, of: Committed, *protected: OwnerRef) -> CaptureSession:
        """Everything inactive may give way but the protected."""
        owners = [self._refs[owner] for owner in sorted(self._refs)]
        there = {owner.owner for owner in self.ledger.owners}
        kept = [owner for owner in owners if owner.id in there]
        return self.program.plan_capture(of.handle, kept, [ref.id for ref in protected])

    def open_capture(
        self, of: Committed, session: CaptureSession, target: TargetHandle
    ) -> TransactionHandle:
        """Seals and starts; nothing has happened yet."""
        intent = CaptureIntent(
            handle=of.handle,
            destination=self.new_owner(),
            form=session.forms[target.candidate],
        )
        plan = self.program.seal_capture(session.assess(target), intent)
        handle = self.program.start_capture(plan)
        self.look()
        return handle

    def advance_capture(self, transaction: TransactionHandle) -> SharedCaptureEnd | None:
        """As far as it goes now; a result is adopted as a manager would."""
        result = self.program.advance_capture(transaction)
        if result is not None:
            for end in result.evicted:
                del self._refs[end.ref.id]
            for change in result.degraded:
                self._refs[change.before.id] = change.state.ref
            if isinstance(result, SharedPublished):
                self._refs[result.published.ref.id] = result.published.ref
        self.look()
        return result

    def run_capture(self, transaction: TransactionHandle) -> SharedCaptureEnd:
        """To its end, over all its transfers."""
        while (result := self.advance_capture(transaction)) is None:
            self.arrive()
        return result
