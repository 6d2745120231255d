"""What does the engine know of one request, from its prompt to its end?

Owns the running record of a request and the outcome that remains of it. Decides nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from ninfer_lab.contract.cache_controller import Admitted
from ninfer_lab.contract.candidate import AdmissionMoment, AdmissionRequest
from ninfer_lab.contract.events import RequestFinished
from ninfer_lab.contract.ids import LaneId, RequestId, SequenceHandle
from ninfer_lab.contract.options import CacheMode, RequestOptions
from ninfer_lab.contract.output import AcceptedText, FinishReason, OutputDelta
from ninfer_lab.contract.prompt import PreparedPrompt
from ninfer_lab.contract.result import SequenceEnd
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import Cut, Draw, ForwardRow
from ninfer_lab.frontend.accepted_output import AcceptedOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """What remains of a request that has ended.

    Attributes:
        output_tokens: Every accepted token, a final stop token included.
        answer: Text, parts and reconstruction boundary.
        log: The request log's record (RCD-3).
    """

    request: RequestId
    output_tokens: tuple[int, ...]
    answer: AcceptedText
    log: RequestFinished

    @property
    def text(self) -> str:
        """The answer without its reasoning."""
        return self.answer.content


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingEnd:
    """An end that has come and is still to be settled."""

    reason: FinishReason
    error: str | None


@dataclass(slots=True, kw_only=True)
class Request:
    """Mutable; the engine alone holds it.

    Attributes:
        admission: `None` while it waits.
        handle: Of the active sequence; unset while it waits.
        prompt_tokens: Length of the prompt.
        deltas: Text that nobody has taken yet.
        failed_admissions_count: Transitions that were given up because a copy failed.
        terminal_pending: How it ended, where it must wait for a transition before it settles
            (ACT-5); nothing of its guarantee has been returned.
    """

    id: RequestId
    prompt: PreparedPrompt
    options: RequestOptions
    max_output_tokens: int
    output: AcceptedOutput
    submitted_ns: int
    output_tokens: list[int] = field(default_factory=list)
    deltas: deque[OutputDelta] = field(default_factory=deque)
    admission: Admitted | None = None
    handle: SequenceHandle = field(init=False)
    prompt_tokens: int = field(init=False)
    admitted_ns: int | None = None
    first_token_ns: int | None = None
    frontier_tokens: int = 0
    failed_admissions_count: int = 0
    terminal_pending: PendingEnd | None = None
    outcome: RequestOutcome | None = None

    def __post_init__(self) -> None:
        self.prompt_tokens = len(self.prompt.tokens)

    def activate(self, admission: Admitted, at_ns: int) -> None:
        """The cache design has taken it in."""
        self.admission, self.admitted_ns = admission, at_ns
        self.handle = admission.handle
        self.frontier_tokens = admission.reuse_tokens

    def admission_request(
        self, free_lanes: tuple[LaneId, ...], moment: AdmissionMoment, *, tells_targets: bool
    ) -> AdmissionRequest:
        """What a cache design sees of it; ids grow with every submit, and so does the order."""
        return AdmissionRequest(
            request=self.id,
            prompt=self.prompt,
            max_output_tokens=self.max_output_tokens,
            mode=self.options.mode,
            session_key=self.options.session_key,
            publication_order=self.id,
            free_lanes=free_lanes,
            moment=moment,
            tells_targets=tells_targets,
            purpose=self.options.purpose,
        )

    def forward_row(self, cut: Cut) -> ForwardRow:
        """The tokens of a cut, and a draw if the cut ends with everything known."""
        start_tokens, end_tokens = cut.start_tokens, cut.end_tokens
        prompt_tokens = self.prompt_tokens
        token_ids: Sequence[int]
        if start_tokens < prompt_tokens:
            token_ids = self.prompt.tokens[start_tokens:end_tokens]
        else:
            token_ids = (self.output_tokens[start_tokens - prompt_tokens],)
        draw = None
        if end_tokens == prompt_tokens + len(self.output_tokens):
            draw = Draw(request=self.id, sampling=self.options.sampling, position_tokens=end_tokens)
        return ForwardRow(lane=self.handle.lane, token_ids=token_ids, cut=cut, draw=draw)

    def consumed(self) -> TokenSpan:
        """The exact tokens that the state has seen."""
        if self.consumed_output_tokens == 0:
            return self.prompt.tokens[: self.frontier_tokens]
        return self.prompt.tokens + TokenSpan(self.output_tokens[: self.consumed_output_tokens])

    def closed_answer(self, reason: FinishReason) -> AcceptedText:
        """The whole answer; what the text itself has not ended yet ends for this reason."""
        if self.output.finished is None:
            self.deltas.append(self.output.finish(reason))
        return self.output.close()

    @property
    def consumed_output_tokens(self) -> int:
        """Output tokens that the state has seen."""
        return max(0, self.frontier_tokens - self.prompt_tokens)

    def end_for(self, answer: AcceptedText) -> SequenceEnd:
        """What a regular end or a cancellation leaves behind.

        An endpoint holds the tokens its state has consumed; if a stop string cut below them there
        is no endpoint, and the checkpoints before the answer stay.
        """
        if self.options.mode is CacheMode.DISABLED:
            return SequenceEnd.DISCARD
        if self.frontier_tokens == 0 or not answer.allows_endpoint_at(self.consumed_output_tokens):
            return SequenceEnd.KEEP_CHECKPOINTS
        return SequenceEnd.PUBLISH
