"""What is a continuation outside the engine?

Owns `SessionSnapshot`, everything that one needs to be put back: exact identity, the directory of
its checkpoints, and every StateImage and page once, as bytes (PER-2). Does not know files
(`lab.session_files`), nor where anything lay.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

from ninfer_lab.contract.capacity import KvPool
from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.prompt import PromptIdentity
from ninfer_lab.contract.result import OwnerState
from ninfer_lab.contract.token_span import TokenSpan


class SessionError(NinferLabError):
    """A session that cannot be saved or restored; nothing has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedCheckpoint:
    """One entry of the directory.

    Attributes:
        kind: Why it is kept.
        frontier_tokens: Tokens its state has consumed.
        prefix_digest: Of exactly those tokens.
        image: Ordinal of its StateImage.
        pages: Ordinals of its Main pages, in the order of their tokens.
        backend_pages: The same of the backend pool.
    """

    kind: CheckpointKind
    frontier_tokens: int
    prefix_digest: bytes
    image: int
    pages: tuple[int, ...]
    backend_pages: tuple[int, ...] = ()

    def pages_of(self, pool: KvPool) -> tuple[int, ...]:
        """Ordinals of its pages in one pool."""
        return self.pages if pool is KvPool.MAIN else self.backend_pages


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SessionSnapshot:
    """One continuation.

    Attributes:
        signature: What the bytes mean (`ContentsApi.contents_signature`).
        history: Every token up to its deepest checkpoint.
        execution_frontiers_tokens: Where its prefill was cut because a rebuild must be (IDN-3).
        checkpoints: Ascending by frontier; the last is the endpoint.
        images: Every StateImage that a checkpoint names, once.
        pages: Every Main page, once, up to the frontier that was committed.
        backend_pages: The same of the backend pool.

    Raises:
        SessionError: The parts contradict each other.
    """

    signature: str
    identity: PromptIdentity
    history: TokenSpan
    execution_frontiers_tokens: tuple[int, ...]
    checkpoints: tuple[SavedCheckpoint, ...]
    images: tuple[bytes, ...]
    pages: tuple[bytes, ...]
    backend_pages: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        kinds = tuple(each.kind for each in self.checkpoints)
        if kinds[-1:] != (CheckpointKind.SESSION_ENDPOINT,):
            raise SessionError(
                "session.checkpoints",
                found=", ".join(kind.value for kind in kinds) or "none",
                legal="the endpoint at the end (PER-3)",
            )
        self._require_frontiers()
        named = (
            ("images", self.images, [(c.image,) for c in self.checkpoints]),
            ("pages", self.pages, [c.pages for c in self.checkpoints]),
            ("backend_pages", self.backend_pages, [c.backend_pages for c in self.checkpoints]),
        )
        for what, contents, ordinals in named:
            if {each for some in ordinals for each in some} != set(range(len(contents))):
                raise SessionError(
                    f"session.{what}",
                    found=f"{len(contents)} contents, and checkpoints that name others",
                    legal="each named by a checkpoint, and each that is named",
                )

    def _require_frontiers(self) -> None:
        frontiers_tokens = [each.frontier_tokens for each in self.checkpoints]
        ascending = all(low < high for low, high in pairwise((0, *frontiers_tokens)))
        if not ascending or frontiers_tokens[-1] != len(self.history):
            raise SessionError(
                "session.checkpoints",
                found=f"frontiers {frontiers_tokens} over {len(self.history)} tokens",
                legal="ascending from 1, and the endpoint after the last token",
            )
        digests = self.history.prefix_digests(frontiers_tokens)
        if digests != tuple(each.prefix_digest for each in self.checkpoints):
            raise SessionError(
                "session.history",
                found="tokens that its checkpoints are not named for",
                legal="the very tokens that the states have consumed",
            )
        cuts_tokens = self.execution_frontiers_tokens
        if not all(low < high for low, high in pairwise((0, *cuts_tokens, len(self.history)))):
            raise SessionError(
                "session.execution_frontiers_tokens",
                found=cuts_tokens,
                legal=f"ascending, inside the {len(self.history)} tokens",
            )

    def contents_of(self, pool: KvPool) -> tuple[bytes, ...]:
        """The pages of one pool."""
        return self.pages if pool is KvPool.MAIN else self.backend_pages

    @property
    def content_bytes(self) -> int:
        """Size of all images and pages."""
        return sum(map(len, (*self.images, *self.pages, *self.backend_pages)))

    def __str__(self) -> str:
        kept = ", ".join(f"{c.kind.value}@{c.frontier_tokens}" for c in self.checkpoints)
        return (
            f"session of {len(self.history)} tokens: {kept}; {len(self.images)} images and"
            f" {len(self.pages) + len(self.backend_pages)} pages, {self.content_bytes:,} bytes"
        )

    __repr__ = __str__


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredSession:
    """What a snapshot has become in an engine.

    Attributes:
        state: The anonymous owner; whoever's prompt it is a prefix of may reuse it.
        dropped: Optional checkpoints that had no room, by frontier.
        on_host: Checkpoints whose StateImage went to the Host, by frontier.
        resource_revision: Afterwards.
    """

    state: OwnerState
    dropped: tuple[SavedCheckpoint, ...]
    on_host: tuple[SavedCheckpoint, ...]
    resource_revision: int

    def __str__(self) -> str:
        return (
            f"{self.state}; dropped {len(self.dropped)} for want of room,"
            f" {len(self.on_host)} with their state on the Host"
        )


@runtime_checkable
class SessionKeeper(Protocol):
    """A cache design that can give a session away and take one in."""

    def save_session(self, session: SessionKey) -> SessionSnapshot:
        """A copy of what a session is bound to. Reads only.

        Raises:
            SessionError: Nothing that could be gone on with is bound to it, or a transition is
                open.
        """
        ...

    def restore_session(self, saved: SessionSnapshot) -> RestoredSession:
        """Publishes a saved continuation as an owner of no session (PER-3).

        Raises:
            SessionError: Another machine's, no room for its endpoint, no free place in the
                catalog, no free lane, or a transition is open; nothing has changed.
        """
        ...
