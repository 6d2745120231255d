"""Law: on Triton's kernels the engine makes the same decisions at the same times and says the same
tokens as on the readable ones; only what attention gathers differs, for Triton's gathers nothing.
"""

# spec: KV-6

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ninfer_kernels.kernel_set import KernelSet, reference_kernels, triton_kernels
from ninfer_lab.contract.events import CaptureTried, Event, ForwardRan, RequestAdmitted
from ninfer_lab.engine.assembly import TorchParts
from ninfer_lab.lab import worlds
from ninfer_lab.lab.worlds import Machine, Run

FOUR_LANES = Path(__file__).parent / "stories" / "tiny-four-lanes.story"
STORIES = ["tiny-side-request", "tiny-two-sessions", str(FOUR_LANES)]


def told_on(story: str, kernels: KernelSet, device: torch.device) -> Run:
    parts = TorchParts(kernels=kernels, device=device.type)
    return worlds.run(worlds.named(story), Machine.TORCH, torch_parts=parts)


def without_gathers(events: tuple[Event, ...]) -> list[Event]:
    return [
        event._replace(gathered_bytes=0) if isinstance(event, ForwardRan) else event
        for event in events
    ]


def gathered_bytes(run: Run) -> int:
    return sum(event.gathered_bytes for event in run.events if isinstance(event, ForwardRan))


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES)
def test_a_story_goes_the_same_way_on_both_kernel_sets(story: str, device: torch.device) -> None:
    readable = told_on(story, reference_kernels(), torch.device("cpu"))
    found = told_on(story, triton_kernels(), device)
    assert [each.outcome.output_tokens for each in found.told] == [
        each.outcome.output_tokens for each in readable.told
    ]
    assert without_gathers(tuple(found.events)) == without_gathers(tuple(readable.events))
    assert found.snapshot == readable.snapshot
    assert gathered_bytes(readable) > 0
    assert gathered_bytes(found) == 0


def test_the_stories_meet_batches_reuse_and_copies() -> None:
    met: set[str] = set()
    for story in STORIES:
        for event in worlds.run(worlds.named(story)).events:
            match event:
                case ForwardRan():
                    met.add(f"{event.phase.value} of {len(event.rows)}")
                case RequestAdmitted():
                    met.add(event.path.value)
                    met |= {"copying"} if event.cow_pages else set()
                case CaptureTried():
                    met.add(event.result.outcome.value)
                case _:
                    pass
    assert {"prefill of 1", "decode of 1", "decode of 4", "private_endpoint", "copying"} <= met
