"""An engine over the machine that knows contents, small enough to know every id by heart.

Prompts are token runs; a prompt that needs boundaries is prepared by hand and served by a frontend
that looks it up. Tokens of a world with text are code points, so that stop strings can be met.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeVar

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.device_timing import (
    DecodeTiming,
    DeviceTiming,
    PrefillTiming,
    TransferTiming,
    TransferTimings,
)
from ninfer_lab.contract.events import Event, RequestAdmitted, RequestFinished
from ninfer_lab.contract.ids import RequestId, SessionKey
from ninfer_lab.contract.options import (
    CacheMode,
    EngineOptions,
    KvPageBytes,
    RequestOptions,
)
from ninfer_lab.contract.output import OutputRules
from ninfer_lab.contract.prompt import (
    RAW_TOKENS,
    AnchorOrigin,
    AnchorProposal,
    PreparedPrompt,
    PromptIdentity,
    PromptInput,
    PromptLimits,
    PromptModality,
    RewriteBoundary,
    RewriteKind,
    TemplateDigest,
    TokenPrompt,
)
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.contract.shared_prefix import Evidence, SharedCandidate
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.cost.machine_cost_model import MachineCostModel, model_from_timing
from ninfer_lab.engine.assembly import ControllerFactory, catalog_design
from ninfer_lab.engine.engine import Engine
from ninfer_lab.engine.request import RequestOutcome
from ninfer_lab.frontend.accepted_output import AcceptedOutput
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.laws import Law
from simulation.content_machine import FORWARD_NS, VOCABULARY_TOKENS, ContentMachine
from simulation.watched_controller import Watch, WatchedController

MAIN_PAGE_BYTES, BACKEND_PAGE_BYTES, STATE_IMAGE_BYTES = 400, 100, 1_000
"""Small, and not all the same."""

STEPS_LIMIT = 3_000
"""No world here needs more steps; one that does is not getting anywhere (INV-15)."""

_Event = TypeVar("_Event", bound=Event)

_COPY = TransferTiming(batch_ns=0, operation_ns=1_000, ns_per_byte_q32=0)
_TOKEN_NS_Q32 = 1_000_000 << 32

BELIEF = model_from_timing(
    DeviceTiming(
        transfer=TransferTimings(d2h=_COPY, h2d=_COPY, d2d=_COPY),
        prefill=PrefillTiming(
            chunk_ns=FORWARD_NS, token_ns_q32=_TOKEN_NS_Q32, attention_pair_ns_q32=0
        ),
        decode=DecodeTiming(
            step_ns=FORWARD_NS, row_ns=0, kv_bytes_per_token=0, kv_ns_per_byte_q32=0
        ),
    )
)
"""Tokens are dear and copies are cheap, as they are where a cache is worth having: what a decision
prefers can be told without a calculation.
"""


def prepared(
    tokens: Iterable[int],
    *,
    closure: int | None = None,
    replay: int | None = None,
    cuts: Sequence[int] = (),
    anchors: Sequence[int] = (),
    template: str = RAW_TOKENS,
    shared: Mapping[int, Evidence] = MappingProxyType({}),
) -> PreparedPrompt:
    """A prompt with its boundaries, by hand.

    Args:
        shared: Evidence for a shared prefix, by frontier.
        closure: Frontier of the turn closure.
        replay: Frontier of the response replay.
        cuts: Further frontiers at which any prefill must be cut.
        anchors: Frontiers proposed as private anchors, ascending.
        template: Identity beside the tokens.
    """
    rewrites = {RewriteKind.TURN_CLOSURE: closure, RewriteKind.RESPONSE_REPLAY: replay}
    boundaries = sorted((at, kind) for kind, at in rewrites.items() if at is not None)
    return PreparedPrompt(
        tokens=TokenSpan(tokens),
        identity=PromptIdentity(modality=PromptModality.TEXT, template=TemplateDigest(template)),
        rewrite_boundaries=tuple(
            RewriteBoundary(kind=kind, frontier_tokens=at) for at, kind in boundaries
        ),
        rewrite_execution_frontiers=tuple(sorted({*cuts, *(at for at, _ in boundaries)})),
        private_anchors=tuple(
            AnchorProposal(frontier_tokens=at, origin=AnchorOrigin.MESSAGE_BOUNDARY)
            for at in anchors
        ),
        shared_candidates=tuple(
            SharedCandidate(frontier_tokens=at, evidence=shared[at]) for at in sorted(shared)
        ),
    )


class CodePoints:
    """Every token is a character, whole at once."""

    is_whole = True

    def push(self, token_id: int) -> str:
        return chr(token_id)

    def flush(self) -> str:
        return ""


class HandMadeFrontend(Frontend):
    """Serves prompts prepared by hand; every other token prompt as the real frontend does."""

    def __init__(self, *, with_text: bool) -> None:
        super().__init__()
        self.by_tokens: dict[TokenSpan, PreparedPrompt] = {}
        self._with_text = with_text

    def prepare(self, prompt: PromptInput, limits: PromptLimits) -> PreparedPrompt:
        plain = super().prepare(prompt, limits)
        return self.by_tokens.get(plain.tokens, plain)

    def open_output(
        self, prompt: PromptInput, prepared: PreparedPrompt, rules: OutputRules
    ) -> AcceptedOutput:
        if not self._with_text:
            return super().open_output(prompt, prepared, rules)
        return AcceptedOutput(
            rules,
            token_text=CodePoints(),
            opens_in=prepared.opens_in,
            reconstruct=lambda tokens, _: self._reconstruct(prompt, prepared, tokens, ""),
        )


@dataclass(slots=True, kw_only=True)
class EngineWorld:
    """The parts of one engine, with the shortest ways to drive it."""

    engine: Engine
    machine: ContentMachine
    controller: WatchedController
    frontend: HandMadeFrontend

    def submit(
        self,
        prompt: PreparedPrompt | Iterable[int],
        *,
        output: int = 1,
        session: str | None = None,
        mode: CacheMode = CacheMode.READ_WRITE,
        stop: tuple[str, ...] = (),
        purpose: RequestPurpose = RequestPurpose.CONVERSATION,
    ) -> RequestId:
        """Queues a prompt of tokens, or one prepared by hand."""
        if isinstance(prompt, PreparedPrompt):
            self.frontend.by_tokens[prompt.tokens] = prompt
            tokens = prompt.tokens
        else:
            tokens = TokenSpan(prompt)
            self.frontend.by_tokens.pop(tokens, None)
        options = RequestOptions(
            max_output_tokens=output,
            session_key=None if session is None else SessionKey(session),
            mode=mode,
            stop_strings=stop,
            purpose=purpose,
        )
        return self.engine.submit(TokenPrompt(tokens=tokens), options)

    def finish(self, request: RequestId) -> RequestOutcome:
        """Steps until the request has ended."""
        seen = self.engine.events
        for _ in range(STEPS_LIMIT):
            if any(isinstance(e, RequestFinished) and e.request == request for e in seen):
                return self.engine.outcome(request)
            seen = self.engine.step().events
        raise AssertionError(f"request {request} does not end: {self.engine!r}")

    def settle(self) -> None:
        """Steps until nothing waits and nothing runs."""
        for _ in range(STEPS_LIMIT):
            if self.engine.is_idle:
                return
            self.engine.step()
        raise AssertionError(f"not idle after {STEPS_LIMIT} steps: {self.engine!r}")

    def admission_of(self, request: RequestId) -> RequestAdmitted:
        """How a request was admitted."""
        return next(e for e in self.events(RequestAdmitted) if e.request == request)

    def admission_count(self, request: RequestId) -> int:
        """0, or 1 once it has been admitted."""
        return sum(e.request == request for e in self.events(RequestAdmitted))

    def events(self, kind: type[_Event]) -> list[_Event]:
        """Everything of one kind that has happened."""
        return [event for event in self.engine.events if isinstance(event, kind)]

    @property
    def snapshot(self) -> ControllerSnapshot:
        return self.engine.describe()


def engine_world(
    options: EngineOptions | None = None,
    *,
    design: ControllerFactory = catalog_design,
    with_text: bool = False,
    lease_window_tokens: int | None = None,
    endpoint_gain_tokens: int | None = None,
    watch: Watch = Watch.EVERY_CALL,
    without: frozenset[type[Law]] = frozenset(),
    belief: MachineCostModel = BELIEF,
) -> EngineWorld:
    """An engine that a watcher holds to every law.

    Args:
        options: By default one lane, one extra slot, four pages, and chunks of 128 tokens.
        design: The cache design under watch.
        with_text: Whether tokens are code points.
        lease_window_tokens: Instead of the thousands that no world here has room for; counts only
            with `kv_lease_growth`.
        endpoint_gain_tokens: Likewise, for an endpoint to become an anchor.
        watch: When it looks.
        without: Laws that the design does not hold to.
        belief: What the design holds work to take.
    """
    options = options or EngineOptions(max_context_tokens=256, prefill_chunk_tokens=128)
    backend = None if options.backend is None else BACKEND_PAGE_BYTES
    page_bytes = KvPageBytes(main=MAIN_PAGE_BYTES, backend=backend)
    resolved = options.resolve(page_bytes, state_image_bytes=STATE_IMAGE_BYTES)
    if options.kv_lease_growth and lease_window_tokens is not None:
        resolved = replace(resolved, lease_window_tokens=lease_window_tokens)
    if endpoint_gain_tokens is not None:
        anchors = replace(resolved.anchors, endpoint_gain_tokens=endpoint_gain_tokens)
        resolved = replace(resolved, anchors=anchors)
    clock = VirtualClock()
    machine = ContentMachine(resolved.capacity, clock, options.backend)
    controller = WatchedController(
        design(resolved, machine, belief), machine, resolved, watch, without
    )
    frontend = HandMadeFrontend(with_text=with_text)
    engine = Engine(
        options=resolved,
        frontend=frontend,
        controller=controller,
        machine=machine,
        clock=clock,
        vocabulary_tokens=VOCABULARY_TOKENS,
    )
    return EngineWorld(engine=engine, machine=machine, controller=controller, frontend=frontend)
