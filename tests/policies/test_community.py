"""Law: each model of another engine does with the published requests what was published of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from ninfer_lab.contract.candidate import AdmissionRequest
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.options import EngineOptions
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.lab.peer_predictions import (
    LlamaSettings,
    PeerRequest,
    VllmSettings,
    cached_tokens,
    llama_cached_tokens,
    vllm_cached_tokens,
)
from ninfer_lab.policies.community.marconi import marconi
from ninfer_lab.policies.community.sglang_radix import sglang_radix
from ninfer_lab.policies.community.snapshot_tree import snapshot_tree
from ninfer_lab.policies.community.tensorrt_priority import (
    NO_SNAPSHOTS,
    SnapshotPlan,
    TokenRange,
    tensorrt_priority,
)
from ninfer_lab.policies.community.vllm_aligned import vllm_aligned
from policies.tree_world import reused, tree_world
from simulation.content_machine import answer_to
from simulation.engine_world import prepared

ROOMY = EngineOptions(
    max_context_tokens=6_144,
    kv_capacity_tokens=65_536,
    prefill_chunk_tokens=2_048,
    device_state_slots=30,
    host_state_slots=0,
    host_kv_capacity_bytes=0,
)


def stream(name: str, tokens: int) -> list[int]:
    random = Random(name)
    return [random.randrange(1, 1_000) for _ in range(tokens)]


def asked(prompts: Sequence[Sequence[int]]) -> list[PeerRequest]:
    return [PeerRequest(prompt=prompt, answer=(0,) * 8) for prompt in prompts]


def branches() -> list[PeerRequest]:
    """The same again, three branches at 2,000, and 200 tokens more."""
    first = stream("first", 4_096)
    forks = [first[:2_000] + stream(f"fork {each}", 2_096) for each in range(3)]
    return asked([first, first, *forks, first + stream("more", 200)])


def side_requests() -> list[PeerRequest]:
    """A conversation, a title by a prompt of its own between its turns, and one behind it all."""
    found: list[PeerRequest] = []
    history: list[int] = []

    def ask(new: int, answer: int, *, behind: list[int]) -> list[int]:
        prompt = [*behind, *stream(f"said {len(found)}", new)]
        found.append(PeerRequest(prompt=prompt, answer=(0,) * answer))
        return [*prompt, *found[-1].answer]

    history = ask(1_000, 30, behind=history)
    history = ask(40, 30, behind=history)
    ask(42, 10, behind=[])
    history = ask(40, 30, behind=history)
    ask(31, 10, behind=history)
    for new in (40, 400, 40):
        history = ask(new, 30, behind=history)
    return found


def cyclic(conversations: int, tokens: int) -> list[PeerRequest]:
    return asked([stream(f"chat {each}", tokens) for each in range(conversations)] * 2)


# ── vLLM ────────────────────────────────────────────────────────────────────────────────────────


def test_vllm_finds_the_last_block_end_and_a_branch_the_second_time() -> None:
    settings = VllmSettings(block_tokens=384, blocks_count=600, chunk_tokens=8_192)
    assert vllm_cached_tokens(settings, branches()) == (0, 3_840, 0, 1_920, 1_920, 3_840)


def test_vllm_under_pressure_holds_blocks_twice_and_keeps_the_state_at_the_branch() -> None:
    """As measured of vLLM 0.32 on a CPU with 24 blocks."""
    settings = VllmSettings(block_tokens=384, blocks_count=24, chunk_tokens=8_192)
    assert vllm_cached_tokens(settings, branches()) == (0, 3_840, 0, 1_920, 1_920, 1_920)


@pytest.mark.parametrize(("blocks_count", "again_tokens"), [(60, 0), (90, 1_152)])
def test_vllm_in_turns_over_its_capacity_finds_nothing(
    blocks_count: int, again_tokens: int
) -> None:
    settings = VllmSettings(block_tokens=384, blocks_count=blocks_count, chunk_tokens=8_192)
    found = vllm_cached_tokens(settings, cyclic(12, 1_500))
    assert found == (0,) * 12 + (again_tokens,) * 12


def test_what_was_measured_of_a_conversation_with_titles() -> None:  # spec: PEER-2
    """Of vLLM 0.32 on a CPU and of a llama.cpp server (b11549), the same stream of tokens."""
    vllm = VllmSettings(block_tokens=384, blocks_count=2_730, chunk_tokens=8_192)
    assert vllm_cached_tokens(vllm, side_requests()) == (0, 768, 0, 768, 768, 1_152, 1_152, 1_536)
    llama = LlamaSettings(context_tokens=4_608)
    found = llama_cached_tokens(llama, side_requests())
    assert found == (0, 1_029, 0, 1_099, 1_169, 1_169, 1_239, 1_669)
    without_pool = llama_cached_tokens(replace(llama, ram_bytes=0), side_requests())
    assert without_pool == (0, 1_029, 0, 0, 1_169, 1_169, 1_239, 1_669)
    two_slots = llama_cached_tokens(replace(llama, ram_bytes=0, slots_count=2), side_requests())
    assert two_slots == found


def test_vllm_never_finds_a_prefix_shorter_than_a_block() -> None:
    settings = VllmSettings(block_tokens=384, blocks_count=60, chunk_tokens=8_192)
    assert vllm_cached_tokens(settings, asked([stream("short", 384)] * 3)) == (0, 0, 0)
    assert vllm_cached_tokens(settings, asked([stream("short", 385)] * 2)) == (0, 384)


def test_vllm_keeps_pages_that_are_worth_nothing_without_a_state() -> None:  # spec: PEER-1
    """A hundred tokens in front of a prompt shift every block; behind a shorter beginning all keys
    and values are there, and the state is not.
    """
    world = tree_world(vllm_aligned(64), context_pages=8)
    first = stream("first", 400)
    assert reused(world, first, output=70) == 0
    assert reused(world, [*stream("shift", 50), *first]) == 0
    assert reused(world, [*first[:300], 7]) == 0
    pages = {page.device_page for page in world.snapshot.ledger.pages}
    below = {
        page
        for owner in world.snapshot.ledger.owners
        for c in owner.checkpoints
        for page in c.pages
    }
    assert len(pages) > len(below)


def test_vllm_has_no_use_for_a_state_whose_pages_went() -> None:  # spec: PEER-1
    """Until they are computed again: then it is a hit once more, for it was never given up."""
    world = tree_world(vllm_aligned(64), pages=10, extra_slots=8)
    first = stream("first", 200)
    assert reused(world, first) == 0
    assert reused(world, stream("other", 500)) == 0
    ledger = world.snapshot.ledger
    assert len(ledger.owners) == 1
    assert ledger.occupancy.device_state.allocated_count == 2, "the first one's state is there"
    assert [reused(world, first) for _ in range(2)] == [0, 192]


@pytest.mark.parametrize("block_tokens", [16, 100])
def test_blocks_are_whole_pages(block_tokens: int) -> None:
    with pytest.raises(OptionsError, match="a multiple of 64"):
        vllm_aligned(block_tokens)


# ── SGLang ──────────────────────────────────────────────────────────────────────────────────────


def test_sglang_finds_what_a_chunk_or_an_answer_ended_with() -> None:
    """The same prompt is one token too short for its own state (issue 21158), and a branch never
    leaves one behind.
    """
    found = cached_tokens(sglang_radix, ROOMY, branches())
    assert found == (0, 2_048, 0, 0, 0, 4_096)
    talk = stream("talk", 500)
    answered = [*talk, *(0,) * 8]
    assert cached_tokens(sglang_radix, ROOMY, asked([talk, [*answered, 5, 6]])) == (0, 507)


@pytest.mark.parametrize(("slots", "branch_tokens"), [(30, 1_536), (3, 0)])
def test_sglang_with_more_chunks_than_slots_keeps_the_deepest(
    slots: int, branch_tokens: int
) -> None:
    """Shallow states go first, and with them what any branch could have used (issue 36935)."""
    options = replace(ROOMY, prefill_chunk_tokens=512, device_state_slots=slots)
    first, _, branch, *_ = branches()
    assert cached_tokens(sglang_radix, options, [first, branch]) == (0, branch_tokens)


def test_sglang_evicts_an_inner_state_alone_and_a_leaf_as_a_whole() -> None:
    world = tree_world(sglang_radix, pages=40, extra_slots=3, context_pages=8, chunk_tokens=512)
    first, other = stream("first", 200), stream("other", 200)
    assert reused(world, first) == 0
    assert reused(world, [*first, *stream("more", 100)]) == 200
    held = world.snapshot.ledger.occupancy.device_kv.allocated_count
    assert reused(world, other) == 0
    assert reused(world, stream("third", 64)) == 0
    owners = world.snapshot.ledger.owners
    assert len(owners) == 3, "as many as there are slots beside the lane's"
    assert world.snapshot.ledger.occupancy.device_kv.allocated_count < held + 4 + 2


# ── TensorRT-LLM ────────────────────────────────────────────────────────────────────────────────


def test_tensorrt_reuses_nothing_without_a_plan_of_snapshots() -> None:
    plain = tensorrt_priority(NO_SNAPSHOTS)
    assert cached_tokens(plain, ROOMY, branches()) == (0,) * 6


def test_tensorrt_finds_what_was_planned() -> None:
    assert cached_tokens(tensorrt_priority(), ROOMY, branches()) == (
        (0, 4_032, 0, 1_984, 1_984, 4_032)
    )
    every = tensorrt_priority(SnapshotPlan(interval_tokens=512, at_branches=False))
    assert cached_tokens(every, ROOMY, branches()) == (0, 4_032, 1_536, 1_536, 1_536, 4_032)


def by_purpose(request: AdmissionRequest) -> tuple[TokenRange, ...]:
    is_side = request.purpose is RequestPurpose.SIDE_REQUEST
    return (TokenRange(priority=0 if is_side else 80),)


@pytest.mark.parametrize(("retention", "kept_tokens"), [(by_purpose, 256), (lambda _: (), 0)])
def test_tensorrt_low_priorities_go_first(retention: object, kept_tokens: int) -> None:
    """A conversation of high priority outlives side requests; at one priority it is the oldest."""
    assert callable(retention)
    world = tree_world(tensorrt_priority(retention=retention), pages=12, extra_slots=8)
    talk = stream("talk", 300)
    assert reused(world, talk) == 0
    for each in range(4):
        side = world.submit(stream(f"side {each}", 200), purpose=RequestPurpose.SIDE_REQUEST)
        world.finish(side)
    assert reused(world, talk) == kept_tokens


def test_tensorrt_has_priorities_from_0_to_100() -> None:
    with pytest.raises(OptionsError, match=r"0\.\.100"):
        TokenRange(priority=101)
    with pytest.raises(OptionsError, match="a multiple of 64"):
        tensorrt_priority(SnapshotPlan(interval_tokens=100))


# ── Marconi ─────────────────────────────────────────────────────────────────────────────────────


def test_marconi_keeps_a_state_where_prompts_part_and_one_where_they_end() -> None:
    found = cached_tokens(marconi(), ROOMY, branches())
    assert found == (0, 0, 0, 1_984, 1_984, 4_032)
    talk = stream("talk", 500)
    assert cached_tokens(marconi(), ROOMY, asked([talk, [*talk, *(0,) * 8, 5]])) == (0, 507)


def test_marconi_keeps_long_prefixes_and_lru_the_newest() -> None:
    """Two states, and short conversations after a long one: by bytes the long one spares more."""
    long, *short = stream("long", 400), *(stream(f"short {each}", 70) for each in range(3))
    for alpha, long_tokens in ((4.0, 400), (0.0, 0)):
        world = tree_world(marconi(alpha), pages=24, extra_slots=2)
        for prompt in (long, *short):
            assert reused(world, prompt) == 0
        assert reused(world, [*long, *answer_to(long, 1), 9]) == long_tokens


# ── the later tree of the original engine ───────────────────────────────────────────────────────


def test_the_snapshot_tree_taps_before_the_opener_and_at_the_tail() -> None:
    assert cached_tokens(snapshot_tree, ROOMY, branches()) == (0, 4_032, 0, 0, 0, 4_032)
    world = tree_world(snapshot_tree)
    first = replace(prepared(stream("first", 300)), opener_tap_tokens=150)
    world.finish(world.submit(first))
    taps = [o.history_tokens for o in world.snapshot.ledger.owners]
    assert taps == [150, 256, 300], "and one where it ended"
    near = replace(prepared(stream("near", 300)), opener_tap_tokens=290)
    world.finish(world.submit(near))
    taps = [o.history_tokens for o in world.snapshot.ledger.owners]
    assert taps[3:] == [256, 300], "of two less than a block apart the earlier"


def test_the_snapshot_tree_gives_up_what_is_superseded_first() -> None:
    """A turn's end supersedes the end that it went on from; a stranger's snapshots stay."""
    world = tree_world(snapshot_tree, pages=40, extra_slots=4)
    talk, stranger = stream("talk", 70), stream("stranger", 66)
    assert reused(world, stranger) == 0
    assert reused(world, talk) == 0
    longer = [*talk, *answer_to(talk, 1), *stream("more", 20)]
    assert reused(world, longer) == 70
    assert reused(world, stream("new", 40)) == 0
    assert reused(world, [*longer, *answer_to(longer, 1), 1]) == len(longer)
    assert reused(world, [*stranger, *answer_to(stranger, 1), 1]) >= 64


def test_the_snapshot_tree_keeps_what_spares_more_by_its_bytes() -> None:
    long, *short = stream("long", 400), *(stream(f"short {each}", 50) for each in range(4))
    found = {}
    for name, design in (("gdsf", snapshot_tree), ("lru", sglang_radix)):
        world = tree_world(design, pages=40, extra_slots=3, chunk_tokens=512)
        for prompt in (long, *short):
            assert reused(world, prompt) == 0
        found[name] = reused(world, [*long, *answer_to(long, 1), 9])
    assert found["gdsf"] >= 384 > found["lru"]


# ── llama.cpp ───────────────────────────────────────────────────────────────────────────────────


def test_llama_finds_the_checkpoint_before_the_last_tokens_and_no_branch() -> None:
    found = llama_cached_tokens(LlamaSettings(context_tokens=4_608), branches())
    assert found == (0, 4_092, 0, 0, 0, 4_092)


@pytest.mark.parametrize(("mebibytes", "again_tokens"), [(8_192, 1_496), (24, 0), (0, 0)])
def test_llama_in_turns_finds_what_its_pool_holds(mebibytes: int, again_tokens: int) -> None:
    settings = LlamaSettings(context_tokens=4_608, ram_bytes=mebibytes * 2**20)
    found = llama_cached_tokens(settings, cyclic(12, 1_500))
    assert found == (0,) * 12 + (again_tokens,) * 12


EVERY: dict[str, ControllerFactory] = {
    "vllm": vllm_aligned(64),
    "sglang": sglang_radix,
    "tensorrt-llm": tensorrt_priority(),
    "marconi": marconi(),
    "snapshot tree": snapshot_tree,
}


@pytest.mark.parametrize("name", EVERY)
def test_shared_pages_are_held_once_and_states_forked(name: str) -> None:
    """A second request behind a shared head takes pages for its own end alone."""
    world = tree_world(EVERY[name], pages=40, extra_slots=6, chunk_tokens=192)
    head = stream("head", 192)
    for each in range(3):
        reused(world, [*head, *stream(f"tail {each}", 64)])
    last = world.submit([*head, *stream("last", 64)])
    outcome = world.finish(last)
    assert outcome.log.prefix_cache_hit_tokens == 192
    assert world.snapshot.ledger.occupancy.device_kv.allocated_count <= 3 + 4 * 3
