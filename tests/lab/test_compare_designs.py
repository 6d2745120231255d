"""Law: designs are compared over the same requests in the same bytes, in however many processes,
and a difference comes with how sure it is.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ninfer_lab import lab
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.engine.assembly import ControllerFactory, catalog_design
from ninfer_lab.lab import designs
from ninfer_lab.lab.compare_capacity import Capacity, setup
from ninfer_lab.lab.compare_designs import Comparison, compare, known_tokens
from ninfer_lab.lab.compare_runs import SAID_OF_MODELS
from ninfer_lab.lab.compare_statistics import Interval, paired_table
from ninfer_lab.lab.compare_workloads import BLOCK_TOKENS, Chats, chats
from ninfer_lab.lab.traces.prompts import TracePrompts
from ninfer_lab.lab.traces.replay_world import dense_27b
from ninfer_lab.lab.traces.trace import BlockIds, Trace, TraceRequest
from ninfer_lab.policies.community.sglang_radix import sglang_radix

GIB = 2**30
SMALL = Chats(conversations_count=4, turns_count=2, instructions_count=2, seconds_between=20.0)
ROOMY = Capacity(device_bytes=6 * GIB, context_tokens=4_096)
TIGHT = Capacity(device_bytes=int(1.6 * GIB), context_tokens=4_096)


@pytest.fixture(scope="module")
def compared() -> Comparison:
    names = (designs.CATALOG, designs.LANE_OWNED, *designs.COMMUNITY)
    return compare([chats(seed, SMALL) for seed in (0, 1)], names, [TIGHT, ROOMY], jobs=1)


def test_every_design_serves_the_same_requests(compared: Comparison) -> None:
    assert compared.designs == (designs.CATALOG, designs.LANE_OWNED, *designs.COMMUNITY)
    assert compared.traces == ("chats 0", "chats 1")
    units = {tuple(each.unit for each in run.requests) for run in compared.runs}
    assert len(units) == 1
    for run in compared.runs:
        assert run.failed_count == 0, run.design
        assert all(each.hit_tokens < each.prompt_tokens for each in run.requests)


def test_nothing_is_held_beyond_the_bytes_that_were_given(compared: Comparison) -> None:
    for run in compared.runs:
        if run.design != designs.LLAMA:  # its checkpoints lie in main memory without a limit
            assert 0 < run.held_bytes <= run.capacity.device_bytes, run.design
    assert compared.run(designs.LANE_OWNED, ROOMY).held_bytes < GIB


def test_what_is_known_and_not_spared_was_computed_again(compared: Comparison) -> None:
    run = compared.run(designs.TENSORRT, ROOMY)
    assert run.recomputed_tokens == sum(
        max(0, each.known_tokens - each.hit_tokens) for each in run.requests
    )
    lane = compared.run(designs.LANE_OWNED, ROOMY)
    assert lane.recomputed_tokens > run.recomputed_tokens
    assert lane.mean_ttft_ns > run.mean_ttft_ns


def test_pairs_have_intervals_around_what_was_measured(compared: Comparison) -> None:
    pairs = compared.paired(designs.LANE_OWNED)
    assert len(pairs) == 2 * (len(compared.designs) - 1)
    for each in pairs:
        run, base = (compared.run(name, each.capacity) for name in (each.design, each.baseline))
        points = 100 * (run.hit_tokens - base.hit_tokens) / run.prompt_tokens
        assert each.hit_points.mean == pytest.approx(points)
        assert each.hit_points.low <= each.hit_points.mean <= each.hit_points.high
    best = next(p for p in pairs if (p.design, p.capacity) == (designs.TENSORRT, ROOMY))
    assert best.hit_points.low > 0 > best.ttft_ms.high
    assert best.hit_points.excludes_zero
    assert not Interval(0.5, -0.1, 1.1).excludes_zero
    again = compared.paired(designs.LANE_OWNED)
    assert again == pairs, "drawn from a seed"
    assert "points" in paired_table(pairs).columns[3]


def test_the_table_and_the_picture_have_every_run(compared: Comparison) -> None:
    assert compared.table.height == len(compared.runs)
    hits, waits = compared.figure.axes[:2]
    assert len(hits.lines) - 1 == len(waits.lines) == len(compared.designs)
    shown = {line.get_label(): np.asarray(line.get_ydata()) for line in hits.lines}
    run = compared.run(designs.TENSORRT, ROOMY)
    assert shown[designs.TENSORRT][1] == pytest.approx(100 * run.hit_tokens / run.prompt_tokens)
    assert "tensorrt-llm" in compared._repr_html_()


def test_what_is_made_from_models_says_so(compared: Comparison) -> None:  # spec: PEER-2
    assert str(compared).endswith(SAID_OF_MODELS)
    assert SAID_OF_MODELS in compared._repr_html_()
    assert compared.figure.get_supxlabel() == SAID_OF_MODELS
    for name in designs.COMMUNITY:
        said = sys.modules[designs.named(name).__module__].__doc__ or ""
        assert "Source:" in said
        assert "Left out:" in said


def test_processes_change_nothing() -> None:
    joblib = pytest.importorskip("joblib")
    trace = chats(2, SMALL)
    chosen: dict[str, ControllerFactory | str] = {"own": sglang_radix, "catalog": designs.CATALOG}
    alone = compare(trace, chosen, ROOMY, jobs=1)
    beside = compare(trace, chosen, ROOMY, jobs=2)
    assert alone == beside
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert compare(trace, chosen, ROOMY) == alone
    assert lab.compare is compare


def test_a_capacity_is_divided_as_each_design_divides() -> None:
    world = dense_27b()
    device = world.device
    capacity = replace(ROOMY, host_bytes=2 * GIB, lanes_count=2)
    fixed = setup(designs.MARCONI, capacity, world).options
    slots = fixed.device_state_slots
    assert slots is not None
    assert fixed.kv_capacity_tokens is not None
    states_bytes = (2 + slots) * device.state_image_bytes
    pages_bytes = fixed.kv_capacity_tokens // 64 * device.kv_page_bytes
    assert capacity.device_bytes - device.kv_page_bytes < states_bytes + pages_bytes
    assert states_bytes + pages_bytes <= capacity.device_bytes
    assert setup(catalog_design, capacity, world).options == fixed
    llama = setup(designs.LLAMA, capacity, world).options
    assert llama.max_concurrency == 2
    assert (llama.device_state_slots or 0) > 2 * 32


def test_what_holds_no_context_is_refused() -> None:
    small = replace(ROOMY, device_bytes=GIB // 8)
    for name in (designs.CATALOG, designs.VLLM, designs.LLAMA):
        with pytest.raises(OptionsError, match="room for one context of 4096 tokens"):
            compare(chats(0, SMALL), [name], small)
    with pytest.raises(OptionsError, match="design: found nobody"):
        compare(chats(0, SMALL), ["nobody"], ROOMY)


def test_known_is_the_longest_beginning_that_came_before() -> None:
    def asked(*ids: int, followed_by: int | None = None) -> TraceRequest:
        return TraceRequest(
            line=1,
            arrival_ns=0,
            input_tokens=16 * len(ids),
            output_tokens=16,
            blocks=BlockIds.of(ids),
            conversation=None,
            followed_by=followed_by,
        )

    requests = (asked(1, 2, 3), asked(1, 2, 9, 3), asked(2, 3), asked(1, 2, 9), asked(1, 2, 3, 4))
    trace = Trace(name="by hand", block_tokens=16, requests=requests)
    assert known_tokens(trace) == (0, 32, 0, 47, 48)
    assert known_tokens(trace, 2) == (0, 32)
    talk = (asked(5, 6, followed_by=1), asked(5, 6, 7, 8))
    assert known_tokens(replace(trace, requests=talk)) == (0, 48), "its answer was block 7"


def test_chats_are_drawn_from_their_seed_and_go_on_as_told() -> None:
    trace = chats(7)
    assert trace == chats(7) != chats(8)
    prompts = TracePrompts(trace, 1_000)
    followed = [(i, r.followed_by) for i, r in enumerate(trace.requests) if r.followed_by]
    assert len(followed) > 20
    for ordinal, follower in followed[:5]:
        asked = trace.requests[ordinal]
        told = prompts.prompt(ordinal) + prompts.answer(ordinal, asked.output_tokens)
        assert prompts.prompt(follower).starts_with(told)
    assert any(request.conversation is None for request in trace.requests)
    assert all(a.arrival_ns <= b.arrival_ns for a, b in pairwise(trace.requests))
    assert trace.requests[0].input_tokens % BLOCK_TOKENS == 0
