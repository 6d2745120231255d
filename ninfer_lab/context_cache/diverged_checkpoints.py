"""Which checkpoints has a session left behind for good? (VAL-4, opt-in `release_diverged`)

Owns what the newest prompt of each session says of the owners that the session was bound to: where
that prompt has other tokens below a frontier, whatever the session sends next has them too, so the
checkpoint there can never match again and is worth nothing. Nothing is released for it: such a
checkpoint merely carries no loss when somebody needs its room.
Program compares; that a session's prompts continue its newest one is an assumption about clients,
so it is a choice, and a prompt that goes back takes it back. Does not know placements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ninfer_lab.context_cache.catalog import PrivateOwner
from ninfer_lab.contract.candidate import AdmissionRequest, NotReusable, SourceDisposition
from ninfer_lab.contract.ids import CheckpointRef, OwnerId, SessionKey
from ninfer_lab.contract.program_api import ProgramApi

NONE: frozenset[CheckpointRef] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """What the prompt of a publication order says of one owner."""

    session: SessionKey
    publication_order: int
    checkpoints: frozenset[CheckpointRef]


class DivergedCheckpoints:
    """Of one ResourceManager.

    Args:
        program: Compares prompts with histories, token for token.
        is_chosen: Whether the engine wants to know; otherwise nothing ever counts as left.
    """

    def __init__(self, program: ProgramApi, *, is_chosen: bool) -> None:
        self._program = program
        self._is_chosen = is_chosen
        self._left: dict[OwnerId, _Left] = {}

    def hear(
        self, request: AdmissionRequest, bound: OwnerId | None, owners: Sequence[PrivateOwner]
    ) -> None:
        """A session's prompt has come; it says anew which of the session's checkpoints are left.

        Args:
            bound: What the session is bound to now.
            owners: Catalogued: `bound` and those that it was bound to before among them.
        """
        session, order = request.session_key, request.publication_order
        if not self._is_chosen or session is None:
            return
        for owner in owners:
            known = self._left.get(owner.id)
            is_own = owner.id == bound or (known is not None and known.session == session)
            if not is_own or (known is not None and known.publication_order > order):
                continue
            self._left[owner.id] = _Left(
                session=session,
                publication_order=order,
                checkpoints=diverged_checkpoints(self._program, request, owner),
            )

    def of(self, owner: OwnerId) -> frozenset[CheckpointRef]:
        """What has been left of an owner's checkpoints."""
        known = self._left.get(owner)
        return NONE if known is None else known.checkpoints

    def forget(self, owner: OwnerId) -> None:
        """The owner is gone."""
        self._left.pop(owner, None)


def diverged_checkpoints(
    program: ProgramApi, request: AdmissionRequest, owner: PrivateOwner
) -> frozenset[CheckpointRef]:
    """Checkpoints of an owner below whose frontier a prompt has other tokens. Reads only.

    A prompt that merely ends earlier has left nothing: the next one may go on as the history did.
    Nor does another template or another cut of the prefill prove anything of the tokens.
    """
    retain = SourceDisposition.RETAIN
    return frozenset(
        each.ref
        for each in owner.checkpoints
        if program.verify(request, each.ref, retain) is NotReusable.TOKENS_DIFFER
    )
