"""Which requests are put to every engine?

Owns a few streams of token prompts, made from one seed: short enough for a laptop, each of them a
question about reuse. Answers are forced to one token, so that the next turn of a conversation is
the same whatever engine answered. Requests of a stream come one after the other.
Does not know who serves them.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from string import ascii_lowercase
from types import MappingProxyType

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.contract.prompt import Message, Role
from ninfer_lab.lab.bench.checkpoints import SEED
from ninfer_lab.lab.bench.peers.vocabulary import chat_tokens, tokens_of

FIRST_WORD, LAST_WORD = 128, 1_000
"""Token ids of prompts, both included: above the characters of the GGUF vocabulary, and below its
end tokens."""

ANSWER_TOKEN = 120
"""What every answer consists of; no prompt's new tokens contain it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRequest:
    """One request.

    Attributes:
        label: What it asks about reuse, in a few words; requests of one label make one line of the
            table.
        session: The conversation that it goes on, for engines that are told; `None` for side
            requests, as this project's own client sends them.
        messages: What the prompt says, where it is a chat: an engine is sent these and renders them
            to the tokens of `prompt`.
        answer_tokens: How many tokens are drawn.
        forced_token: What all of them are; `None` leaves it to the model.
    """

    label: str
    prompt: tuple[int, ...]
    session: str | None
    messages: tuple[Message, ...] = ()
    answer_tokens: int = 1
    forced_token: int | None = ANSWER_TOKEN

    @property
    def total_tokens(self) -> int:
        """Prompt and answer."""
        return len(self.prompt) + self.answer_tokens

    @property
    def answer(self) -> tuple[int, ...]:
        """What is drawn; where the model chooses, something of that length."""
        token = ANSWER_TOKEN if self.forced_token is None else self.forced_token
        return (token,) * self.answer_tokens

    @property
    def history(self) -> tuple[int, ...]:
        """Prompt and answer: how a next turn begins."""
        return self.prompt + self.answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Requests in the order in which they are sent, each when the one before has ended."""

    name: str
    requests: tuple[PeerRequest, ...]

    @property
    def longest_tokens(self) -> int:
        """Prompt and answer of the longest request."""
        return max(request.total_tokens for request in self.requests)

    @property
    def digest(self) -> str:
        """Changes with every token of every request."""
        whole = hashlib.sha256()
        for request in self.requests:
            whole.update(f"{len(request.prompt)}/{request.answer_tokens}:".encode())
            whole.update(array("I", request.prompt).tobytes())
        return whole.hexdigest()[:16]


class Words:
    """Draws tokens that nobody has seen before."""

    def __init__(self, seed: int = SEED) -> None:
        self._random = Random(seed)

    def new(self, count_tokens: int) -> tuple[int, ...]:
        """So many fresh tokens."""
        return tuple(self._random.randint(FIRST_WORD, LAST_WORD) for _ in range(count_tokens))

    def text(self, length: int) -> str:
        """So many fresh characters."""
        return "".join(self._random.choice(f"{ascii_lowercase}    ") for _ in range(length))


def branches() -> Stream:
    """The same again, three branches at one point, and a longer one."""
    words = Words()
    first = words.new(4_096)
    branched = [
        PeerRequest(
            label=f"{ordinal} branch at 2,000",
            prompt=first[:2_000] + words.new(2_096),
            session=ordinal,
        )
        for ordinal in ("first", "second", "third")
    ]
    longer = first + words.new(200)
    return Stream(
        name="branches",
        requests=(
            PeerRequest(label="cold", prompt=first, session="trunk"),
            PeerRequest(label="the same again", prompt=first, session="trunk"),
            *branched,
            PeerRequest(label="the first and 200 more", prompt=longer, session="trunk"),
        ),
    )


class _Conversation:
    """Turns that go on from the answer before."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._turns: list[PeerRequest] = []

    def turn(self, new_tokens: int, *, answer_tokens: int = 30) -> PeerRequest:
        """The next turn: the history and so many new tokens."""
        history = self._turns[-1].history if self._turns else ()
        asked = self.instead(f"turn {len(self._turns) + 1}", history, new_tokens, answer_tokens)
        self._turns.append(asked)
        return asked

    def instead(
        self, label: str, history: tuple[int, ...], new_tokens: int, answer_tokens: int
    ) -> PeerRequest:
        """New tokens behind a history, of which the conversation knows nothing yet."""
        return PeerRequest(
            label=label,
            prompt=history + self._words.new(new_tokens),
            session="conversation",
            answer_tokens=answer_tokens,
        )

    def take_back(self, other: PeerRequest) -> None:
        """Goes on from another request than the last turn."""
        self._turns[-1] = other


def side_requests() -> Stream:
    """A conversation, and between its turns a title of two shapes.

    The first is a prompt of its own; the second is the whole conversation with an instruction
    behind it, which the client drops afterwards.
    """
    words = Words()
    talk = _Conversation(words)
    before = (talk.turn(1_000), talk.turn(40))
    title = PeerRequest(
        label="a title of its own", prompt=words.new(42), session=None, answer_tokens=10
    )
    third = talk.turn(40)
    postfix = replace(
        talk.instead("a title behind it all", third.history, 31, answer_tokens=10), session=None
    )
    after = (talk.turn(40), talk.turn(400), talk.turn(40))
    return Stream(name="side-requests", requests=(*before, title, third, postfix, *after))


def edits() -> Stream:
    """A conversation whose last message is said again in other words, and then once more."""
    talk = _Conversation(Words())
    first, second = talk.turn(900), talk.turn(600)
    once = talk.instead("turn 2, edited", first.history, 600, answer_tokens=30)
    twice = talk.instead("turn 2, edited again", first.history, 600, answer_tokens=30)
    talk.take_back(twice)
    return Stream(name="edits", requests=(first, second, once, twice, talk.turn(40)))


def long_answers() -> Stream:
    """A conversation whose answers are longer than what is asked."""
    talk = _Conversation(Words())
    requests = (
        talk.turn(1_100, answer_tokens=100),
        talk.turn(20, answer_tokens=400),
        talk.turn(20, answer_tokens=10),
    )
    return Stream(name="long-answers", requests=requests)


def chats() -> Stream:
    """A chat, its last message again and edited, and another chat behind the same instructions.

    An engine that is sent messages knows where each of them begins.
    """
    words = Words()
    letter = "C"

    def message(role: Role, length: int) -> Message:
        return Message(role=role, content=words.text(length))

    def asked(label: str, session: str, *messages: Message) -> PeerRequest:
        return PeerRequest(
            label=label,
            prompt=chat_tokens(messages),
            session=session,
            messages=messages,
            answer_tokens=8,
            forced_token=tokens_of(letter)[0],
        )

    instructions = message(Role.SYSTEM, 600)
    first = (instructions, message(Role.USER, 500))
    answered = (*first, Message(role=Role.ASSISTANT, content=letter * 8))
    second, edited = message(Role.USER, 500), message(Role.USER, 500)
    requests = (
        asked("turn 1", "first", *first),
        asked("turn 2", "first", *answered, second),
        asked("turn 2 again", "first", *answered, second),
        asked("turn 2, edited", "first", *answered, edited),
        asked("another chat", "second", instructions, message(Role.USER, 100)),
        asked("turn 2, edited, again", "first", *answered, edited),
    )
    return Stream(name="chats", requests=requests)


def cycle() -> Stream:
    """Twelve prompts of 1,500 tokens in turns, twice: the second round finds what was kept."""
    words = Words()
    prompts = [(f"client {number}", words.new(1_500)) for number in range(12)]
    return Stream(
        name="cycle",
        requests=tuple(
            PeerRequest(label=f"round {lap}", prompt=prompt, session=client)
            for lap in (1, 2)
            for client, prompt in prompts
        ),
    )


def first_tokens() -> Stream:
    """Prompts whose first token each model chooses: do all read the same weights?"""
    words = Words()
    return Stream(
        name="first-tokens",
        requests=tuple(
            PeerRequest(
                label="first tokens",
                prompt=words.new(100 + 50 * number),
                session=f"client {number}",
                forced_token=None,
            )
            for number in range(8)
        ),
    )


STREAMS: Mapping[str, Callable[[], Stream]] = MappingProxyType(
    {
        "branches": branches,
        "side-requests": side_requests,
        "edits": edits,
        "long-answers": long_answers,
        "chats": chats,
        "cycle": cycle,
        "first-tokens": first_tokens,
    }
)
"""All of them by name."""


def stream_named(name: str) -> Stream:
    """The stream of that name, the same at every call.

    Raises:
        OptionsError: There is none.
    """
    if name not in STREAMS:
        raise OptionsError("stream", found=name, legal=" or ".join(STREAMS))
    return STREAMS[name]()
