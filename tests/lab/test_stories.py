"""A story reads back as what was written, and a mistake is refused by file, line and field."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.options import (
    CacheMode,
    ContextCache,
    EngineOptions,
    RequestOptions,
    SpeculativeBackend,
)
from ninfer_lab.contract.prompt import Message, Role
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.contract.sampling import Sampling as DrawOptions
from ninfer_lab.lab import stories
from ninfer_lab.lab.story import (
    After,
    Ask,
    At,
    ChatTurn,
    Piece,
    Repeat,
    Story,
    StoryError,
    TokenTurn,
)

TEXT = """\
# Two clients.
story What is kept?
setting tiny

options
  max_context_tokens: 512
  context_cache: disabled

chat home
  system: Be short.
  user: "  two\\nlines"
  answer: Noted.
  cancel: 2 tokens
  stop: .
  stop: "\\""

repeat 2 rounds over a-1..a-2 b
  tokens run-{item}
    at: 1.5 ms
    prompt: {item}[9] tail-{round}-{item}[2]
    answer: out[3]
"""


def test_a_story_as_a_value() -> None:
    story = stories.parse(TEXT)
    assert (story.title, story.setting, story.asks_count) == ("What is kept?", "tiny", 7)
    assert story.options == EngineOptions(
        max_context_tokens=512, context_cache=ContextCache.DISABLED
    )
    said, *recipes = story.asks
    assert said == Ask(
        conversation="home",
        turn=ChatTurn(
            messages=(
                Message(role=Role.SYSTEM, content="Be short."),
                Message(role=Role.USER, content="  two\nlines"),
            ),
            answer="Noted.",
        ),
        options=RequestOptions(session_key=SessionKey("home"), stop_strings=(".", '"')),
        cancelled_after_tokens=2,
    )
    assert [ask.conversation for ask in recipes] == ["run-a-1", "run-a-2", "run-b"] * 2
    assert recipes[4] == Ask(
        conversation="run-a-2",
        turn=TokenTurn(
            pieces=(Piece(stream="a-2", tokens=9), Piece(stream="tail-2-a-2", tokens=2)),
            answer=(Piece(stream="out", tokens=3),),
        ),
        arrival=At(moment_ns=1_500_000),
        options=RequestOptions(session_key=SessionKey("run-a-2"), stop_at_end_token=False),
    )


_names = st.from_regex(r"[a-z][a-z0-9_.-]{0,4}", fullmatch=True)
_pieces = st.lists(
    st.builds(Piece, stream=_names, tokens=st.integers(1, 10**6)), min_size=1, max_size=3
).map(tuple)
_texts = st.text(max_size=12)
_messages = st.builds(
    Message,
    role=st.sampled_from([Role.SYSTEM, Role.USER, Role.TOOL, Role.ASSISTANT]),
    content=_texts,
)
_moments = st.integers(0, 10**13)
_chats = st.builds(
    ChatTurn,
    dropped_messages=st.integers(0, 3),
    messages=st.lists(_messages, min_size=1, max_size=3).map(tuple),
    answer=st.none() | _texts,
)
_recipes = st.builds(
    TokenTurn,
    dropped_tokens=st.integers(0, 9),
    pieces=_pieces,
    answer=st.just(()) | _pieces,
    anchors_prompt_end=st.booleans(),
)
_samplings = st.builds(
    DrawOptions,
    temperature=st.floats(0, 10),
    top_k=st.none() | st.integers(1, 99),
    top_p=st.floats(0, 1, exclude_min=True),
    seed=st.integers(0, 2**40),
)


@st.composite
def _asks(draw: st.DrawFn) -> Ask:
    turn = draw(_chats | _recipes)
    key = draw(st.none() | _names)
    kind = "c" if isinstance(turn, ChatTurn) else "t"  # a conversation is of one kind
    return Ask(
        conversation=draw(st.none() | _names.map(lambda name: kind + name)),
        turn=turn,
        arrival=draw(st.builds(At, moment_ns=_moments) | st.builds(After, pause_ns=_moments)),
        options=RequestOptions(
            max_output_tokens=draw(st.none() | st.integers(1, 10**6)),
            sampling=draw(_samplings),
            stop_strings=tuple(draw(st.lists(_texts.filter(bool), max_size=2))),
            mode=draw(st.sampled_from(CacheMode)),
            purpose=draw(st.sampled_from(RequestPurpose)),
            session_key=None if key is None else SessionKey(key),
            stop_at_end_token=isinstance(turn, ChatTurn),
        ),
        cancelled_after_tokens=draw(st.none() | st.integers(1, 99)),
    )


_repeats = st.builds(
    Repeat,
    rounds_count=st.integers(1, 5),
    over=st.lists(st.from_regex(r"[a-z0-9]{1,3}", fullmatch=True), max_size=3).map(tuple),
    asks=st.lists(_asks(), min_size=1, max_size=2).map(tuple),
)
_stories = st.builds(
    Story,
    title=st.from_regex(r"[A-Za-z][a-z ]{0,9}\?", fullmatch=True),
    setting=_names,
    options=st.builds(
        EngineOptions,
        max_concurrency=st.integers(1, 8),
        host_state_slots=st.none() | st.integers(0, 4),
        backend=st.none()
        | st.builds(
            SpeculativeBackend,
            kv_capacity_tokens=st.none() | st.just(2**22),
            lag_tokens=st.integers(0, 3),
        ),
        kv_lease_growth=st.booleans(),
        release_diverged=st.booleans(),
        backfill=st.booleans(),
        max_long_anchors_per_continuation=st.none() | st.integers(1, 3),
        automatic_private_anchors=st.none() | st.integers(0, 4),
        endpoint_anchors=st.booleans(),
    ),
    steps=st.lists(_asks() | _repeats, min_size=1, max_size=3).map(tuple),
)


@given(_stories)
def test_a_story_written_reads_back_as_itself(story: Story) -> None:
    assert stories.parse(stories.text_of(story)) == story


def test_a_copied_history_is_written_too() -> None:
    text = f"{HEAD}chat a\n  user: x\n\nchat b\n  from: a\n  session: -\n  drop: 1 messages\n"
    story = stories.parse(text)
    assert (story.asks[1].begins_from, story.asks[1].options.session_key) == ("a", None)
    assert stories.parse(stories.text_of(story)) == story


@pytest.mark.parametrize("name", stories.names())
def test_every_shipped_story_can_be_read_and_written(name: str) -> None:
    story = stories.read(name)
    assert stories.parse(stories.text_of(story)) == story


HEAD = "story t\nsetting tiny\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "s, line 1: found no request"),
        ("chat\n  user: x\n", "s, line 1, story: found none; legal: a line `story ...`"),
        (HEAD + "story u\n", "s, line 3: found story u; legal: one story"),
        (HEAD + "chat\n  user: x\nsetting y\n", "s, line 5: found setting y; legal: one setting"),
        (HEAD + "fly\n", "s, line 3: found fly; legal: story, setting, options, chat"),
        (HEAD + "chat\n   user: x\n", "s, line 4: found 3 spaces"),
        (HEAD + "chat\n    user: x\n", "s, line 4: found 'user: x' at depth 2"),
        (HEAD + "chat\n  user\n", "s, line 4: found user; legal: a field"),
        (HEAD + "chat\n  usr: x\n", "s, line 4, usr: found no field of this"),
        (HEAD + "chat\n  user:\n", "s, line 4, user: found nothing; legal: a text"),
        (HEAD + 'chat\n  user: "x\n', 's, line 4, user: found "x; legal: a closed JSON string'),
        (HEAD + "chat\n  answer: x\n", "s, line 3, chat: found no message"),
        (HEAD + "chat\n  user: x\n  at: 1 s\n  at: 2 s\n", "s, line 6, at: found it again"),
        (HEAD + "chat\n  user: x\n  at: 1 s\n  after: 2 s\n", "s, line 6, after: found `at`"),
        (
            HEAD + "chat\n  user: x\n  at: 1.0005 us\n",
            "s, line 5, at: found 1.0005 us; legal: whole",
        ),
        (
            HEAD + "chat\n  user: x\n  at: soon\n",
            "s, line 5, at: found soon; legal: a number and s",
        ),
        (HEAD + "chat\n  user: x\n  cancel: 0 tokens\n", "s, line 5, cancel: found 0 tokens"),
        (HEAD + "chat\n  user: x\n  drop: 1\n", "s, line 5, drop: found 1; legal: a whole number"),
        (
            HEAD + "chat\n  user: x\n  purpose: fun\n",
            "s, line 5, purpose: found fun; legal: conversation or side_request",
        ),
        (
            HEAD + "chat\n  user: x\n  mode: fast\n",
            "s, line 5, mode: found fast; legal: read_write",
        ),
        (HEAD + "chat\n  user: x\n  top_p: 0\n", "s, line 3, sampling.top_p: found 0.0"),
        (HEAD + "chat\n  user: x\n  from: y\n", "s, line 3, from: found y; legal: a conversation"),
        (HEAD + "chat -\n  user: x\n", "s, line 3, chat: found -; legal: a name"),
        (
            HEAD + "chat a\n  user: x\ntokens a\n  prompt: x[1]\n",
            "s, line 5: found a with messages",
        ),
        (HEAD + "tokens\n  prompt: x[0]\n", "s, line 4, prompt: found x[0]; legal: a stream"),
        (HEAD + "tokens\n  answer: x[1]\n", "s, line 3, tokens: found no prompt"),
        (HEAD + "options\n  max_concurrency: 9\n", "s, line 1: found no request"),
        (
            HEAD + "options\n  max_concurrency: 9\nchat\n  user: x\n",
            "s, line 3, options.max_concurrency: found 9; legal: 1 <= max_concurrency <= 8",
        ),
        (
            HEAD + "options\n  backfill: yes\nchat\n  user: x\n",
            "s, line 4, backfill: found yes; legal: on or off",
        ),
        (
            HEAD + "options\n  backend_kv_capacity_tokens: 9\nchat\n  user: x\n",
            "s, line 4, backend_kv_capacity_tokens: found 9; legal: none without backend_lag",
        ),
        (HEAD + "options\n  lanes: 9\nchat\n  user: x\n", "s, line 4, lanes: found no field"),
        (HEAD + "repeat 0 rounds\n", "s, line 3, repeat: found repeat 0 rounds"),
        (HEAD + "repeat 2 rounds\n", "s, line 3, repeat: found no request"),
        (HEAD + "repeat 2 rounds over a-2..a-1\n  chat\n", "s, line 3, repeat: found a-2..a-1"),
        (
            HEAD + "repeat 2 rounds\n  chat\n    user: {item}\n",
            "s, line 3, repeat: found {item} in a request; legal: `over WORDS`",
        ),
        (
            HEAD + "repeat 99999 rounds over a b\n  chat\n    user: x\n",
            "s, line 1, repeat: found 199998 requests; legal: at most 100000",
        ),
    ],
)
def test_a_mistake_is_named(text: str, error: str) -> None:  # spec: BAD-1
    with pytest.raises(StoryError) as refused:
        stories.parse(text, file_name="s")
    assert str(refused.value).startswith(error)


def test_a_story_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(StoryError, match=r"story: found nowhere; legal: .*tiny-side-request"):
        stories.read("nowhere")
    broken = tmp_path / "broken.story"
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(StoryError, match=r"broken\.story: found .*utf-8"):
        stories.read(broken)
