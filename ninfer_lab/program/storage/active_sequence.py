"""What does an active sequence hold, and what is its next forward?

Owns the record of one active sequence: exact history, address space, the slots it reads and writes,
the growth that is guaranteed to it and the optional checkpoints of its lineage (ACT-3). Decides
cuts; changes no pool.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ninfer_lab.contract.candidate import AdmissionCandidate
from ninfer_lab.contract.ids import OwnerRef, SequenceHandle, StateSlotId
from ninfer_lab.contract.options import pages_of_tokens
from ninfer_lab.contract.placement import CheckpointPlacement, SequencePlacement
from ninfer_lab.contract.plan import PlannedCapture
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import Cut
from ninfer_lab.program.storage.kv_store import AddressSpace


@dataclass(slots=True, kw_only=True)
class ActiveSequence:
    """Mutable; Program alone holds it.

    Attributes:
        destination: The owner it becomes when it settles; `None` if it may leave nothing behind
            (MODE-2).
        output: Accepted tokens, in order.
        frontier_tokens: Tokens the state in `state_read_slot` has consumed.
        state_read_slot: `None` before a root's first forward.
        pinned_read: The read slot is a Fork source, pinned until the first commit (STATE-3).
        reserved_pages: Growth not yet mapped.
        checkpoints: Ascending by frontier.
        cut: Given out and not yet settled.
    """

    handle: SequenceHandle
    candidate: AdmissionCandidate
    destination: OwnerRef | None
    space: AddressSpace
    state_read_slot: StateSlotId | None
    state_write_slot: StateSlotId
    pinned_read: bool
    reserved_pages: int
    captures: tuple[PlannedCapture, ...]
    checkpoints: tuple[CheckpointPlacement, ...]
    frontier_tokens: int
    output: list[int] = field(default_factory=list)
    cut: Cut | None = None

    @property
    def prompt(self) -> PreparedPrompt:
        return self.candidate.request.prompt

    @property
    def history_tokens(self) -> int:
        """Known tokens: the prompt and what was accepted after it."""
        return len(self.prompt.tokens) + len(self.output)

    @property
    def completion_pages(self) -> int:
        """Pages of the whole prompt and the longest output: what was promised (ACT-1)."""
        return pages_of_tokens(len(self.prompt.tokens) + self.candidate.request.max_output_tokens)

    def consumed(self, frontier_tokens: int) -> TokenSpan:
        """The exact tokens `[0, frontier_tokens)`."""
        prompt_tokens = len(self.prompt.tokens)
        if frontier_tokens <= prompt_tokens:
            return self.prompt.tokens[:frontier_tokens]
        return self.prompt.tokens + TokenSpan(self.output[: frontier_tokens - prompt_tokens])

    def execution_frontiers(self, frontier_tokens: int) -> tuple[int, ...]:
        """Where execution was cut on purpose, strictly below a frontier (IDN-3)."""
        return tuple(f for f in self.prompt.rewrite_execution_frontiers if f < frontier_tokens)

    def next_end_tokens(self, prefill_chunk_tokens: int) -> int:
        """The frontier after the next forward: one chunk, one token, or up to a frontier to cut
        at.
        """
        start, prompt_tokens = self.frontier_tokens, len(self.prompt.tokens)
        assert start < self.history_tokens, "every known token has been consumed"
        if start >= prompt_tokens:
            return start + 1
        stops = self.prompt.rewrite_execution_frontiers + tuple(
            c.frontier_tokens for c in self.captures
        )
        limits = (
            start + prefill_chunk_tokens,
            prompt_tokens,
            *(stop for stop in stops if stop > start),
        )
        return min(limits)

    def planned_capture(self) -> PlannedCapture | None:
        """The checkpoint wanted at the current frontier, if one is."""
        for capture in self.captures:
            if capture.frontier_tokens == self.frontier_tokens:
                return capture
        return None

    @property
    def placement(self) -> SequencePlacement:
        """What a picture shows."""
        return SequencePlacement(
            sequence=self.handle.id,
            lane=self.handle.lane,
            history_tokens=self.history_tokens,
            frontier_tokens=self.frontier_tokens,
            pages=self.space.pages,
            immutable_pages=self.space.immutable_pages,
            state_read_slot=self.state_read_slot,
            state_write_slot=self.state_write_slot,
            borrowed_read=self.pinned_read,
            reserved_pages=self.reserved_pages,
            completion_pages=self.completion_pages,
            checkpoints=self.checkpoints,
        )
