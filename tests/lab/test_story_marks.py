"""Law: what a story marks is what its prompts are marked with, in both directions."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.shared_prefix import ChatMarker, Evidence, PlacedAfter, TokenMarker
from ninfer_lab.lab import stories
from ninfer_lab.lab.story import StoryError
from ninfer_lab.lab.story_marks import NO_MARKS, UnreadableMark, parse_marks

CHAT = "story S\nsetting tiny\n\nchat\n  user: hello\n  answer: hi\n  marks: {}\n"
TOKENS = "story S\nsetting 27b\n\ntokens\n  prompt: a[9]\n  answer: b[2]\n  marks: {}\n"


def test_words_become_markers() -> None:  # spec: SHR-1
    marks = parse_marks("structure@1430 automatic@1451", in_tokens=True)
    assert marks.of_tokens == (
        TokenMarker(frontier_tokens=1430, evidence=Evidence.ENGINE_STRUCTURAL),
        TokenMarker(frontier_tokens=1451, evidence=Evidence.DEFAULT_AUTOMATIC),
    )
    in_chat = parse_marks("explicit@-1 requested@tools", in_tokens=False)
    assert in_chat.of_chat == (
        ChatMarker(after=-1, evidence=Evidence.EXPLICIT_BOUNDARY),
        ChatMarker(after=PlacedAfter.TOOLS, evidence=Evidence.REQUESTED_AUTOMATIC),
    )


def test_hints_stand_among_them() -> None:  # spec: SHR-3, SHR-4
    hints = parse_marks("grid no-engine explicit@3", in_tokens=True).hints
    assert hints.allow_engine_prefix_grid
    assert not hints.allow_engine_automatic_shared_prefixes
    assert NO_MARKS.hints.allow_engine_automatic_shared_prefixes


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (TOKENS, "structure@7 automatic@9 grid"),
        (CHAT, "explicit@-1 requested@tools no-engine"),
        (TOKENS, "no-engine"),
        (TOKENS, "automatic@9 anchor@4 anchor@6"),
        (CHAT, "anchor@-2"),
    ],
)
def test_a_marked_story_is_read_back_as_it_was(form: str, words: str) -> None:
    story = stories.parse(form.format(words))
    assert str(next(iter(story.asks)).marks) == words
    assert stories.parse(stories.text_of(story)) == story


@pytest.mark.parametrize(
    "words",
    ["", "structure", "observed@3", "explicit@", "anchor@", "anchor@tools", "Explicit@3", "x"],
)
def test_a_word_that_marks_nothing_is_refused(words: str) -> None:  # spec: BAD-1
    with pytest.raises(UnreadableMark):
        parse_marks(words, in_tokens=True)


def test_bare_tokens_have_no_tools_and_a_refusal_names_its_line() -> None:  # spec: BAD-1
    with pytest.raises(StoryError, match=r"line 7, marks: .*a frontier in tokens"):
        stories.parse(TOKENS.format("explicit@tools"))
