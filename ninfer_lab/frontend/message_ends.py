"""Where in the rendered prompt does each message end, and what can the next request change?

Owns the search for those character positions. A template is a program nobody parses: positions are
found by rendering variants of the conversation and comparing texts, and one that cannot be found
with certainty is left out. Left out means one checkpoint fewer, never a wrong one.
Does not know tokens: `prepared_prompt` keeps the positions that fall on token frontiers.
Source: OWN-5 (rewrite boundaries), IDN-3 (rewrite_execution_frontiers).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.prompt import ChatPrompt, Message, Role
from ninfer_lab.frontend.chat_template import ChatTemplate

_MARK = "\ue0f7"
"""A private-use character: no text means anything by it, and one that holds it is seen to."""

_MARKED = re.compile(f"{_MARK}([0-9]+){_MARK}")

_PROBE = "ninfer"
"""Content of messages that are rendered only to see where they would stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedChat:
    """A rendered prompt with the positions the messages imply.

    Args:
        text: The prompt, generation opener included.
        message_ends_chars: One entry per message: where it ends, which is where the next message's
            header (or the opener) begins; `None` where that cannot be told.
        next_turn: The same conversation with an answer and a new user message after it; `None`
            where the template accepts no such continuation.
    """

    text: str
    message_ends_chars: tuple[int | None, ...]
    next_turn: str | None

    @property
    def opener_chars(self) -> int | None:
        """Where the generation opener begins: the end of the last message."""
        return self.message_ends_chars[-1]

    @property
    def unchanged_chars(self) -> int:
        """How much of the text the next turn's rendering leaves as it is."""
        return 0 if self.next_turn is None else common_prefix_chars(self.text, self.next_turn)


def render_with_ends(template: ChatTemplate, chat: ChatPrompt) -> RenderedChat:
    """Render a conversation and locate the end of each message.

    Args:
        template: The checkpoint's.
        chat: At least one message.

    Raises:
        PromptError: The template does not accept the conversation.
    """
    search = _EndSearch(template, chat)
    search.find_by_last_message()
    search.find_by_closings()
    search.find_by_headers()
    search.find_by_prefixes()
    return RenderedChat(
        text=search.text,
        message_ends_chars=search.increasing_ends(),
        next_turn=_next_turn(template, chat),
    )


def common_prefix_chars(left: str, right: str) -> int:
    """Length of the common beginning of two texts, by comparing blocks of doubling size."""
    limit, same, step = min(len(left), len(right)), 0, 256
    while same < limit:
        end = min(same + step, limit)
        if left[same:end] != right[same:end]:
            break
        same, step = end, step * 2
    else:
        return limit
    low, high = same, end
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low


class _EndSearch:
    """Four ways to find message ends, from the surest and cheapest to the dearest.

    Each fills only what the ones before left open. None depends on how far a message is from the
    end of the conversation, so the next request finds the same positions again.
    """

    def __init__(self, template: ChatTemplate, chat: ChatPrompt) -> None:
        self.text = template.render_prompt(chat)
        self._template = template
        self._chat = chat
        self._history = _history_or_none(template, chat)
        self._ends_chars: list[int | None] = [None] * len(chat.messages)
        self._contents_end_chars = self._find_contents()

    def find_by_last_message(self) -> None:
        """The last message ends where the prompt and the rendering without opener part."""
        if self._history is not None and self.text.startswith(self._history):
            self._ends_chars[-1] = len(self._history)

    def find_by_closings(self) -> None:
        """What follows a content up to its message's end is the same for all of one role."""
        closings: dict[Role, str | None] = {}
        for ordinal, message in enumerate(self._chat.messages):
            content_end_chars = self._contents_end_chars[ordinal]
            if content_end_chars is None or message.tool_calls:
                continue
            if message.role not in closings:
                closings[message.role] = self._closing_after(ordinal)
            closing = closings[message.role]
            if self._ends_chars[ordinal] is not None or closing is None:
                continue
            # A template either keeps the blanks a content ends with or trims them.
            for rest in (_trailing_blanks(message) + closing, closing):
                if self.text.startswith(rest, content_end_chars):
                    self._ends_chars[ordinal] = content_end_chars + len(rest)
                    break

    def find_by_headers(self) -> None:
        """A message ends where the only header of the next message's role begins."""
        headers: dict[Role, str | None] = {}
        for ordinal, following in enumerate(self._chat.messages[1:]):
            if self._ends_chars[ordinal] is not None:
                continue
            start_chars = self._contents_end_chars[ordinal]
            if start_chars is None:
                start_chars = self._ends_chars[ordinal - 1] if ordinal else None
            end_chars = self._contents_end_chars[ordinal + 1]
            if end_chars is None:
                end_chars = self._ends_chars[ordinal + 1]
            if start_chars is None or end_chars is None:
                continue
            if following.role not in headers:
                headers[following.role] = self._header_of(following.role)
            header = headers[following.role]
            if header:
                self._ends_chars[ordinal] = _only_occurrence(
                    self.text, header, start_chars, end_chars
                )

    def find_by_prefixes(self) -> None:
        """A message ends where the rendering of all messages up to it ends."""
        for ordinal, end_chars in enumerate(self._ends_chars):
            if end_chars is None:
                prefix = _history_or_none(self._template, self._prefix(ordinal))
                if prefix is not None and self.text.startswith(prefix):
                    self._ends_chars[ordinal] = len(prefix)

    def increasing_ends(self) -> tuple[int | None, ...]:
        """The ends found, without any that does not lie after the ones before it."""
        kept: list[int | None] = []
        reached_chars = 0
        for end_chars in self._ends_chars:
            if end_chars is None or end_chars <= reached_chars:
                kept.append(None)
            else:
                kept.append(end_chars)
                reached_chars = end_chars
        return tuple(kept)

    def _find_contents(self) -> list[int | None]:
        """Where each content ends in the text, by one rendering with a mark after every content.

        Holds only if taking the marks out again gives the prompt itself: then the template did
        not look at what the marks changed.
        """
        count = len(self._chat.messages)
        nothing: list[int | None] = [None] * count
        marked = replace(
            self._chat,
            messages=tuple(_marked(m, ordinal) for ordinal, m in enumerate(self._chat.messages)),
        )
        try:
            marked_text = self._template.render_prompt(marked)
        except PromptError:
            return nothing
        if _MARKED.sub("", marked_text) != self.text:
            return nothing
        found: dict[int, int] = {}
        marks_chars = 0
        for mark in _MARKED.finditer(marked_text):
            ordinal = int(mark.group(1))
            if ordinal in found:  # a template that prints a content twice tells no position
                return nothing
            found[ordinal] = mark.start() - marks_chars
            marks_chars += len(mark.group())
        if list(found) != sorted(found):  # contents moved out of the order of the messages
            return nothing
        return [found.get(ordinal) for ordinal in range(count)]

    def _closing_after(self, ordinal: int) -> str | None:
        """What a rendering that ends with this message puts after its content."""
        prefix = self._prefix(ordinal)
        last = replace(prefix.messages[-1], content=prefix.messages[-1].content.rstrip())
        last = _marked(last, ordinal)
        rendered = _history_or_none(
            self._template, replace(prefix, messages=(*prefix.messages[:-1], last))
        )
        if rendered is None or rendered.count(_MARK) != 2:
            return None
        return rendered[rendered.rindex(_MARK) + 1 :]

    def _header_of(self, role: Role) -> str | None:
        """What a rendering puts between the end of a message and one of this role after it.

        Looked for after this conversation, and where its last message and the next would be drawn
        as one (tool results in a row) after one more user message.
        """
        question = Message(role=Role.USER, content=_PROBE)
        for before in (self._chat.messages, (*self._chat.messages, question)):
            ended = _history_or_none(self._template, replace(self._chat, messages=before))
            longer = (*before, Message(role=role, content=_PROBE))
            rendered = _history_or_none(self._template, replace(self._chat, messages=longer))
            if ended is None or rendered is None or not rendered.startswith(ended):
                continue
            added = rendered[len(ended) :]
            if _PROBE in added:
                return added[: added.index(_PROBE)]
        return None

    def _prefix(self, ordinal: int) -> ChatPrompt:
        return replace(self._chat, messages=self._chat.messages[: ordinal + 1])


def _next_turn(template: ChatTemplate, chat: ChatPrompt) -> str | None:
    """The prompt after some answer and some user message, if the template can show one."""
    answer = Message(role=Role.ASSISTANT, content=_PROBE)
    question = Message(role=Role.USER, content=_PROBE)
    for tail in ((answer, question), (question,)):
        try:
            return template.render_prompt(replace(chat, messages=(*chat.messages, *tail)))
        except PromptError:
            continue
    return None


def _history_or_none(template: ChatTemplate, chat: ChatPrompt) -> str | None:
    try:
        return template.render_history(chat)
    except PromptError:
        return None


def _marked(message: Message, ordinal: int) -> Message:
    """The message with a mark after its last visible character, or as it is if it has none."""
    visible = message.content.rstrip()
    if not visible:
        return message
    tail = _trailing_blanks(message)
    return replace(message, content=f"{visible}{_MARK}{ordinal}{_MARK}{tail}")


def _trailing_blanks(message: Message) -> str:
    return message.content[len(message.content.rstrip()) :]


def _only_occurrence(text: str, part: str, start_chars: int, end_chars: int) -> int | None:
    """Where `part` stands in `text[start:end)`, if it stands there exactly once."""
    first = text.find(part, start_chars, end_chars)
    if first < 0 or text.rfind(part, start_chars, end_chars) != first:
        return None
    return first
