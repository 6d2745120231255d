"""What is reused of prefixes that come in strict turns, by shared slots and by rules? (EVD-4)

Owns the published study as something that can be run again: eight instructions, each with another
question every time, one request in flight, four rounds. Every run goes through engine, logical
policy and Program in virtual time, with pages, images and plans; what became of each chance to keep
a prefix is told with it. Draws nothing (`eight_prefixes_figures`).
Source: spec EVD-4; the workload and the published figures are the original engine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from types import MappingProxyType

from ninfer_lab.contract.clock import VirtualClock
from ninfer_lab.contract.device_timing import SimulatedDevice
from ninfer_lab.contract.events import CaptureTried, Event, SharedCaptureEnded
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import PAGE_TOKENS, EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.shared_prefix import Evidence, TokenMarker
from ninfer_lab.contract.shared_report import SharedCaptureTold
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.cost.decode_timing import RTX_5090_27B, decode_timing
from ninfer_lab.cost.machine_cost_model import MachineCostModel, timing_from_model
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import resolve_cost_model
from ninfer_lab.engine.assembly import SimulatedParts, assemble_simulated
from ninfer_lab.engine.engine import Engine
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab import worlds
from ninfer_lab.lab.story_client import StoryAnswers, stream_tokens
from ninfer_lab.lab.world import World
from ninfer_lab.models.qwen3_5.geometries import public_cache_geometry, public_signature
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, state_image_bytes

MODEL = "qwen3.5-35b-a3b"
RTX_3090 = "nvidia-geforce-rtx-3090-sm86"
VOCABULARY_TOKENS = 151_936
"""Of that model; any number would do, for nobody reads the tokens."""

SLOTS = (4, 7, 8, 16, 32)


class Rules(Enum):
    """Who may take a shared slot, and who must give one up."""

    BEFORE = "before"
    """A protocol's own marker takes a vacant slot; a full catalog stays full."""
    AFTER = "after"
    """The marker must be repeated first; a full catalog stays full."""
    TODAY = "today"
    """The marker must be repeated first, the least recently used entry is recycled, and lineages
    keep anchors.
    """

    def applied_to(self, options: EngineOptions) -> EngineOptions:
        """The same engine under these rules."""
        is_today = self is Rules.TODAY
        return replace(
            options,
            automatic_markers_take_surplus=self is Rules.BEFORE,
            recycles_shared_prefixes=is_today,
            automatic_private_anchors=None if is_today else 0,
            endpoint_anchors=is_today,
        )


PUBLISHED_PERCENT: Mapping[tuple[Rules, int], float] = MappingProxyType(
    {
        (Rules.BEFORE, 4): 8.4,
        (Rules.BEFORE, 8): 65.6,
        (Rules.BEFORE, 16): 32.8,
        (Rules.AFTER, 8): 98.3,
        (Rules.AFTER, 16): 98.3,
    }
)
"""As published; of the four slots it is not said under which rules, and one draw of lengths decides
it (`reuse_by_draw`).
"""

HISTORY = EngineOptions(
    max_concurrency=1,
    max_context_tokens=114_688,
    prefill_chunk_tokens=1_024,
    device_state_slots=1,
    host_state_slots=32,
    host_kv_capacity_bytes=8 * 2**30,
    max_private_continuations=8,
)
"""What the published engine ran with."""

UNPRESSED = replace(HISTORY, host_state_slots=128, max_private_continuations=64)
"""The same with a place for every continuation: no request has to send another's away, so that its
planner has little to weigh and a run takes a fraction of the time.
"""

ROOMY = replace(UNPRESSED, device_state_slots=96)
"""The same with every image on the Device: nothing but the catalog is short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """The requests of a run.

    Attributes:
        preambles_tokens: Length of each instruction; as many as there are.
        rounds_count: Each instruction comes once in a round.
        tail_tokens: What follows it, another each time; its last four open the answer.
        output_tokens: Of every answer.
        seed: Decides the tokens.
    """

    preambles_tokens: tuple[int, ...] = (1_430,) * 8
    rounds_count: int = 4
    tail_tokens: int = 25
    output_tokens: int = 16
    seed: int = 0

    OPENER_TOKENS = 4

    @classmethod
    def drawn(cls, seed: int, *, spread_tokens: int = 15, prefixes_count: int = 8) -> Turns:
        """Lengths within so many tokens of 1,430: no eight real instructions are equally long."""
        random = Random(f"eight prefixes {seed}")
        return cls(
            preambles_tokens=tuple(
                1_430 + random.randint(-spread_tokens, spread_tokens) for _ in range(prefixes_count)
            ),
            seed=seed,
        )

    def prompts(self) -> Iterator[tuple[int, int, TokenPrompt]]:
        """(round from 1, prefix from 0, prompt), in order.

        Each prompt tells where its instructions end; the protocol's own marker stands at the end of
        its last message, where no other request can match.
        """
        for each in range(1, self.rounds_count + 1):
            for prefix, preamble in enumerate(self.preambles_tokens):
                tokens = self._stream(f"preamble {prefix}", preamble)
                tokens += self._stream(f"tail {each} {prefix}", self.tail_tokens)
                markers = (
                    TokenMarker(frontier_tokens=preamble, evidence=Evidence.ENGINE_STRUCTURAL),
                    TokenMarker(
                        frontier_tokens=len(tokens) - self.OPENER_TOKENS,
                        evidence=Evidence.DEFAULT_AUTOMATIC,
                    ),
                )
                yield each, prefix, TokenPrompt(tokens=tokens, markers=markers)

    def answer(self, request: RequestId) -> TokenSpan:
        """What a request is answered."""
        return self._stream(f"answer {request}", self.output_tokens)

    def _stream(self, name: str, tokens: int) -> TokenSpan:
        return stream_tokens(f"{self.seed} {name}", tokens, VOCABULARY_TOKENS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request of a run.

    Attributes:
        round_ordinal: From 1.
        prefix_ordinal: From 0.
        chances: What became of every frontier at which a shared prefix was offered.
    """

    request: RequestId
    round_ordinal: int
    prefix_ordinal: int
    prompt_tokens: int
    hit_tokens: int
    ttft_ns: int
    chances: tuple[SharedCaptureTold, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsRun:
    """A run to its end."""

    turns: Turns
    rules: Rules
    slots_count: int
    requests: tuple[Turn, ...]

    @property
    def reuse_percent(self) -> float:
        """Prompt tokens that needed no forward, of all after the first round."""
        later = [turn for turn in self.requests if turn.round_ordinal > 1]
        prompt_tokens = sum(turn.prompt_tokens for turn in later)
        return 100 * sum(turn.hit_tokens for turn in later) / max(1, prompt_tokens)

    def hits_in_round(self, round_ordinal: int) -> int:
        """Requests of a round that began with a shared prefix."""
        row = (turn for turn in self.requests if turn.round_ordinal == round_ordinal)
        return sum(turn.hit_tokens > 0 for turn in row)

    def __str__(self) -> str:
        rounds = range(1, self.turns.rounds_count + 1)
        hits = ", ".join(str(self.hits_in_round(each)) for each in rounds)
        return (
            f"{self.slots_count} slots, {self.rules.value}: {self.reuse_percent:.1f} % of the"
            f" prompt tokens after the first round; hits by round {hits}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyMachine:
    """The machine of the study: truth, sizes, and a belief that is right about it."""

    device: SimulatedDevice
    belief: MachineCostModel

    @classmethod
    def published(cls) -> StudyMachine:
        """A mixture of 35B on one RTX 3090, with the presets measured there."""
        geometry, dtype = public_cache_geometry(MODEL), ModelDtype.BFLOAT16
        page_bytes = kv_page_bytes(geometry, dtype)
        belief = resolve_cost_model(
            hardware_class=RTX_3090,
            signature=public_signature(MODEL, dtype),
            shipped=shipped_presets(),
        )
        decode = decode_timing(RTX_5090_27B, kv_bytes_per_token=page_bytes // PAGE_TOKENS)
        device = SimulatedDevice(
            timing=timing_from_model(belief, decode),
            kv_page_bytes=page_bytes,
            state_image_bytes=state_image_bytes(geometry, dtype),
        )
        return cls(device=device, belief=belief)


def run_turns(
    slots_count: int,
    rules: Rules,
    *,
    turns: Turns | None = None,
    options: EngineOptions = HISTORY,
    machine: StudyMachine | None = None,
) -> TurnsRun:
    """One run on a fresh engine.

    Args:
        slots_count: Shared catalog slots.
        options: The rest of the engine's.
        machine: By default the published one.

    Raises:
        OptionsError: Options that cannot hold one request.
    """
    turns, machine = turns or Turns(), machine or StudyMachine.published()
    options = replace(rules.applied_to(options), max_shared_prefixes=slots_count)
    answers = StoryAnswers()
    parts = SimulatedParts(
        device=machine.device,
        belief=machine.belief,
        tokens=answers,
        vocabulary_tokens=VOCABULARY_TOKENS,
        frontend=Frontend(),
        clock=VirtualClock(),
    )
    with assemble_simulated(options, parts) as engine:
        requests = tuple(_told(engine, turns, answers))
    return TurnsRun(turns=turns, rules=rules, slots_count=slots_count, requests=requests)


def _told(engine: Engine, turns: Turns, answers: StoryAnswers) -> Iterator[Turn]:
    asks = RequestOptions(max_output_tokens=turns.output_tokens, stop_at_end_token=False)
    for round_ordinal, prefix_ordinal, prompt in turns.prompts():
        request = engine.submit(prompt, asks)
        answers.script(request, turns.answer(request))
        log = engine.run(request).log
        answers.forget(request)
        yield Turn(
            request=request,
            round_ordinal=round_ordinal,
            prefix_ordinal=prefix_ordinal,
            prompt_tokens=log.prompt_tokens,
            hit_tokens=log.prefix_cache_hit_tokens,
            ttft_ns=log.ttft_ns or 0,
            chances=tuple(chances_of(request, engine.events)),
        )


def chances_of(request: RequestId, events: Iterable[Event]) -> Iterator[SharedCaptureTold]:
    """Every chance of a request, each with its end."""
    for event in events:
        match event:
            case CaptureTried(request=asked, result=result) if asked == request:
                if result.shared is not None and result.shared.is_final:
                    yield result.shared
            case SharedCaptureEnded(request=asked, told=told) if asked == request:
                yield told
            case _:
                continue


# ── many runs ─────────────────────────────────────────────────────────────────────────────────────


def eight_prefixes(
    slots: Sequence[int] = SLOTS,
    rules: Sequence[Rules] = tuple(Rules),
    *,
    turns: Turns | None = None,
    options: EngineOptions = ROOMY,
) -> tuple[TurnsRun, ...]:
    """Every size under every set of rules."""
    machine = StudyMachine.published()
    return tuple(
        run_turns(count, each, turns=turns, options=options, machine=machine)
        for each in rules
        for count in slots
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One draw of lengths, and what came of it."""

    turns: Turns
    reuse_percent: float


def reuse_by_draw(
    draws_count: int, *, slots_count: int = 4, rules: Rules = Rules.BEFORE, spread_tokens: int = 15
) -> tuple[Draw, ...]:
    """The same study over drawn lengths: where fewer slots than instructions are there, the few
    tokens by which one is longer than another decide who is kept.
    """
    machine = StudyMachine.published()
    draws = []
    for seed in range(draws_count):
        turns = Turns.drawn(seed, spread_tokens=spread_tokens)
        run = run_turns(slots_count, rules, turns=turns, options=ROOMY, machine=machine)
        draws.append(Draw(turns=turns, reuse_percent=run.reuse_percent))
    return tuple(draws)


def hits_of_draw(draw: Draw) -> int:
    """Requests after the first round that began with a shared prefix, to the nearest: lengths
    differ too little to blur them.
    """
    later_count = len(draw.turns.preambles_tokens) * (draw.turns.rounds_count - 1)
    whole_percent = 100 * 1_430 / 1_455 / later_count
    return round(draw.reuse_percent / whole_percent)


def sharing_nothing(name: str) -> World:
    """A shipped world whose engine keeps no shared prefix: for answers to compare with.

    Raises:
        StoryError: No world of that name.
    """
    world = worlds.named(name)
    options = replace(world.story.options, max_shared_prefixes=0)
    return replace(world, story=replace(world.story, options=options))
