"""Law: of every request the causes of its computed prompt tokens add up to exactly what was
computed, and each cause is the one that a hand-made story has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import polars as pl
import pytest

from lab.recorded_runs import OPTIONS, random_run, recording_of, simulated_engine
from ninfer_lab.contract.events import RequestAdmitted, RequestFinished
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.options import CacheMode, EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.recording_options import ALL_TARGETS, DECISIONS_ONLY, RecordingOptions
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.engine import Engine
from ninfer_lab.lab import designs, worlds
from ninfer_lab.lab.recording.misses import MissCause
from ninfer_lab.lab.recording.recording import Recording


@cache
def run_of(seed: int, design: str) -> Recording:
    return random_run(seed, design=designs.named(design))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("design", [designs.CATALOG, designs.LANE_OWNED])
def test_causes_add_up_over_random_streams(design: str, seed: int) -> None:  # spec: RCD-1
    check_causes(run_of(seed, design))


def test_causes_add_up_where_the_oldest_must_go() -> None:  # spec: RCD-1
    check_causes(random_run(4, options=replace(OPTIONS, recency_eviction=True)))


@pytest.mark.parametrize("name", worlds.names())
def test_causes_add_up_in_every_world(name: str) -> None:  # spec: RCD-1
    check_causes(worlds.run(name).recording)


def check_causes(recording: Recording) -> None:
    """Runs without a gap from the first computed token to the last, each with one cause."""
    rows = recording.misses.rows(named=True)
    assert len(rows) > 0
    for request in recording.requests.rows(named=True):
        mine = [row for row in rows if row["request"] == request["request"]]
        start = request["prefix_cache_hit_tokens"]
        for row in mine:
            assert row["start_tokens"] == start < row["end_tokens"]
            start = row["end_tokens"]
        computed = request["computed_prefill_tokens"]
        assert sum(row["tokens"] for row in mine) == computed
        assert start == request["prefix_cache_hit_tokens"] + computed


def test_random_clients_meet_most_causes() -> None:
    met = {cause for seed in range(4) for cause in run_of(seed, designs.CATALOG).misses["cause"]}
    assert {
        MissCause.COLD.value,
        MissCause.DIVERGED.value,
        MissCause.EXTENDED.value,
        MissCause.NEVER_CAPTURED.value,
        MissCause.MOVED_ON.value,
        MissCause.NOT_ALLOWED.value,
        MissCause.STATE_EVICTED.value,
        MissCause.BLOCKED.value,
    } <= met
    assert MissCause.NOT_RECORDED.value not in met


# ── stories by hand ─────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Desk:
    """One engine, asked one thing after another; a word of a story is 10 tokens of its own."""

    engine: Engine
    causes: list[list[tuple[str, int]]] = field(default_factory=list)

    def ask(
        self,
        words: str,
        *,
        session: str | None = None,
        after: Sequence[int] = (),
        mode: CacheMode = CacheMode.READ_WRITE,
    ) -> list[int]:
        """Asks, and returns prompt and answer, so that a story can go on with them."""
        tokens = [*after, *(10 * ord(word) % 900 + i for word in words for i in range(10))]
        options = RequestOptions(
            max_output_tokens=2,
            session_key=None if session is None else SessionKey(session),
            mode=mode,
        )
        outcome = self.engine.run(
            self.engine.submit(TokenPrompt(tokens=TokenSpan(tokens)), options)
        )
        return [*tokens, *outcome.output_tokens]

    def told(self) -> list[list[tuple[str, int]]]:
        """(cause, tokens) of every request, in order."""
        recording = recording_of(self.engine)
        told = []
        for request in recording.requests["request"]:
            rows = recording.misses.filter(pl.col("request") == request)
            told.append(list(zip(rows["cause"], rows["tokens"], strict=True)))
        return told


def desk(
    options: EngineOptions | None = None,
    *,
    recording: RecordingOptions = DECISIONS_ONLY,
) -> Desk:
    options = options or EngineOptions(
        max_context_tokens=256, kv_capacity_tokens=64 * 12, device_state_slots=3
    )
    return Desk(simulated_engine(options=options, recording=recording))


def test_new_text_is_cold_extended_or_diverged() -> None:
    d = desk()
    history = d.ask("abc", session="s")  # its state consumed 31 of these 32 tokens
    d.ask("d", session="s", after=history)
    d.ask("abx")
    assert d.told() == [
        [("cold", 30)],
        [("new after all that was known", 11)],
        [("never captured", 20), ("diverged", 10)],
    ]


def test_a_checkpoint_that_went_on_with_its_lineage_is_named() -> None:
    d = desk()
    history = d.ask("abc", session="s")
    d.ask("d", session="s", after=history)
    d.ask("e", after=history)  # turns off after the endpoint that moved on
    assert d.told()[2] == [
        ("checkpoint moved on with its lineage", 31),
        ("never captured", 1),
        ("diverged", 10),
    ]


def test_the_same_prompt_again_finds_the_endpoint_too_deep() -> None:
    d = desk()
    d.ask("abc")
    d.ask("abc")
    assert d.told()[1] == [("never captured", 30)]


def test_eviction_is_told_by_what_was_short() -> None:
    """Without a Host that could keep what the Device cannot."""
    state = desk(
        EngineOptions(
            max_context_tokens=256,
            host_state_slots=0,
            host_kv_capacity_bytes=0,
            kv_capacity_tokens=6_400,
            device_state_slots=0,
            max_private_continuations=4,
        )
    )
    history = state.ask("ab")
    state.ask("xy")
    state.ask("c", after=history)
    assert state.told()[2] == [("state evicted", 21), ("new after all that was known", 11)]

    kv = desk(
        EngineOptions(
            max_context_tokens=256,
            host_state_slots=0,
            host_kv_capacity_bytes=0,
            kv_capacity_tokens=256,
            device_state_slots=4,
            max_private_continuations=8,
        )
    )
    history = kv.ask("abcdefghij")
    kv.ask("klmnopqrstuvx")
    kv.ask("w", after=history)
    assert kv.told()[2][0] == ("KV evicted", 101)

    slot = desk(
        EngineOptions(
            max_context_tokens=256,
            host_state_slots=0,
            host_kv_capacity_bytes=0,
            kv_capacity_tokens=6_400,
            device_state_slots=4,
            max_private_continuations=1,
        )
    )
    history = slot.ask("ab")
    slot.ask("xy")
    slot.ask("c", after=history)
    assert slot.told()[2] == [("catalog slot evicted", 21), ("new after all that was known", 11)]


def test_what_was_demoted_is_restored_and_not_missed() -> None:
    d = desk(
        EngineOptions(
            max_context_tokens=256,
            kv_capacity_tokens=6_400,
            device_state_slots=0,
            max_private_continuations=4,
        )
    )
    history = d.ask("ab", session="s")
    d.ask("xy")
    d.ask("c", session="s", after=history)
    assert d.told()[2] == [("new after all that was known", 11)]


def test_a_source_on_the_host_that_was_left_there_is_named() -> None:
    """The planner lets no owner keep on the Host what it would not restore, so the decision is
    turned round in the telling: the root, with the restore beside it.
    """
    d = desk(
        EngineOptions(
            max_context_tokens=256,
            kv_capacity_tokens=6_400,
            device_state_slots=0,
            max_private_continuations=4,
        ),
        recording=ALL_TARGETS,
    )
    history = d.ask("ab", session="s")
    d.ask("xy", mode=CacheMode.DISABLED)  # takes the slot, and leaves it empty
    d.ask("c", session="s", after=history)
    recording = recording_of(d.engine)
    turned = tuple(_computed_instead(e) if e.request == 3 else e for e in _told(recording))
    misses = replace(recording, events=turned).misses.filter(pl.col("request") == 3)
    assert misses.select("cause", "tokens").rows() == [
        ("restore not worth it", 21),
        ("new after all that was known", 11),
    ]


def _told(recording: Recording) -> list[RequestAdmitted | RequestFinished]:
    """Admissions and ends: from them alone the causes are told."""
    return [e for e in recording.events if isinstance(e, RequestAdmitted | RequestFinished)]


def _computed_instead(
    event: RequestAdmitted | RequestFinished,
) -> RequestAdmitted | RequestFinished:
    if isinstance(event, RequestFinished):
        return event._replace(prefix_cache_hit_tokens=0, computed_prefill_tokens=32)
    roots = [i for i, v in enumerate(event.report.verdicts) if v.owner is None and v.is_adoptable]
    return event._replace(reuse_tokens=0, report=replace(event.report, chosen=roots[0]))


def test_a_source_on_offer_that_does_not_fit_is_blocked() -> None:
    d = desk(
        EngineOptions(
            max_context_tokens=256,
            kv_capacity_tokens=6_400,
            device_state_slots=0,
            max_private_continuations=4,
        )
    )
    history = d.ask("ab")
    d.ask("c", after=history)  # a stranger's endpoint needs a second slot to be forked
    assert d.told()[1] == [("blocked by a reservation", 21), ("new after all that was known", 11)]


def test_without_the_cache_everything_known_was_not_allowed() -> None:
    d = desk()
    history = d.ask("ab")
    d.ask("c", after=history, mode=CacheMode.DISABLED)
    assert d.told()[1] == [("reuse was not allowed", 21), ("new after all that was known", 11)]


def test_an_admission_that_was_not_retained_is_said_so() -> None:
    d = desk(recording=RecordingOptions(retained_events=2))
    d.ask("abc")
    assert d.told() == [[("not recorded", 30)]]
