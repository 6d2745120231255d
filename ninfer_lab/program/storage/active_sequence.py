"""What does an active sequence hold, and what is its next forward?

Owns the record of one active sequence: exact history, its address spaces with the growth that is
guaranteed in them, the images it reads and writes, and the optional checkpoints of its lineage
(ACT-3). Decides cuts; changes no pool.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.ids import OwnerRef, SequenceHandle, StateImageId
from ninfer_lab.contract.placement import SequencePlacement
from ninfer_lab.contract.plan import CaptureOffer
from ninfer_lab.contract.planned_capture import PlannedCapture
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.contract.result import CaptureResult
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import Cut
from ninfer_lab.program.storage.address_space import AddressSpace
from ninfer_lab.program.storage.checkpoint_record import CheckpointRecord
from ninfer_lab.program.storage.replica_layout import Holdings


@dataclass(slots=True, kw_only=True)
class ActiveSequence:
    """Mutable; Program alone holds it.

    Attributes:
        destination: The owner it becomes when it settles; `None` if it may leave nothing behind
            (MODE-2).
        prompt_tokens: Length of the prompt.
        output: Accepted tokens, in order.
        spaces: One per pool, Main first.
        frontier_tokens: Tokens the state in `read_image` has consumed.
        read_image: `None` before a root's first forward.
        pinned_read: The read image is a Fork source, kept for this sequence until its first commit
            (STATE-3): the pin is that the image stands among the sequence's own holdings.
        offers_tokens: Frontiers at which a shared prefix may be asked of it, ascending.
        checkpoints: Ascending by frontier.
        captured_at_start: What the admission itself captured where the sequence starts.
        cut: Given out and not yet settled.
        spelt: The history into the answer that was asked for last: what has been accepted stays.
    """

    handle: SequenceHandle
    candidate: AdmissionCandidate
    destination: OwnerRef | None
    spaces: tuple[AddressSpace, ...]
    read_image: StateImageId | None
    write_image: StateImageId
    pinned_read: bool
    captures: tuple[PlannedCapture, ...]
    offers_tokens: tuple[int, ...]
    checkpoints: tuple[CheckpointRecord, ...]
    frontier_tokens: int
    prompt_tokens: int = field(init=False)
    output: list[int] = field(default_factory=list)
    captured_at_start: CaptureResult | None = None
    cut: Cut | None = None
    spelt: TokenSpan | None = None

    def __post_init__(self) -> None:
        self.prompt_tokens = len(self.prompt.tokens)

    @property
    def prompt(self) -> PreparedPrompt:
        return self.candidate.request.prompt

    @property
    def history_tokens(self) -> int:
        """Known tokens: the prompt and what was accepted after it."""
        return self.prompt_tokens + len(self.output)

    @property
    def holdings(self) -> Holdings:
        """Everything that must stay for its sake: what it maps, reads, writes and has captured."""
        images, pages = 1 << self.write_image, self.spaces[0].mask
        if self.read_image is not None:
            images |= 1 << self.read_image
        backend_pages = self.spaces[1].mask if len(self.spaces) > 1 else 0
        for checkpoint in self.checkpoints:
            held = checkpoint.holdings
            images |= held.images
            pages |= held.pages
            backend_pages |= held.backend_pages
        return Holdings(images, pages, backend_pages)

    def consumed(self, frontier_tokens: int) -> TokenSpan:
        """The exact tokens `[0, frontier_tokens)`."""
        prompt_tokens = self.prompt_tokens
        if frontier_tokens <= prompt_tokens:
            return self.prompt.tokens[:frontier_tokens]
        if self.spelt is None or len(self.spelt) != frontier_tokens:
            answered = TokenSpan(self.output[: frontier_tokens - prompt_tokens])
            self.spelt = self.prompt.tokens + answered
        return self.spelt

    def execution_frontiers(self, frontier_tokens: int) -> tuple[int, ...]:
        """Where execution was cut on purpose, strictly below a frontier (IDN-3)."""
        return tuple(f for f in self.prompt.rewrite_execution_frontiers if f < frontier_tokens)

    def next_end_tokens(self, prefill_chunk_tokens: int) -> int:
        """The frontier after the next forward: one chunk, one token, or up to a frontier to cut
        at.
        """
        start, prompt_tokens = self.frontier_tokens, self.prompt_tokens
        assert start < self.history_tokens, "every known token has been consumed"
        if start >= prompt_tokens:
            return start + 1
        stops = (
            *self.prompt.rewrite_execution_frontiers,
            *(capture.frontier_tokens for capture in self.captures),
            *self.offers_tokens,
        )
        limits = (
            start + prefill_chunk_tokens,
            prompt_tokens,
            *(stop for stop in stops if stop > start),
        )
        return min(limits)

    def capture_offer(self) -> CaptureOffer | None:
        """What could be captured at the current frontier: what is planned there, unless the image
        is only borrowed, or the admission itself has captured it.
        """
        frontier = self.frontier_tokens
        if not self.captures or self.pinned_read:
            return None
        planned = next((c for c in self.captures if c.frontier_tokens == frontier), None)
        if planned is None:
            return None
        if any(c.summary.frontier_tokens == frontier for c in self.checkpoints):
            return None
        return CaptureOffer(
            planned=planned,
            is_at_start=frontier == self.candidate.reuse_tokens,
            lineage=tuple(checkpoint.summary for checkpoint in self.checkpoints),
            later=tuple(c for c in self.captures if c.frontier_tokens > frontier),
        )

    @property
    def placement(self) -> SequencePlacement:
        """What a picture shows."""
        return SequencePlacement(
            sequence=self.handle.id,
            lane=self.handle.lane,
            history_tokens=self.history_tokens,
            frontier_tokens=self.frontier_tokens,
            spaces=tuple(space.placement for space in self.spaces),
            read_image=self.read_image,
            write_image=self.write_image,
            borrowed_read=self.pinned_read,
            checkpoints=tuple(c.placement for c in self.checkpoints),
        )
