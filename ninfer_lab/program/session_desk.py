"""Which session is given away, and which is taken in? (PER)

Owns the one way of publishing an inactive owner outside a transition (PER-1). What is copied is
`transactions.saved_session`'s and `restored_session`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ninfer_lab.contract.ids import OwnerRef
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.options import ResolvedOptions
from ninfer_lab.contract.session_snapshot import RestoredSession, SessionSnapshot
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.transactions.restored_session import (
    fill,
    fitting_room,
    published,
    require_fitting,
)
from ninfer_lab.program.transactions.saved_session import saved


class SessionDesk:
    """Of one Program; that no transition is open is checked there.

    Args:
        ids: Program's own counter.
        advance_revision: Called when global facts have changed; returns the new revision (REV-2).
    """

    def __init__(
        self,
        options: ResolvedOptions,
        ledger: Ledger,
        machine: MachineApi,
        ids: Iterator[int],
        advance_revision: Callable[[], int],
    ) -> None:
        self._options = options
        self._ledger = ledger
        self._machine = machine
        self._ids = ids
        self._advance_revision = advance_revision

    def save(self, owner: OwnerRef) -> SessionSnapshot:
        """A copy of an inactive owner. Reads only.

        Raises:
            SessionError: It has no endpoint.
        """
        continuation = self._ledger.continuations.require(owner)
        return saved(self._ledger, self._machine, self._options, continuation)

    def restore(self, snapshot: SessionSnapshot, destination: OwnerRef) -> RestoredSession:
        """Publishes a saved continuation under a new name.

        Raises:
            SessionError: Another machine's, no room for its endpoint, or no free lane.
            Exception: The machine's own. Either way nothing has changed.
        """
        require_fitting(snapshot, self._machine, self._options)
        room = fitting_room(snapshot, self._ledger)
        fill(snapshot, room, self._ledger, self._machine)
        owner = published(snapshot, room, self._ledger, destination, self._ids)
        return RestoredSession(
            state=owner.state,
            dropped=tuple(each for each in snapshot.checkpoints if each not in room.kept),
            on_host=tuple(each for each in room.kept if each.image in room.host_slots),
            resource_revision=self._advance_revision(),
        )
