"""Law: whatever set of replicas owners are asked to keep, what was projected is what happens, stage
by stage, and what does not fit is refused; whoever runs beside it never notices.
"""

from __future__ import annotations

from collections import Counter

import pytest

from program.walks import OPTIONS, Walk

STEPS = 120


@pytest.mark.parametrize("name", OPTIONS)
def test_what_was_projected_is_what_happens(  # spec: TXN-2, STG-1, REC-1, ACC-4
    name: str, soaking: bool
) -> None:
    seen: Counter[str] = Counter()
    for seed in range(400 if soaking else 10):
        walk = Walk(OPTIONS[name], seed)
        for _ in range(STEPS):
            walk.step()
        walk.close()
        seen += walk.seen
    wanted = {"ROOT", "MOVE", "FORK", "RESTORE", "copied tails", "DEMOTION_RESERVED"}
    wanted |= {"DESTINATIONS_RESERVED", "aborted: CANCELLED", "aborted: COPY_FAILED"}
    if name == "a tight Host":
        wanted.add("refused")
    rare = {way: seen[way] for way in wanted if seen[way] < 3}
    assert not rare, f"too rare to prove anything: {rare} of {seen}"
