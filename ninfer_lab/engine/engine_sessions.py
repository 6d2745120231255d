"""How does a session leave an engine, and how does one come in? (PER)

Owns the guard around it: between two worker cycles, beside no transition, by a cache design that
can. What a session consists of is the design's.
"""

from __future__ import annotations

from collections.abc import Callable

from ninfer_lab.contract.cache_controller import CacheController
from ninfer_lab.contract.clock import Clock
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.session_snapshot import (
    RestoredSession,
    SessionError,
    SessionKeeper,
    SessionSnapshot,
)
from ninfer_lab.engine.admission_boundary import AdmissionBoundary
from ninfer_lab.engine.interrupts import deferred_interrupts
from ninfer_lab.engine.narration import Narrator


class EngineSessions:
    """`engine.sessions`.

    Args:
        require_usable: Raises if the engine is closed or broken.
    """

    def __init__(
        self,
        controller: CacheController,
        boundary: AdmissionBoundary,
        narrator: Narrator,
        clock: Clock,
        require_usable: Callable[[], None],
    ) -> None:
        self._controller = controller
        self._boundary = boundary
        self._narrator = narrator
        self._clock = clock
        self._require_usable = require_usable

    def save(self, session: str) -> SessionSnapshot:
        """A copy of what a session can be gone on with. Reads only.

        Args:
            session: Its key, as requests carry it.

        Raises:
            SessionError: Nothing whole is kept for it, a transition is under way, or this cache
                design keeps no sessions.
        """
        return self._keeper().save_session(SessionKey(session))

    def restore(self, saved: SessionSnapshot) -> RestoredSession:
        """Puts a saved session back, as an owner of nobody's: the next prompt that goes on from it
        finds it by its tokens.

        Raises:
            SessionError: It was computed by other weights or in another layout, its endpoint has
                no room, no lane or no place in the catalog is free, or as `save`. Nothing has
                changed.
        """
        keeper = self._keeper()
        with deferred_interrupts():
            restored = keeper.restore_session(saved)
            self._narrator.restored(saved.history, restored.state, self._clock.now_ns())
        return restored

    def _keeper(self) -> SessionKeeper:
        self._require_usable()
        if not isinstance(self._controller, SessionKeeper):
            raise SessionError(
                "engine's cache design",
                found=type(self._controller).__name__,
                legal="one that keeps sessions, as the catalog engine does",
            )
        if self._boundary.is_open:
            raise SessionError(
                "engine", found="a transition under way", legal="engine.step() until it has ended"
            )
        return self._controller
