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
