"""How is a story written down, and how is it read back?

Owns the text form. A header stands at the margin, its fields two spaces further in, one a line;
what a `repeat` holds is indented once more. A line that begins with `#` is a comment.

    story What does the next turn reuse after a side request?
    setting tiny

    options
      max_context_tokens: 512

    chat home
      user: The lamp is red. What colour is the lamp?
      answer: The lamp is red.

    chat
      user: Give this conversation a title.
      answer: The plan.

    repeat 4 rounds over preamble-1..preamble-8
      tokens
        prompt: {item}[1430] tail-{round}-{item}[25]
        answer: out-{round}-{item}[16]

Every field is listed in `datasets/workloads/README.md`. Does not know what becomes of a request
(`story_client`), nor which settings there are (`worlds`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import assert_never

import ninfer_lab
from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.options import (
    CacheMode,
    EngineOptions,
    RequestOptions,
)
from ninfer_lab.contract.prompt import Message, Role
from ninfer_lab.contract.request_purpose import RequestPurpose
from ninfer_lab.contract.sampling import Sampling
from ninfer_lab.lab.story import (
    ITEM,
    MAX_ASKS,
    After,
    Ask,
    At,
    ChatTurn,
    Repeat,
    Story,
    StoryError,
    TokenTurn,
)
from ninfer_lab.lab.story_fields import (
    INDENT,
    Block,
    Field,
    Place,
    read_blocks,
    read_name,
    text_of_duration,
    text_of_text,
)
from ninfer_lab.lab.story_marks import NO_MARKS, Marks, UnreadableMark, parse_marks
from ninfer_lab.lab.story_options import ON, SWITCH, read_options, written_options

SUFFIX = ".story"

ANONYMOUS = "-"
"""What stands for no session."""

_SPEAKERS = {role.value: role for role in (Role.SYSTEM, Role.USER, Role.TOOL, Role.ASSISTANT)}
_PROMPT_END = "anchor_prompt_end"
_TURN_FIELDS = {
    "chat": (*_SPEAKERS, "drop", "answer"),
    "tokens": ("drop", "prompt", "answer", _PROMPT_END),
}
_ANY_FIELDS = (
    *("from", "at", "after", "session", "marks", "cancel", "max_output", "mode", "stop", "purpose"),
)
_SAMPLING_FIELDS = ("temperature", "top_k", "top_p", "seed")
_REPEAT = re.compile(r"repeat ([1-9][0-9]{0,8}) rounds?(?: over (\S.*))?")
_ITEM = re.compile(r"[A-Za-z0-9_-]+")
_RANGE = re.compile(r"([A-Za-z0-9_-]*?)(0|[1-9][0-9]{0,8})\.\.\1(0|[1-9][0-9]{0,8})")


def workloads_folder() -> Path:
    """Where the project's own stories lie."""
    return Path(ninfer_lab.__file__).parents[1] / "datasets" / "workloads"


def names() -> tuple[str, ...]:
    """Names of the project's own stories, in order."""
    return tuple(sorted(path.stem for path in workloads_folder().glob(f"*{SUFFIX}")))


def read(story: Path | str) -> Story:
    """A story of the project by its name, or any story by its path.

    Raises:
        StoryError: No such story, or one that cannot be read, with its line and field.
    """
    path = Path(story)
    if path.suffix != SUFFIX:
        path = workloads_folder() / f"{story}{SUFFIX}"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        legal = f"{', '.join(names())}, or the path of a file that ends in {SUFFIX}"
        raise StoryError("story", found=str(story), legal=legal) from None
    except (OSError, UnicodeDecodeError) as error:
        raise StoryError(path.name, found=str(error), legal="a text file in UTF-8") from None
    return parse(text, file_name=path.name)


def parse(text: str, *, file_name: str = "story") -> Story:
    """The story that a text tells; `parse(text_of(story)) == story`.

    Raises:
        StoryError: With file, line and field.
    """
    heads: dict[str, Block] = {}
    steps: list[Ask | Repeat] = []
    for block in read_blocks(text, file_name):
        match block.kind:
            case "story" | "setting" | "options":
                if block.kind in heads or steps:
                    legal = f"one {block.kind}, before the first request"
                    block.place.refuse("", found=block.header, legal=legal)
                heads[block.kind] = block
            case "repeat":
                steps.append(_repeat(block))
            case _:
                steps.append(_ask(block))
    start = Place(file_name=file_name, line=1)
    if not steps:
        start.refuse("", found="no request", legal="one `chat` or `tokens` or more")
    options = heads.get("options")
    story = Story(
        title=_head(heads, "story", start),
        setting=_head(heads, "setting", start),
        options=EngineOptions() if options is None else read_options(options),
        steps=tuple(steps),
    )
    _check_whole(story, start)
    return story


# ── reading, part by part ───────────────────────────────────────────────────────────────────────


def _head(heads: dict[str, Block], kind: str, start: Place) -> str:
    block = heads.get(kind)
    if block is None:
        start.refuse(kind, found="none", legal=f"a line `{kind} ...` before the first request")
    if block.fields or not block.rest:
        block.place.refuse(kind, found=block.header, legal=f"`{kind}` and a text, on one line")
    return block.rest


def _repeat(block: Block) -> Repeat:
    matched = _REPEAT.fullmatch(block.header)
    if matched is None:
        legal = "`repeat N rounds` or `repeat N rounds over WORDS`"
        block.place.refuse("repeat", found=block.header, legal=legal)
    over = tuple(_items(block.place, matched[2] or ""))
    asks = tuple(_ask(inner) for inner in block.blocks)
    if not asks:
        block.place.refuse("repeat", found="no request", legal="one or more, indented under it")
    if not over and any(ITEM in str(ask) for ask in asks):
        legal = "`over WORDS`, which it stands for"
        block.place.refuse("repeat", found=f"{ITEM} in a request", legal=legal)
    return Repeat(rounds_count=int(matched[1]), over=over, asks=asks)


def _items(place: Place, text: str) -> Iterator[str]:
    for word in text.split():
        matched = _RANGE.fullmatch(word)
        if matched is None:
            if not _ITEM.fullmatch(word):
                legal = "words of letters, digits, _ and -, or a range as a-1..a-8"
                place.refuse("repeat", found=word, legal=legal)
            yield word
            continue
        first, last = int(matched[2]), int(matched[3])
        if not first <= last < first + MAX_ASKS:
            place.refuse("repeat", found=word, legal=f"a range that rises by less than {MAX_ASKS}")
        yield from (f"{matched[1]}{ordinal}" for ordinal in range(first, last + 1))


def _ask(block: Block) -> Ask:
    if block.kind not in _TURN_FIELDS:
        legal = "story, setting, options, chat, tokens or repeat"
        block.place.refuse("", found=block.header, legal=legal)
    legal_fields = (*_TURN_FIELDS[block.kind], *_ANY_FIELDS, *_SAMPLING_FIELDS)
    given = block.by_name(legal_fields, many=(*_SPEAKERS, "stop"))
    conversation = read_name(block.place, block.kind, block.rest) if block.rest else None
    source, cancel, marks = given.get("from"), given.get("cancel"), given.get("marks")
    return Ask(
        conversation=conversation,
        begins_from=None if source is None else source.name_text(),
        turn=_chat_turn(block, given) if block.kind == "chat" else _token_turn(block, given),
        arrival=_arrival(given),
        options=_request_options(block, given, conversation),
        marks=NO_MARKS if marks is None else _marks(marks, in_tokens=block.kind == "tokens"),
        cancelled_after_tokens=None if cancel is None else cancel.positive("tokens"),
        line=block.place.line,
    )


def _marks(field: Field, *, in_tokens: bool) -> Marks:
    try:
        return parse_marks(field.written, in_tokens=in_tokens)
    except UnreadableMark as error:
        field.place.refuse(field.name, found=error.found, legal=error.legal)


def _chat_turn(block: Block, given: dict[str, Field]) -> ChatTurn:
    drop, answer = given.get("drop"), given.get("answer")
    messages = tuple(
        Message(role=_SPEAKERS[each.name], content=each.text())
        for each in block.fields
        if each.name in _SPEAKERS
    )
    if not messages and drop is None:
        block.place.refuse("chat", found="no message", legal="one, or `drop` to ask again")
    return ChatTurn(
        dropped_messages=0 if drop is None else drop.positive("messages"),
        messages=messages,
        answer=None if answer is None else answer.text(),
    )


def _token_turn(block: Block, given: dict[str, Field]) -> TokenTurn:
    drop, prompt, answer = given.get("drop"), given.get("prompt"), given.get("answer")
    end = given.get(_PROMPT_END)
    if prompt is None and drop is None:
        block.place.refuse("tokens", found="no prompt", legal="one, or `drop` to ask again")
    return TokenTurn(
        dropped_tokens=0 if drop is None else drop.positive("tokens"),
        pieces=() if prompt is None else prompt.pieces(),
        answer=() if answer is None else answer.pieces(),
        anchors_prompt_end=end is not None and end.choice(SWITCH),
    )


def _arrival(given: dict[str, Field]) -> At | After:
    at, after = given.get("at"), given.get("after")
    if at is None:
        return After(pause_ns=0 if after is None else after.duration_ns())
    if after is not None:
        after.place.refuse("after", found="`at` as well", legal="one of the two")
    return At(moment_ns=at.duration_ns())


def _request_options(
    block: Block, given: dict[str, Field], conversation: str | None
) -> RequestOptions:
    limit, mode, session = given.get("max_output"), given.get("mode"), given.get("session")
    modes, purpose = {each.value: each for each in CacheMode}, given.get("purpose")
    purposes = {each.value: each for each in RequestPurpose}
    key = conversation
    if session is not None:
        key = None if session.written == ANONYMOUS else session.name_text()
    try:
        return RequestOptions(
            max_output_tokens=None if limit is None else limit.positive("tokens"),
            sampling=_sampling(given),
            stop_strings=tuple(each.text() for each in block.fields if each.name == "stop"),
            mode=CacheMode.READ_WRITE if mode is None else mode.choice(modes),
            session_key=None if key is None else SessionKey(key),
            stop_at_end_token=block.kind == "chat",
            purpose=RequestPurpose.CONVERSATION if purpose is None else purpose.choice(purposes),
        )
    except StoryError:
        raise
    except NinferLabError as error:
        block.place.refuse(error.what, found=error.found, legal=error.legal)


def _sampling(given: dict[str, Field]) -> Sampling:
    temperature, top_k = given.get("temperature"), given.get("top_k")
    top_p, seed = given.get("top_p"), given.get("seed")
    return Sampling(
        temperature=0.0 if temperature is None else temperature.decimal(),
        top_k=None if top_k is None else top_k.count(),
        top_p=1.0 if top_p is None else top_p.decimal(),
        seed=0 if seed is None else seed.count(),
    )


def _check_whole(story: Story, start: Place) -> None:
    """What only the whole story tells: its length, and which conversation is of which kind."""
    if story.asks_count > MAX_ASKS:
        found = f"{story.asks_count} requests"
        start.refuse("repeat", found=found, legal=f"at most {MAX_ASKS}, repeats unfolded")
    kinds: dict[str, type[ChatTurn | TokenTurn]] = {}
    for ask in story.asks:
        place = Place(file_name=start.file_name, line=ask.line)
        kind = type(ask.turn)
        if ask.begins_from is not None:
            if ask.begins_from not in kinds:
                legal = f"a conversation before it: {', '.join(kinds) or 'there is none yet'}"
                place.refuse("from", found=ask.begins_from, legal=legal)
            if kinds[ask.begins_from] is not kind:
                place.refuse("from", found="messages and tokens", legal="one kind of history")
            if ask.conversation in kinds:
                legal = "a conversation that begins with it"
                place.refuse("from", found=f"{ask.conversation}, begun before", legal=legal)
        if ask.conversation is not None and kinds.setdefault(ask.conversation, kind) is not kind:
            found = f"{ask.conversation} with messages and with tokens"
            place.refuse("", found=found, legal="one kind of history")


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


def text_of(story: Story) -> str:
    """The story as text; comments and the layout of the file it came from are not in it."""
    lines = [f"story {story.title}", f"setting {story.setting}"]
    options = [f"{INDENT}{name}: {text}" for name, text in written_options(story.options)]
    lines += ["", "options", *options] if options else []
    for step in story.steps:
        lines.append("")
        match step:
            case Ask():
                lines += _ask_lines(step)
            case Repeat():
                over = f" over {' '.join(step.over)}" if step.over else ""
                lines.append(f"repeat {step.rounds_count} rounds{over}")
                lines += [INDENT + line for ask in step.asks for line in _ask_lines(ask)]
            case _:
                assert_never(step)
    return "\n".join(lines) + "\n"


def _ask_lines(ask: Ask) -> list[str]:
    kind = "chat" if isinstance(ask.turn, ChatTurn) else "tokens"
    header = kind if ask.conversation is None else f"{kind} {ask.conversation}"
    return [header, *(f"{INDENT}{name}: {text}" for name, text in _fields_of(ask))]


def _fields_of(ask: Ask) -> Iterator[tuple[str, str]]:
    match ask.arrival:
        case At(moment_ns=moment_ns):
            yield "at", text_of_duration(moment_ns)
        case After(pause_ns=pause_ns) if pause_ns:
            yield "after", text_of_duration(pause_ns)
    if ask.begins_from is not None:
        yield "from", ask.begins_from
    if ask.options.session_key != ask.conversation:
        yield "session", ask.options.session_key or ANONYMOUS
    match ask.turn:
        case ChatTurn() as turn:
            if turn.dropped_messages:
                yield "drop", f"{turn.dropped_messages} messages"
            for message in turn.messages:
                yield message.role.value, text_of_text(message.content)
            if turn.answer is not None:
                yield "answer", text_of_text(turn.answer)
        case TokenTurn() as turn:
            if turn.dropped_tokens:
                yield "drop", f"{turn.dropped_tokens} tokens"
            if turn.pieces:
                yield "prompt", " ".join(map(str, turn.pieces))
            if turn.answer:
                yield "answer", " ".join(map(str, turn.answer))
            if turn.anchors_prompt_end:
                yield _PROMPT_END, ON
    if ask.marks != NO_MARKS:
        yield "marks", str(ask.marks)
    if ask.cancelled_after_tokens is not None:
        yield "cancel", f"{ask.cancelled_after_tokens} tokens"
    yield from _options_of(ask.options)


def _options_of(options: RequestOptions) -> Iterator[tuple[str, str]]:
    if options.max_output_tokens is not None:
        yield "max_output", f"{options.max_output_tokens} tokens"
    if options.mode is not CacheMode.READ_WRITE:
        yield "mode", options.mode.value
    if options.purpose is not RequestPurpose.CONVERSATION:
        yield "purpose", options.purpose.value
    for stop in options.stop_strings:
        yield "stop", text_of_text(stop)
    for name in _SAMPLING_FIELDS:
        if (value := getattr(options.sampling, name)) != getattr(Sampling(), name):
            yield name, str(value)
