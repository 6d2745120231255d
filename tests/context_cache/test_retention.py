"""Law: a retention class is a weight and nothing else."""

from __future__ import annotations

from ninfer_lab.context_cache.retention import RetentionClass


def test_the_weights() -> None:  # spec: VAL-4
    assert [each.weight for each in RetentionClass] == [1, 4, 16]
    assert [each.name for each in RetentionClass] == [
        "DISPOSABLE",
        "RECENT_PRIVATE",
        "LIVE_SESSION",
    ]


def test_what_a_session_is_bound_to_lives() -> None:  # spec: VAL-4
    of = {
        (bound, whole): RetentionClass.of(is_bound=bound, is_whole=whole)
        for bound in (True, False)
        for whole in (True, False)
    }
    assert of == {
        (True, True): RetentionClass.LIVE_SESSION,
        (True, False): RetentionClass.LIVE_SESSION,
        (False, True): RetentionClass.RECENT_PRIVATE,
        (False, False): RetentionClass.DISPOSABLE,
    }
