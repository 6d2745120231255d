"""Which tokens of a conversation does training look at?

Owns the step from a conversation to token ids with a weight each.
Does not know tensors or the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tokenizers import Tokenizer

from ninfer_lab.contract.prompt import Message, Role
from ninfer_lab.lab.tiny_model.phrases import FactKind
from ninfer_lab.lab.tiny_model.tokenizer import MESSAGE_END, MESSAGE_START, THINK_END, THINK_START
from ninfer_lab.lab.tiny_model.world import Conversation, Reply

VALUE_WEIGHT: Final = 1.0
SPEECH_WEIGHT: Final = 0.1
"""The other words of a reply follow from the question alone and are soon learned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One conversation as the model sees it.

    Attributes:
        token_ids: The rendered conversation.
        weights: Per token, how much predicting it counts; 0 for what the assistant does not say.
        values: `(position, kind)` of every value word in a reply.
    """

    token_ids: tuple[int, ...]
    weights: tuple[float, ...]
    values: tuple[tuple[int, FactKind], ...]


class ExampleEncoder:
    """Encodes conversations message by message.

    ChatML's markers cut the text, so this equals encoding the rendered whole.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._end = self._id(MESSAGE_END)
        self._think_start = self._id(THINK_START)
        self._think_end = self._id(THINK_END)
        self._full_stop = self._id(".")
        self._headers = {
            role: tuple(self._encode(f"{MESSAGE_START}{role.value}\n")) for role in Role
        }
        self._line_end = self._id_of_text("\n")

    def encode(self, conversation: Conversation) -> Example:
        """Token ids, weights and value positions of a conversation."""
        replies = {reply.message_index: reply for reply in conversation.replies}
        token_ids: list[int] = []
        weights: list[float] = []
        values: list[tuple[int, FactKind]] = []
        for index, message in enumerate(conversation.messages):
            content, aloud = self._content(message)
            token_ids.extend(self._headers[message.role])
            start = len(token_ids)
            token_ids.extend((*content, self._line_end))
            weights.extend([0.0] * (len(token_ids) - len(weights)))
            if message.role is not Role.ASSISTANT:
                continue
            reply = replies.get(index)
            if reply is None or len(reply.facts) == 1:
                # An opening <think> is part of the prompt, which decides whether the assistant
                # thinks.
                first = start + (message.reasoning is not None)
                weights[first : start + len(content)] = [SPEECH_WEIGHT] * (
                    len(content) - (first - start)
                )
            if reply is not None:
                found = self._value_offsets(content, aloud, reply)
                values.extend((start + offset, kind) for offset, kind in found)
                for offset, _ in found:
                    weights[start + offset] = VALUE_WEIGHT
        return Example(token_ids=tuple(token_ids), weights=tuple(weights), values=tuple(values))

    def _content(self, message: Message) -> tuple[tuple[int, ...], int]:
        """Token ids between a header and the line end, and where it is said aloud."""
        aloud = (*self._encode(message.content), self._end)
        if message.reasoning is None:
            return aloud, 0
        thought = (self._think_start, *self._encode(message.reasoning), self._think_end)
        return (*thought, *aloud), len(thought)

    def _value_offsets(
        self, content: tuple[int, ...], aloud: int, reply: Reply
    ) -> list[tuple[int, FactKind]]:
        """The word before each full stop of what is said aloud, fact by fact."""
        stops = [p for p in range(aloud, len(content)) if content[p] == self._full_stop]
        return [(p - 1, fact.kind) for p, fact in zip(stops, reply.facts, strict=True)]

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text).ids)

    def _id(self, token: str) -> int:
        token_id = self._tokenizer.token_to_id(token)
        assert token_id is not None
        return int(token_id)

    def _id_of_text(self, text: str) -> int:
        (token_id,) = self._encode(text)
        return token_id
