"""Which small worlds are there, and how is one run?

Owns the settings in which stories play, the world of every shipped story, and `run`, which tells
one story to the simulated machine or to real tensors. Planners here are right about their machine;
who studies the opposite replaces a world's `truth`.
Does not know how a story is told (`story_client`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from ninfer_lab.contract.clock import Clock, MonotonicClock, VirtualClock
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.options import PAGE_TOKENS
from ninfer_lab.contract.recording_options import DECISIONS_ONLY, RecordingOptions
from ninfer_lab.contract.token_source import TokenSource
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.cost.decode_timing import RTX_5090_27B, decode_timing
from ninfer_lab.cost.machine_cost_model import timing_from_model
from ninfer_lab.cost.preset_file import shipped_presets
from ninfer_lab.cost.presets import GENERIC, resolve_cost_model
from ninfer_lab.engine.assembly import (
    ControllerFactory,
    SimulatedParts,
    TorchParts,
    assemble_simulated,
    catalog_design,
)
from ninfer_lab.engine.engine import Engine
from ninfer_lab.frontend.chat_template import ChatTemplate
from ninfer_lab.frontend.checkpoint_folder import TemplateText, read_checkpoint_text
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.frontend.tokenizer import Tokenizer
from ninfer_lab.lab import stories
from ninfer_lab.lab.meddling import NO_MEDDLING, Meddling
from ninfer_lab.lab.serving import open_engine, tiny_checkpoint
from ninfer_lab.lab.story import Story
from ninfer_lab.lab.story_client import SpellAnswer, StoryAnswers, StoryClient
from ninfer_lab.lab.world import Machine, Run, World
from ninfer_lab.models.qwen3_5.config import ModelGeometry, read_geometry
from ninfer_lab.models.qwen3_5.geometries import QWEN3_5_27B
from ninfer_lab.models.qwen3_5.measurement import kv_page_bytes, prefill_signature

__all__ = ["Machine", "Run", "World", "named", "names", "run"]

RTX_5090 = "nvidia-geforce-rtx-5090-sm120"


def names() -> tuple[str, ...]:
    """Names of the worlds that ship with the project."""
    return stories.names()


def named(name: Path | str) -> World:
    """A shipped world by name, or the world of a story file by its path.

    Raises:
        StoryError: No such story, or one that cannot be read.
        OptionsError: It plays in a setting that nobody knows.
    """
    story = stories.read(name)
    setting = _SETTINGS.get(story.setting)
    if setting is None:
        raise OptionsError("setting", found=story.setting, legal=" or ".join(_SETTINGS))
    return setting(Path(name).stem, story)


def run(
    world: World | str,
    machine: Machine = Machine.SIMULATED,
    *,
    tokens: TokenSource | None = None,
    design: ControllerFactory = catalog_design,
    recording: RecordingOptions = DECISIONS_ONLY,
    torch_parts: TorchParts | None = None,
    meddling: Meddling = NO_MEDDLING,
) -> Run:
    """Tells the world's story to a fresh engine, whatever it runs on.

    Args:
        tokens: On the simulated machine: what is drawn instead of the scripted answers.
        design: The cache design.
        meddling: What else is done meanwhile; its faults happen on the simulated machine alone.
        torch_parts: On real tensors: device, kernels, numerics; what the world or another argument
            says is taken from there.

    Raises:
        StoryError: A request that is refused, or has no answer in a world without a model.
        OptionsError: Real tensors of a world without a checkpoint; a name of no world.
    """
    world = named(world) if isinstance(world, str) else world
    words = _Words.of(world)
    answers = StoryAnswers() if machine is Machine.SIMULATED and tokens is None else None
    clock: Clock = MonotonicClock() if machine is Machine.TORCH_WALL_TIME else VirtualClock()
    if isinstance(clock, VirtualClock) and machine is Machine.SIMULATED:
        source = tokens if answers is None else answers
        assert source is not None
        parts = SimulatedParts(
            device=world.device,
            tokens=source,
            vocabulary_tokens=world.geometry.vocab_size,
            frontend=words.frontend,
            design=design,
            belief=world.belief,
            clock=clock,
            recording=recording,
            failing_forwards=meddling.failing_forwards,
            failing_transfers=meddling.failing_transfers,
        )
        engine = assemble_simulated(world.story.options, parts)
    else:
        parts_there = replace(torch_parts or TorchParts(), design=design, recording=recording)
        engine = _torch_engine(world, clock, parts_there, words)
    with engine:
        client = StoryClient(
            world.story,
            engine,
            clock,
            name=f"{world.name}{stories.SUFFIX}",
            vocabulary_tokens=world.geometry.vocab_size,
            answers=answers,
            spell=words.spell,
        )
        start_ns = clock.now_ns()
        told = client.tell(meddling)
        return Run(
            world=world,
            machine=machine,
            design=design,
            recorded=recording,
            told=told,
            events=engine.events,
            lost_events_count=engine.lost_events_count,
            snapshot=engine.describe(),
            start_ns=start_ns,
            end_ns=clock.now_ns(),
        )


def _torch_engine(world: World, clock: Clock, parts: TorchParts, words: _Words) -> Engine:
    if world.checkpoint is None:
        legal = f"{Machine.SIMULATED.value}, for nobody has its weights here"
        raise OptionsError("machine", found=f"real tensors of {world.name}", legal=legal)
    if world.chat_template is not None:
        parts = replace(parts, frontend=words.frontend)
    charged = world.device if isinstance(clock, VirtualClock) else None
    parts = replace(parts, dtype=world.dtype, clock=clock, charged=charged, belief=world.belief)
    return open_engine(world.checkpoint, world.story.options, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """What a checkpoint knows of text."""

    frontend: Frontend
    spell: SpellAnswer | None

    @classmethod
    def of(cls, world: World) -> _Words:
        if world.checkpoint is None:
            return cls(frontend=Frontend(), spell=None)
        text = read_checkpoint_text(world.checkpoint)
        if world.chat_template is not None:
            plain = (world.checkpoint / world.chat_template).read_text(encoding="utf-8")
            shipped = TemplateText(source=world.chat_template, plain=plain, with_tools=None)
            text = replace(text, template=shipped)
        tokenizer = Tokenizer.from_checkpoint(text)
        frontend = Frontend(tokenizer=tokenizer, template=ChatTemplate.from_checkpoint(text))
        end = TokenSpan(tokenizer.stop_token_ids[:1])
        return cls(frontend=frontend, spell=lambda said: tokenizer.encode_tokens(said) + end)


# ── where stories play ──────────────────────────────────────────────────────────────────────────


def _tiny(name: str, story: Story) -> World:
    """The small trained model; what it does takes as long as it would take a model of 27B."""
    checkpoint = tiny_checkpoint()
    geometry = read_geometry(checkpoint)
    return _world(name, story, geometry, GENERIC, checkpoint)


def _tiny_thinking(name: str, story: Story) -> World:
    """The same, thinking before it answers; the next turn takes earlier thoughts out again."""
    return replace(_tiny(name, story), chat_template="chat_template_strip_thinking.jinja")


def _dense_27b(name: str, story: Story) -> World:
    """The released dense model in 16-bit KV, on one RTX 5090."""
    return _world(name, story, QWEN3_5_27B, RTX_5090, None)


_SETTINGS: Mapping[str, Callable[[str, Story], World]] = MappingProxyType(
    {"tiny": _tiny, "tiny-thinking": _tiny_thinking, "27b": _dense_27b}
)


def _world(
    name: str, story: Story, geometry: ModelGeometry, hardware: str, checkpoint: Path | None
) -> World:
    """A world whose planner is right about its machine."""
    dtype = geometry.stored_dtype
    belief = resolve_cost_model(
        hardware_class=hardware,
        signature=prefill_signature(geometry, dtype),
        shipped=shipped_presets(),
    )
    token_bytes = kv_page_bytes(geometry, dtype) // PAGE_TOKENS
    decode = decode_timing(RTX_5090_27B, kv_bytes_per_token=token_bytes)
    return World(
        name=name,
        story=story,
        geometry=geometry,
        dtype=dtype,
        belief=belief,
        truth=timing_from_model(belief, decode),
        checkpoint=checkpoint,
    )
