"""Which owner does a session give away, and where does one that comes in sit? (PER-3)

Owns the two logical sides of a session's way through a file. What comes in belongs to nobody: no
session is bound to it, so only a prompt that it is a prefix of finds it. Does not know contents.
"""

from __future__ import annotations

from collections.abc import Callable

from ninfer_lab.context_cache.catalog import Catalog, PrivateOwner
from ninfer_lab.context_cache.kept_owners import KeptOwners
from ninfer_lab.context_cache.session_index import SessionIndex
from ninfer_lab.contract.ids import OwnerId, OwnerRef, SessionKey
from ninfer_lab.contract.result import OwnerState
from ninfer_lab.contract.session_snapshot import SessionError


class SavedSessions:
    """Of one ResourceManager.

    Args:
        mint: Its own source of owner ids.
    """

    def __init__(
        self,
        catalog: Catalog,
        sessions: SessionIndex,
        kept: KeptOwners,
        mint: Callable[[], OwnerId],
    ) -> None:
        self._catalog = catalog
        self._sessions = sessions
        self._kept = kept
        self._mint = mint

    def owner_of(self, session: SessionKey) -> OwnerRef:
        """What a session is bound to.

        Raises:
            SessionError: Nothing, or what could not be gone on with from its end.
        """
        bound = self._sessions.owner_of(session)
        if bound is None:
            raise SessionError(
                f"session {session!r}",
                found="nothing kept: it never ended a request, is active now, or was evicted",
                legal="a session whose last request left a checkpoint behind",
            )
        owner = self._catalog.owner(bound)
        if not owner.is_whole:
            raise SessionError(
                f"session {session!r}",
                found=str(owner.state),
                legal="an owner with an endpoint: its last request must end regularly",
            )
        return owner.ref

    def destination(self) -> OwnerRef:
        """The name of an owner to come.

        Raises:
            SessionError: The catalog has no free place.
        """
        if self._catalog.vacant_slot() is None:
            raise SessionError(
                "catalog", found="no free place", legal="max_private_continuations one larger"
            )
        return OwnerRef(id=self._mint(), generation=1)

    def adopt(self, state: OwnerState) -> None:
        """It sits in the catalog, as recent as what was published last. Cannot fail (INV-11)."""
        latest = max((each.publication_order for each in self._kept.all()), default=0)
        self._catalog.receive(PrivateOwner(state=state, publication_order=latest))
