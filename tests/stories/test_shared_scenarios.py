"""Law: what has been reported of shared prefixes in public does not come back: each scenario is
told as a story, by its number in the log of public reports, and what is reused is exact.
"""

from __future__ import annotations

from dataclasses import replace

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.lab import stories, worlds
from ninfer_lab.lab.world import Machine, Run, World

ROOT, SHARED = ReusePath.ROOT, ReusePath.SHARED_STABLE_PREFIX


def told(text: str, **options: int | bool) -> Run:
    """A story, run in virtual time."""
    story = stories.parse(text)
    story = replace(story, options=replace(story.options, **options))  # type: ignore[arg-type]
    setting = worlds.named("27b-agent")
    return worlds.run(replace(setting, name="a story", story=story))


def hits(run: Run) -> list[int]:
    """Prompt tokens of each request that needed no forward, in the order of submission."""
    ordered = sorted(run.told, key=lambda each: each.request)
    return [each.outcome.log.prefix_cache_hit_tokens for each in ordered]


def paths(run: Run) -> list[ReusePath | None]:
    ordered = sorted(run.told, key=lambda each: each.request)
    return [each.outcome.log.prefix_reuse_path for each in ordered]


HEADS = """
story Does a catalog that has filled still take newcomers in?
setting 27b

options
  max_context_tokens: 4096
  kv_capacity_tokens: 65536
  device_state_slots: 16
  max_private_continuations: 16
  max_shared_prefixes: 2

repeat 1 rounds over head-1..head-5
  tokens
    prompt: {item}[2630] line-1-{item}[30]
    answer: a-{item}[4]
    marks: structure@2630
  tokens
    prompt: {item}[2630] line-2-{item}[30]
    answer: b-{item}[4]
    marks: structure@2630
"""


def test_no_1_and_3_a_full_catalog_goes_on_rotating() -> None:  # spec: EVD-2
    assert hits(told(HEADS)) == [0, 2630] * 5
    frozen = told(HEADS, recycles_shared_prefixes=False)
    assert hits(frozen) == [0, 2630] * 2 + [0, 0] * 3
    # A larger catalog alone only puts it off.
    larger = told(HEADS, recycles_shared_prefixes=False, max_shared_prefixes=4)
    assert hits(larger) == [0, 2630] * 4 + [0, 0]


SEVEN = """
story Has every one of seven heads its place by default?
setting 27b

options
  max_context_tokens: 4096
  device_state_slots: 16
  max_private_continuations: 16

repeat 2 rounds over head-1..head-7
  tokens
    prompt: {item}[200] line-{round}-{item}[30]
    answer: a-{round}-{item}[4]
    marks: structure@200
"""


def test_no_2_the_default_holds_what_one_request_can_prepare() -> None:  # spec: SHR-5
    assert hits(told(SEVEN)) == [0] * 7 + [200] * 7
    assert hits(told(SEVEN, max_shared_prefixes=4)) == [0] * 14


SIBLING_SESSIONS = """
story Does a second session start from the first one's instructions?
setting 27b

options
  max_context_tokens: 32768
  device_state_slots: 4

tokens first
  prompt: instructions[16000] task-1[200]
  answer: plan-1[20]
  marks: structure@16000

tokens second
  prompt: instructions[16000] task-2[200]
  answer: plan-2[20]
  marks: structure@16000
"""


def test_no_16_siblings_share_their_instructions_without_a_marker() -> None:  # spec: EVD-5
    run = told(SIBLING_SESSIONS)
    assert paths(run) == [ROOT, SHARED]
    assert hits(run) == [0, 16000]


TEN = """
story Is structure seen where a protocol marks the end of every prompt?
setting 27b

options
  max_context_tokens: 2048
  kv_capacity_tokens: 65536
  device_state_slots: 16
  max_private_continuations: 16

repeat 10 rounds
  tokens
    prompt: system[1529] question-{round}[25]
    answer: a-{round}[4]
    marks: structure@1529 automatic@1550
"""


def test_no_17_a_marker_at_the_end_does_not_hide_the_structure() -> None:  # spec: SHR-3, EVD-5
    assert hits(told(TEN)) == [0] + [1529] * 9
    # The old engine gave vacant slots to markers: four are gone before structure may press.
    old = {"automatic_markers_take_surplus": True, "recycles_shared_prefixes": False}
    assert hits(told(TEN, max_shared_prefixes=4, **old)) == [0] * 5 + [1529] * 5
    # A protocol that switches the engine's own candidates off, and marks only ends, shares nothing.
    assert hits(told(TEN.replace("automatic@1550", "automatic@1550 no-engine"))) == [0] * 10


def test_no_18_eight_prefixes_in_turns() -> None:  # spec: EVD-4
    assert hits(worlds.run("eight-prefixes-small")) == [0] * 8 + [143] * 24


LINEAGES = """
story Do several lineages fit beside each other?
setting 27b

options
  max_context_tokens: 4096
  device_state_slots: 16
  max_private_continuations: 2

repeat 3 rounds over line-1..line-4
  tokens
    prompt: {item}[500] step-{round}-{item}[20]
    answer: a-{round}-{item}[4]
    marks: structure@500
"""


def test_no_21_more_lineages_need_a_larger_catalog_and_no_more() -> None:  # spec: SHR-5
    assert hits(told(LINEAGES, max_shared_prefixes=1)) == [0] * 12
    assert hits(told(LINEAGES, max_shared_prefixes=4)) == [0] * 4 + [500] * 8


def test_no_24_siblings_of_a_long_head_fork_it() -> None:  # spec: OWN-2, SHR-6
    run = worlds.run("27b-siblings")
    assert hits(run) == [0] + [57000] * 5
    assert paths(run) == [ROOT] + [SHARED] * 5


CHATS = """
story Do several questions share one instruction?
setting tiny

options
  max_context_tokens: 256
  kv_capacity_tokens: 8192
  device_state_slots: 24
  max_private_continuations: 16

repeat 1 rounds over red blue green
  chat
    system: The lamp is {item}. The door is open.
    user: What colour is the lamp?
  chat
    system: The lamp is {item}. The door is open.
    user: Is the door open?
  chat
    system: The lamp is {item}. The door is open.
    user: What colour is the lamp?
"""


def on_tensors(**options: int) -> Run:
    story = stories.parse(CHATS)
    story = replace(story, options=replace(story.options, **options))  # type: ignore[arg-type]
    world: World = replace(worlds.named("tiny-side-request"), name="chats", story=story)
    return worlds.run(world, Machine.TORCH)


def test_the_real_model_says_the_same_from_a_shared_prefix() -> None:  # spec: IDN-6, OWN-2
    shared = on_tensors(automatic_private_anchors=0)
    alone = on_tensors(automatic_private_anchors=0, max_shared_prefixes=0)

    def said(run: Run) -> list[str]:
        return [t.outcome.text for t in sorted(run.told, key=lambda each: each.request)]

    assert said(shared) == said(alone)
    assert len(set(said(shared))) > 1
    assert [hit > 0 for hit in hits(shared)] == [False, True, True] * 3
    assert paths(shared)[1] is SHARED
    assert sum(hits(alone)) < sum(hits(shared))
