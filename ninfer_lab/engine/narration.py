"""How is each moment of a request said as an event?

Owns the translation from running records to immutable events, so that the step loop reads as a
journey. Pure: reads records, changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ninfer_lab.contract.cache_controller import Admitted, TemporarilyBlocked
from ninfer_lab.contract.capacity import Occupancy
from ninfer_lab.contract.events import (
    CaptureTried,
    ForwardRan,
    OwnerPublished,
    RequestAdmitted,
    RequestBlocked,
    RequestFinished,
    RequestSubmitted,
    RowRan,
)
from ninfer_lab.contract.output import AcceptedText
from ninfer_lab.contract.result import CaptureResult, OwnerState
from ninfer_lab.contract.seen_prefix import SeenPrefix
from ninfer_lab.contract.work import ForwardResult, ForwardStep
from ninfer_lab.engine.request import Request


def submitted(request: Request) -> RequestSubmitted:
    """A prompt joined the queue."""
    return RequestSubmitted(
        at_ns=request.submitted_ns,
        request=request.id,
        prompt_tokens=len(request.prompt.tokens),
        max_output_tokens=request.max_output_tokens,
        mode=request.options.mode,
        session_key=request.options.session_key,
        rewrite_boundaries=request.prompt.rewrite_boundaries,
    )


def blocked(request: Request, answer: TemporarilyBlocked, at_ns: int) -> RequestBlocked:
    """The head stays where it is."""
    return RequestBlocked(
        at_ns=at_ns,
        request=request.id,
        revision=answer.revision,
        reason=answer.reason,
        report=answer.report,
    )


def admitted(
    request: Request, admission: Admitted, seen: SeenPrefix, at_ns: int
) -> RequestAdmitted:
    """A request became active."""
    return RequestAdmitted(
        at_ns=at_ns,
        request=request.id,
        lane=admission.handle.lane,
        path=admission.path,
        state=admission.state,
        reuse_tokens=admission.reuse_tokens,
        cow_pages=admission.cow_pages,
        evicted=admission.evicted,
        report=admission.report,
        seen=seen,
    )


def capture_tried(request: Request, result: CaptureResult, at_ns: int) -> CaptureTried:
    """A frontier was reached where a checkpoint was wanted."""
    return CaptureTried(at_ns=at_ns, request=request.id, result=result)


def forward_ran(
    step: ForwardStep,
    requests: Sequence[Request],
    result: ForwardResult,
    occupancy: Occupancy,
    at_ns: int,
) -> ForwardRan:
    """The machine ran one forward."""
    return ForwardRan(
        at_ns=at_ns,
        phase=step.phase,
        rows=tuple(
            [
                RowRan(
                    request=request.id,
                    lane=row.lane,
                    start_tokens=row.cut.start_tokens,
                    end_tokens=row.cut.end_tokens,
                    state_access=row.cut.state_access,
                    drawn_token=token,
                )
                for request, row, token in zip(
                    requests, step.rows, result.drawn_tokens, strict=True
                )
            ]
        ),
        machine_ns=result.elapsed_ns,
        gathered_bytes=result.gathered_bytes,
        occupancy=occupancy,
    )


def published(request: Request, owner: OwnerState, at_ns: int) -> OwnerPublished:
    """A request left an inactive owner behind."""
    return OwnerPublished(
        at_ns=at_ns, request=request.id, owner=owner.ref.id, checkpoints=owner.checkpoints
    )


def finished(
    request: Request, answer: AcceptedText, occupancy: Occupancy, error: str | None, at_ns: int
) -> RequestFinished:
    """The request log's record of a whole request (RCD-3)."""
    prompt_tokens = len(request.prompt.tokens)
    admission = request.admission
    reused_tokens = 0 if admission is None else admission.reuse_tokens
    return RequestFinished(
        at_ns=at_ns,
        request=request.id,
        finish_reason=answer.finished,
        prompt_tokens=prompt_tokens,
        completion_tokens=len(request.output_tokens),
        prefix_cache_hit_tokens=reused_tokens,
        computed_prefill_tokens=max(0, min(request.frontier_tokens, prompt_tokens) - reused_tokens),
        prefix_reuse_path=None if admission is None else admission.path,
        queue_wait_ns=_since_submit(request, request.admitted_ns),
        ttft_ns=_since_submit(request, request.first_token_ns),
        total_ns=at_ns - request.submitted_ns,
        reconstruction_boundary_tokens=answer.reconstruction_boundary_tokens,
        occupancy=occupancy,
        error=error,
    )


def _since_submit(request: Request, moment_ns: int | None) -> int | None:
    return None if moment_ns is None else moment_ns - request.submitted_ns
