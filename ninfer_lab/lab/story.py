"""What do clients send, and when? A scenario as a value.

Owns `Story`: the options of an engine and the requests in order, each a chat or a recipe of token
streams, with its arrival and with what it is answered in a world that makes no words. Holds inputs
only: what an engine does with them is for others to see.
Does not know the text form (`stories`), nor who sends the requests (`story_client`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.options import EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import Message
from ninfer_lab.lab.story_marks import NO_MARKS, Marks

MAX_ASKS = 100_000
"""Requests of one story, repeats unfolded: each is held in memory until it is sent."""

ROUND, ITEM = "{round}", "{item}"
"""What stands for the round, from 1, and for the item in the names and texts of a repeat."""


class StoryError(NinferLabError):
    """A story that cannot be read or told, named by file, line and field (BAD-1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """Arrives so long after the start, but never while its own conversation is being answered."""

    moment_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """Arrives so long after the end of the request before it in the story."""

    pause_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The first tokens of a named stream; equal names give equal tokens."""

    stream: str
    tokens: int

    def __str__(self) -> str:
        return f"{self.stream}[{self.tokens}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """More messages for a conversation.

    Attributes:
        dropped_messages: Taken off the end of the history first: an edit, or with no new message
            the same question again.
        messages: What the client adds.
        answer: What a world without a model says; a model says its own.
    """

    dropped_messages: int = 0
    messages: tuple[Message, ...] = ()
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTurn:
    """More token ids for a conversation.

    Attributes:
        dropped_tokens: Taken off the end of the history first.
        pieces: What the client adds.
        answer: As in `ChatTurn`; as long as this is the output unless a limit says less.
        anchors_prompt_end: Whether the same prompt, coming again, is to compute one token (ANC-2).
    """

    dropped_tokens: int = 0
    pieces: tuple[Piece, ...] = ()
    answer: tuple[Piece, ...] = ()
    anchors_prompt_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request.

    Attributes:
        conversation: Whose history it continues, and which its answer joins; `None` stands alone.
        begins_from: Another conversation, a copy of whose history it begins with.
        turn: What is added to the history.
        options: Its session is the conversation's name unless the story says otherwise.
        marks: Where its prompt may be shared, or come back to.
        cancelled_after_tokens: The client takes it back once so many output tokens were drawn.
        line: Where it stands in its file; no part of what it asks.
    """

    conversation: str | None
    begins_from: str | None = None
    turn: ChatTurn | TokenTurn
    arrival: At | After = After(pause_ns=0)
    options: RequestOptions
    marks: Marks = NO_MARKS
    cancelled_after_tokens: int | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """The same requests over and over, in each round once for each item.

    Attributes:
        over: Words that `{item}` stands for; none at all for plain rounds.
    """

    rounds_count: int
    over: tuple[str, ...]
    asks: tuple[Ask, ...]

    @property
    def asks_count(self) -> int:
        """Requests, unfolded."""
        return self.rounds_count * max(1, len(self.over)) * len(self.asks)

    def unfolded(self) -> Iterator[Ask]:
        """Every request, round after round and item after item."""
        for ordinal in range(1, self.rounds_count + 1):
            for item in self.over or ("",):
                for ask in self.asks:
                    yield _filled(ask, {ROUND: str(ordinal), ITEM: item})


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A scenario.

    Attributes:
        title: The question it asks, in a line.
        setting: Name of the model and machine it plays on (`worlds`).
        options: Of the engine.
        steps: Requests, and blocks of them that repeat.
    """

    title: str
    setting: str
    options: EngineOptions
    steps: tuple[Ask | Repeat, ...]

    @property
    def asks(self) -> tuple[Ask, ...]:
        """Every request in order, repeats unfolded."""
        return tuple(self._unfolded())

    @property
    def asks_count(self) -> int:
        """How many requests there are."""
        return sum(step.asks_count if isinstance(step, Repeat) else 1 for step in self.steps)

    def _unfolded(self) -> Iterator[Ask]:
        for step in self.steps:
            if isinstance(step, Repeat):
                yield from step.unfolded()
            else:
                yield step


def _filled(ask: Ask, words: dict[str, str]) -> Ask:
    """The request with the round and the item in every name and text."""

    def fill(text: str) -> str:
        for mark, word in words.items():
            text = text.replace(mark, word)
        return text

    def fill_if(text: str | None) -> str | None:
        return None if text is None else fill(text)

    def fill_pieces(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
        return tuple(replace(piece, stream=fill(piece.stream)) for piece in pieces)

    turn: ChatTurn | TokenTurn
    match ask.turn:
        case ChatTurn(messages=messages, answer=answer):
            filled = tuple(replace(each, content=fill(each.content)) for each in messages)
            turn = replace(ask.turn, messages=filled, answer=fill_if(answer))
        case TokenTurn(pieces=pieces, answer=said):
            turn = replace(ask.turn, pieces=fill_pieces(pieces), answer=fill_pieces(said))
    key = ask.options.session_key
    options = replace(
        ask.options,
        session_key=None if key is None else SessionKey(fill(key)),
        stop_strings=tuple(map(fill, ask.options.stop_strings)),
    )
    return replace(
        ask,
        conversation=fill_if(ask.conversation),
        begins_from=fill_if(ask.begins_from),
        turn=turn,
        options=options,
    )
