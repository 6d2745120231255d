"""Law: the text kept depends on the text alone, never on how it was cut into pieces."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from ninfer_lab.frontend.stop_strings import StopMatch, StopStrings

texts = st.text(alphabet="abc", max_size=24)
stop_sets = st.lists(st.text(alphabet="abc", min_size=1, max_size=5), max_size=3)
cut_sets = st.lists(st.integers(0, 24), max_size=12)


def oracle(text: str, stops: list[str]) -> tuple[str, str | None]:
    """Read character by character; stop at the first one that ends a stop string."""
    for end in range(1, len(text) + 1):
        ended = [stop for stop in stops if text[:end].endswith(stop)]
        if ended:
            longest = max(ended, key=len)
            return text[: end - len(longest)], longest
    return text, None


def watched(pieces: list[str], stops: list[str]) -> tuple[list[str], StopMatch | None]:
    """What is shown piece by piece, until a match or the end."""
    watch, shown = StopStrings(stops), []
    for piece in pieces:
        kept, match = watch.push(piece)
        shown.append(kept)
        if match is not None:
            return shown, match
    return [*shown, watch.flush()], None


@given(texts, stop_sets, cut_sets)
@example("abcd"[:3], ["abc", "bc"], [])
@example("aabaab", ["aabaa", "ab"], [1, 2, 3, 4, 5])
def test_equals_reading_one_character_after_the_other(
    text: str, stops: list[str], cuts: list[int]
) -> None:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    shown, match = watched(pieces, stops)
    kept, stop = oracle(text, stops)
    assert "".join(shown) == kept
    assert (match.stop_string if match else None) == stop
    if match is not None:
        assert match.start_chars == len(kept)


@given(texts, stop_sets)
def test_holds_back_only_what_may_still_begin_a_stop_string(text: str, stops: list[str]) -> None:
    watch, shown = StopStrings(stops), ""
    for place, char in enumerate(text):
        kept, match = watch.push(char)
        shown += kept
        if match is not None:
            return
        held = text[len(shown) : place + 1]
        assert not held or any(stop.startswith(held) for stop in stops)
