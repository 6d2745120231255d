"""Tables, sentences and figures say what the events and the ledger say, and read nothing else."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from matplotlib.patches import Rectangle

from laws.pictures import IN_FLIGHT, RESERVED
from laws.pictures import OPTIONS as PICTURE_OPTIONS
from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.capacity import Axis
from ninfer_lab.contract.events import ForwardRan
from ninfer_lab.contract.options import EngineOptions, RequestOptions
from ninfer_lab.contract.target import StageName
from ninfer_lab.engine.engine import Engine
from ninfer_lab.lab import explain, figures, tables
from ninfer_lab.lab.chat import Chat
from ninfer_lab.lab.serving import open_engine

OPTIONS = EngineOptions(device_state_slots=1, max_context_tokens=256, kv_capacity_tokens=512)
SHORT = RequestOptions(max_output_tokens=8)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """Two turns and a side request between them, in two slots: everybody is demoted once."""
    with open_engine(options=OPTIONS) as opened:
        chat, quiet = Chat(opened, session="home", options=SHORT), io.StringIO()
        chat.say("The lamp is red. What colour is the lamp?", show=quiet)
        chat.aside("Let us plan the picnic. Give this conversation a title.", show=quiet)
        chat.say("The lamp is green. What colour is the lamp?", show=quiet)
        yield opened


def test_the_request_table_sums_up_each_request(engine: Engine) -> None:
    # spec: RCD-3
    table = tables.requests(engine.events)
    assert table["session"].to_list() == ["home", None, "home"]
    computed = table["prefix_cache_hit_tokens"] + table["computed_prefill_tokens"]
    assert computed.to_list() == table["prompt_tokens"].to_list()
    assert table["evicted_owners"].to_list() == [0, 0, 0]
    assert table["state"].to_list() == ["root", "root", "restore"]
    assert (table["ttft_ms"] <= table["total_ms"]).all()


def test_the_target_table_names_the_winner_and_why_the_others_lost(engine: Engine) -> None:
    table = tables.targets(engine.events)
    for request in (1, 2, 3):
        assert table.filter(table["request"] == request)["chosen"].sum() == 1
    won, lost = table.filter(table["chosen"]), table.filter(~table["chosen"])
    for request in (2, 3):
        (winner,) = won.filter(request=request).rows(named=True)
        for each in lost.filter(request=request).rows(named=True):
            if each["verdict"] == "fits":
                dearer = each["now_ms"] + each["loss_ms"]
                assert dearer >= winner["now_ms"] + winner["loss_ms"]
            elif each["verdict"] != "no catalog slot":
                assert "device state slots: 3 used > 2 there are" in each["verdict"]
    assert (lost["verdict"] != "fits").any()
    assert won["degraded_owners"].to_list() == [0, 1, 1]
    assert (won["moved_bytes"] > 0).to_list() == [False, True, True]


def test_a_choice_is_one_requests_targets_without_what_does_not_fit_a_page(
    engine: Engine,
) -> None:
    shown = tables.choice(engine.events, request=3)
    whole = tables.targets(engine.events).filter(request=3)
    assert shown["taken"].to_list() == whole["chosen"].to_list()
    for name in ("path", "owner", "reuse_tokens", "prefill_tokens", "state", "verdict"):
        assert shown[name].to_list() == whole[name].to_list()
    said = {(0, 0): "nobody", (0, 1): "1 degraded", (1, 0): "1 evicted"}
    counts = whole["evicted_owners", "degraded_owners"].rows()
    assert shown["gives_way"].to_list() == [said[each] for each in counts]
    assert set(counts) == set(said)
    assert shown.width < whole.width


def test_the_stage_table_holds_every_stage_of_every_plan(engine: Engine) -> None:
    table = tables.stages(engine.events)
    stages = [stage.value for stage in StageName]
    axes = [axis.value for axis in Axis if axis is not Axis.DEVICE_BACKEND_KV]
    told = table.filter(table["request"] == 3)
    assert list(zip(told["stage"], told["axis"], strict=True)) == [
        (stage, axis) for stage in stages for axis in axes
    ]
    assert table["fits"].all()
    host = told.filter(told["axis"] == Axis.HOST_STATE.value)
    reserved = dict(zip(host["stage"], host["reserved"], strict=True))
    assert reserved[StageName.DEMOTION_RESERVED.value] == 1
    assert reserved[StageName.DEMOTED.value] == 0


def test_the_forward_table_adds_up_to_the_tokens_computed(engine: Engine) -> None:
    table, requests = tables.forwards(engine.events), tables.requests(engine.events)
    prefilled = table.filter(table["phase"] == "prefill")["tokens"].sum()
    assert prefilled == requests["computed_prefill_tokens"].sum()
    assert (table["state_allocated_slots"] <= table["state_capacity_slots"]).all()


def test_the_checkpoint_table_is_the_ledger(engine: Engine) -> None:
    snapshot = engine.describe()
    table = tables.checkpoints(snapshot)
    placed = [c for owner in snapshot.ledger.owners for c in owner.checkpoints]
    images = {each.image: each for each in snapshot.ledger.images}
    assert table["state_slot"].to_list() == [images[c.image].device_slot for c in placed]
    assert table["host_slot"].to_list() == [images[c.image].host_slot for c in placed]
    demoted = table.filter(table["owner"] == 2)
    assert demoted["state_slot"].null_count() == demoted["host_slot"].count() == len(demoted) == 1
    assert table["frontier_tokens"].to_list() == [c.summary.frontier_tokens for c in placed]


def test_every_event_has_a_sentence_that_names_its_request(engine: Engine) -> None:
    journey = explain.journey(engine.events)
    assert len(journey.sentences) == len(engine.events)
    assert all("request" in sentence for sentence in journey.sentences)
    assert str(journey).startswith("  1. request 1 joins the queue")
    assert "<ol" in journey._repr_html_()


def test_the_occupancy_figure_shows_every_forward_against_capacity(engine: Engine) -> None:
    figure = figures.occupancy(engine.events, title="a run")
    ran = [event for event in engine.events if isinstance(event, ForwardRan)]
    *panels, work = figure.axes
    assert [panel.get_ylabel() for panel in panels] == [
        "state slots",
        "KV pages",
        "Host state slots",
        "Host KV bytes",
    ]
    assert work.get_xlim() == (-0.5, len(ran) - 0.5)
    assert [text.get_text() for text in work.texts] == ["request 1", "request 2", "request 3"]


def test_the_placement_figure_labels_every_slot_and_counts_the_pages(engine: Engine) -> None:
    snapshot = engine.describe()
    figure = figures.placement(snapshot, arena=engine.options.capacity.host_kv)
    slots, pages, host_slots, arena = figure.axes
    labels = [text.get_text() for text in slots.texts]
    assert len(labels) == snapshot.ledger.occupancy.device_state.capacity_count
    assert any("session endpoint" in label for label in labels)
    kv = snapshot.ledger.occupancy.device_kv
    assert f"{kv.allocated_count} of {kv.capacity_count} in use" in pages.get_title(loc="left")
    assert sum("endpoint" in text.get_text() for text in host_slots.texts) == 1
    host_kv = snapshot.ledger.occupancy.host_kv
    assert f"{host_kv.allocated_count:,} of {host_kv.capacity_count:,}" in arena.get_title("left")
    (legend,) = figure.legends
    named = [text.get_text() for text in legend.get_texts()]
    sessions = {e.owner: e.session_key for e in snapshot.catalog if e.session_key is not None}
    assert sessions
    assert {f"owner {owner} (session {key})" for owner, key in sessions.items()} <= set(named)


@pytest.mark.parametrize(
    ("snapshot", "backend_said", "arena_said"),
    [
        (IN_FLIGHT, "6 of 20 in use, 6 more", "1,000 of 4,000 bytes in use, 500 more"),
        (RESERVED, "5 of 20 in use, 9 more", "1,500 of 4,000 bytes in use"),
    ],
    ids=["held for a demotion", "demoted"],
)
def test_the_arena_is_drawn_to_scale_with_its_largest_hole(
    snapshot: ControllerSnapshot, backend_said: str, arena_said: str
) -> None:  # spec: CAP-2
    figure = figures.placement(snapshot, arena=PICTURE_OPTIONS.capacity.host_kv)
    *_, backend, _, arena = figure.axes
    assert f"backend KV pages, 64 tokens each: {backend_said}" in backend.get_title("left")
    title = arena.get_title("left")
    assert arena_said in title
    assert title.endswith("; the largest hole 2,400"), "what is held is no hole"
    cells = [patch for patch in arena.patches if isinstance(patch, Rectangle)]
    assert max(cell.get_x() + cell.get_width() for cell in cells) == 40


def test_a_figure_shows_itself_in_a_notebook_as_png(engine: Engine) -> None:
    assert figures.placement(engine.describe())._repr_png_().startswith(b"\x89PNG")


def test_figures_of_nothing_are_drawn_empty() -> None:
    assert figures.occupancy(()).axes
    assert tables.requests(()).is_empty()
    assert str(explain.journey(())) == ""
