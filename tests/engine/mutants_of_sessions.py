"""Wrong versions of a session's way out of an engine and into another."""

from __future__ import annotations

from dataclasses import replace

from engine import test_engine_sessions as sessions
from ninfer_lab.context_cache.saved_sessions import SavedSessions
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.engine.engine_sessions import EngineSessions
from ninfer_lab.program import session_desk
from ninfer_lab.program.program import Program
from ninfer_lab.program.storage.ledger import Ledger
from ninfer_lab.program.transactions import restored_session, saved_session
from program.mutant import Mutant, Wrong, constant, instead


def _whole_pages(right: Wrong) -> Wrong:
    return lambda *arguments: dict.fromkeys(right(*arguments), 64)


def _swapping_images(right: Wrong) -> Wrong:
    def saved(*arguments: Wrong) -> Wrong:
        session = right(*arguments)
        return replace(session, images=session.images[::-1])

    return saved


def _free_or_promised(self: Ledger, pool: Wrong) -> int:
    return self.kv[pool].device_places.free_count


def _taking_all_the_same(right: Wrong) -> Wrong:
    def room(session: Wrong, ledger: Ledger) -> Wrong:
        found = right(session, ledger)
        ledger.states.device_places.take(1)
        return found

    return room


def _bound(right: Wrong) -> Wrong:
    def adopt(self: SavedSessions, state: Wrong) -> None:
        right(self, state)
        self._sessions.bind(SessionKey("a"), state.ref.id, 1_000)

    return adopt


def _still(self: Program) -> int:
    return self._resource_revision


MUTANTS_OF_SESSIONS = (
    Mutant(
        rule="PER-2",
        what="a tail that carries what is not the session's",
        where=saved_session,
        name="_committed_cells",
        make=_whole_pages,
        killer=sessions.test_images_and_pages_stand_once_and_end_at_the_frontier,
    ),
    Mutant(
        rule="PER-2",
        what="an image that is another checkpoint's",
        where=session_desk,
        name="saved",
        make=_swapping_images,
        killer=sessions.test_a_session_goes_on_in_another_engine,
        arguments=(False,),
    ),
    Mutant(
        rule="PER-3",
        what="pages that were promised to a running request",
        where=Ledger,
        name="free_pages",
        make=instead(_free_or_promised),
        killer=sessions.test_pages_that_are_guaranteed_to_another_are_not_free,
        arguments=(5, None),
    ),
    Mutant(
        rule="PER-3",
        what="a place too many",
        where=session_desk,
        name="fitting_room",
        make=_taking_all_the_same,
        killer=sessions.test_what_is_optional_is_dropped_for_want_of_a_slot,
    ),
    Mutant(
        rule="PER-3",
        what="a machine that nobody asks who it is",
        where=session_desk,
        name="require_fitting",
        make=constant(None),
        killer=sessions.test_another_machines_bytes_are_refused,
    ),
    Mutant(
        rule="PER-3",
        what="an owner that belongs to somebody",
        where=SavedSessions,
        name="adopt",
        make=_bound,
        killer=sessions.test_it_is_nobodys_and_is_found_by_its_tokens,
    ),
    Mutant(
        rule="PER-3",
        what="places that stay taken when the device gives up",
        where=restored_session,
        name="_given_back_on_failure",
        make=lambda right: lambda room, ledger: right(replace(room, pages={}), ledger),
        killer=sessions.test_a_device_that_gives_up_leaves_nothing_taken,
        arguments=(3,),
    ),
    Mutant(
        rule="PER-1",
        what="a publication that moves no revision",
        where=Program,
        name="_moved",
        make=instead(_still),
        killer=sessions.test_a_restored_session_is_told_once_and_moves_the_revision,
    ),
    Mutant(
        rule="PER-1",
        what="a session beside a transition",
        where=Program,
        name="_require_no_transition",
        make=constant(None),
        killer=sessions.test_beside_a_transition_nothing_comes_in_or_leaves,
    ),
    Mutant(
        rule="PER-1",
        what="a caller who is not told why",
        where=EngineSessions,
        name="_keeper",
        make=instead(lambda self: self._controller),
        killer=sessions.test_beside_a_transition_nothing_comes_in_or_leaves,
    ),
)
