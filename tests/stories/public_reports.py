"""Stories after public reports of the original engine, with other options where a test needs them,
and what a run says of each request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.events import RequestAdmitted
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.search_report import TargetVerdict
from ninfer_lab.lab import worlds
from ninfer_lab.lab.story import Story
from ninfer_lab.lab.world import Run, World

ROOT, ENDPOINT = ReusePath.ROOT, ReusePath.PRIVATE_ENDPOINT
ANCHOR, CLOSURE = ReusePath.PRIVATE_LONG_ANCHOR, ReusePath.PRIVATE_TURN_CLOSURE


def report(name: str, **options: Any) -> World:
    """The world of a report's story, by the name of its file.

    Args:
        options: Of the engine, instead of the story's.
    """
    world = worlds.named(f"reports/{name}")
    return with_story(world, replace(world.story, options=replace(world.story.options, **options)))


def with_story(world: World, story: Story) -> World:
    return replace(world, story=story)


def admissions(run: Run) -> list[RequestAdmitted]:
    """Of every request, in their order; each has been admitted once and has ended by itself."""
    ends = {each.outcome.log.finish_reason for each in run.told}
    assert ends <= {FinishReason.LENGTH, FinishReason.STOP}
    admitted = [event for event in run.events if isinstance(event, RequestAdmitted)]
    assert [each.request for each in admitted] == sorted(each.request for each in run.told)
    return admitted


def starts(run: Run) -> list[tuple[ReusePath, int]]:
    """(path, reused tokens) of every request."""
    return [(each.path, each.reuse_tokens) for each in admissions(run)]


def winners(run: Run) -> Sequence[TargetVerdict]:
    """What was carried out for every request."""
    found = [each.report.winner for each in admissions(run)]
    return [each for each in found if each is not None]


def offered_tokens(run: Run) -> list[int]:
    """The deepest reuse that any target of a request had."""
    return [each.report.best_offered_tokens for each in admissions(run)]
