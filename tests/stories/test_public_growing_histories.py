"""Public reports about histories that only grow: what is reused grows with them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.shared_report import SharedOutcome
from ninfer_lab.lab import stories, worlds
from ninfer_lab.lab.eight_prefixes_study import chances_of
from ninfer_lab.lab.story import Ask, TokenTurn
from ninfer_lab.lab.world import Machine, Run, World
from stories.public_reports import ANCHOR, CLOSURE, ROOT, report, starts, with_story

SHARED = ReusePath.SHARED_STABLE_PREFIX


def outcomes(run: Run) -> list[SharedOutcome]:
    """Of every frontier that was marked, in order."""
    requests = sorted(each.request for each in run.told)
    return [told.outcome for request in requests for told in chances_of(request, run.events)]


def test_report_7_the_newest_beginning_is_kept_where_demand_rolls_on() -> None:  # spec: VAL-3
    """By default 57,995 tokens stay for good, for a longer beginning would have to take the place
    of one that three requests have wanted.
    """
    by_default = worlds.run(report("07-rolling-frontier"))
    met = [25_858, 40_994, 49_261, 49_261, 49_261, 57_995]
    stays = [(ROOT, 0), *((SHARED, tokens) for tokens in (*met, 57_995, 57_995))]
    assert starts(by_default) == stays
    published, nothing = SharedOutcome.PUBLISHED, SharedOutcome.NO_GAIN
    assert outcomes(by_default) == [published] * 4 + [nothing] * 3
    rolling = worlds.run(report("07-rolling-frontier", rolling_retention=True))
    goes_on = [(ROOT, 0), *((SHARED, tokens) for tokens in (*met, 62_535, 65_773))]
    assert starts(rolling) == goes_on
    assert outcomes(rolling) == [published] * 7


def unanchored(world: World) -> World:
    """The same prompts, none of which asks for its own end."""
    story = world.story
    steps = []
    for step in story.steps:
        assert isinstance(step, Ask)
        assert isinstance(step.turn, TokenTurn)
        assert step.turn.anchors_prompt_end
        steps.append(replace(step, turn=replace(step.turn, anchors_prompt_end=False)))
    return with_story(world, replace(story, steps=tuple(steps)))


def test_report_20_each_request_leaves_an_anchor_at_its_end() -> None:  # spec: ANC-2
    """Wrong is what the report complains of, and what is left without the anchor: the 12,529 tokens
    of the instructions, from first to last.
    """
    world = report("20-tool-chain")
    run = worlds.run(world)
    prompts = [each.outcome.log.prompt_tokens for each in run.told]
    assert (prompts[0], len(prompts)) == (12_700, 15)
    assert all(185 <= b - a <= 195 for a, b in pairwise(prompts))
    assert starts(run) == [(ROOT, 0), *((ANCHOR, tokens - 1) for tokens in prompts[:-1])]
    assert starts(worlds.run(unanchored(world))) == [(ROOT, 0), *[(SHARED, 12_529)] * 14]


OPENER_TOKENS = 2
"""What the shipped template opens an answer with."""

TOOLS = """
story Does a chain of tool calls go on from where it was?
setting tiny

options
  max_context_tokens: 512
  kv_capacity_tokens: 8192
  device_state_slots: 8

chat chain
  system: You are a helpful assistant.
  user: Which rooms are free?
  answer: Look into the first.
"""

STEP = """
chat chain
  drop: 1 messages
  assistant: Look into room {step}, please.
  tool: Room {step} is not free.
  answer: Look into the next.
"""


def test_report_20_in_messages_the_closure_goes_along() -> None:  # spec: OWN-5
    """The client writes every call otherwise than the model did, so that no endpoint is met. Wrong
    is a closure that stays where the user spoke.
    """
    story = stories.parse(TOOLS + "".join(STEP.format(step=step) for step in "ABCDEF"))
    world = replace(worlds.named("tiny-side-request"), name="tools", story=story)
    for machine in (Machine.SIMULATED, Machine.TORCH):
        run = worlds.run(world, machine)
        prompts = [each.outcome.log.prompt_tokens for each in run.told]
        ends = [tokens - OPENER_TOKENS for tokens in prompts]
        assert starts(run) == [(ROOT, 0), *((CLOSURE, end) for end in ends[:-1])]
