"""What happens if one does it all the same?

Owns small experiments that notebooks show: each does something the rules forbid to a real Program,
or asks for what cannot be had, and says what came of it. Uses public calls only.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import polars as pl

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.device_timing import (
    DecodeTiming,
    DeviceTiming,
    PrefillTiming,
    SimulatedDevice,
    TransferTiming,
    TransferTimings,
)
from ninfer_lab.contract.errors import PlanRefused
from ninfer_lab.contract.explanation import Explanation
from ninfer_lab.contract.ids import LaneId, OwnerId, OwnerRef, RequestId
from ninfer_lab.contract.options import PAGE_TOKENS, CacheMode, EngineOptions
from ninfer_lab.contract.plan import ActivationIntent, ResourcePlan
from ninfer_lab.contract.prompt import (
    RAW_TOKENS,
    PreparedPrompt,
    PromptIdentity,
    PromptModality,
)
from ninfer_lab.contract.result import Committed, SequenceEnd
from ninfer_lab.contract.target import Assessment, StageName, TargetSketch
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.assembly import assemble_program

_TRANSFER = TransferTiming(batch_ns=0, operation_ns=1, ns_per_byte_q32=0)
_INSTANT = DeviceTiming(
    transfer=TransferTimings(d2h=_TRANSFER, h2d=_TRANSFER, d2d=_TRANSFER),
    prefill=PrefillTiming(chunk_ns=1, token_ns_q32=0, attention_pair_ns_q32=0),
    decode=DecodeTiming(step_ns=1, row_ns=0, kv_bytes_per_token=0, kv_ns_per_byte_q32=0),
)


def refused_plans() -> pl.DataFrame:
    """Runs a plan; then the same again, a copy of one, and one that the ledger has moved past.

    Returns:
        One row per attempt: what was tried, what happened, whether the ledger changed, what was
        said.
    """
    bench = _PlanBench()
    first = bench.sealed(LaneId(0))
    attempts = [("a sealed plan", bench.start(first)), ("the same plan again", bench.start(first))]
    forged = replace(bench.sealed(LaneId(1)))
    attempts.append(("an equal copy of a sealed plan", bench.start(forged)))
    stale = bench.sealed(LaneId(1))
    bench.finish_first()
    attempts.append(("a plan sealed before another request ended", bench.start(stale)))
    rows = [{"what was tried": tried, **happened} for tried, happened in attempts]
    return pl.DataFrame(rows)


def unfit_target() -> Explanation:
    """Asks for two pages beside a running request that has been promised two of three, and takes
    the answer apart.
    """
    bench = _PlanBench(kv_capacity_tokens=3 * PAGE_TOKENS, max_context_tokens=3 * PAGE_TOKENS)
    bench.start(bench.sealed(LaneId(0)))
    (explanation,) = bench.explained(LaneId(1), StageName.DESTINATIONS_RESERVED)
    return explanation


class _PlanBench:
    """A Program on a machine without tensors, two lanes, three slots."""

    def __init__(
        self, *, kv_capacity_tokens: int | None = None, max_context_tokens: int = 256
    ) -> None:
        options = EngineOptions(
            max_concurrency=2,
            device_state_slots=1,
            max_context_tokens=max_context_tokens,
            kv_capacity_tokens=kv_capacity_tokens,
        )
        device = SimulatedDevice(timing=_INSTANT, kv_page_bytes=1, state_image_bytes=1)
        self._program = assemble_program(options, device, self)
        self._ids = count(1)

    def token(self, request: RequestId, position_tokens: int) -> int:
        """Never asked: no forward runs here."""
        raise AssertionError(f"request {request} draws nothing at {position_tokens}")

    def sealed(self, lane: LaneId) -> ResourcePlan:
        """A plan for a new request from root."""
        assessment = self._assessed(lane)
        ordinal = assessment.target.candidate.request.publication_order
        owner = OwnerRef(id=OwnerId(ordinal), generation=1)
        intent = ActivationIntent(lane=lane, destination=owner, captures=())
        return self._program.seal(assessment, intent)

    def explained(self, lane: LaneId, stage: StageName) -> tuple[Explanation, ...]:
        """Why a new request from root does not fit at a stage."""
        explanations = self._program.explain(self._assessed(lane))
        return tuple(each for each in explanations if each.violation.stage is stage)

    def _assessed(self, lane: LaneId) -> Assessment:
        identity = PromptIdentity(modality=PromptModality.TEXT, template=RAW_TOKENS)
        ordinal = next(self._ids)
        request = AdmissionRequest(
            request=RequestId(ordinal),
            prompt=PreparedPrompt(tokens=TokenSpan(range(100)), identity=identity),
            max_output_tokens=20,
            mode=CacheMode.READ_WRITE,
            session_key=None,
            publication_order=ordinal,
            free_lanes=(lane,),
        )
        root = self._program.root_candidate(request)
        return self._program.assess(TargetSketch(candidate=root))

    def start(self, plan: ResourcePlan) -> dict[str, object]:
        """Tries it, and compares the ledger before and after."""
        before = self._program.snapshot()
        happened, said = "ran", ""
        try:
            result = self._program.advance(self._program.start(plan))
            assert isinstance(result, Committed), "from root nothing is copied"
            self._first = result.handle
        except PlanRefused as refusal:
            happened, said = "refused", str(refusal)
        changed = self._program.snapshot() != before
        return {"what happened": happened, "ledger changed": changed, "what was said": said}

    def finish_first(self) -> None:
        """The revision moves on."""
        self._program.finish(self._first, SequenceEnd.DISCARD)
