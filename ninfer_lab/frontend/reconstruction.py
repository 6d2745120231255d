"""How many tokens of an answer will the next request's rendering bring back exactly?

Owns the one place where a finished answer is rendered as history and compared, token by token,
with what was sampled. Nothing is guessed from text: the conversation with the answer in it is
rendered as the next request would be, and encoded.
Does not know endpoints, states or owners: its numbers are relative to the first output token.
Source: IDN-5 (output reconstruction boundary).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.output import Reconstruction
from ninfer_lab.contract.prompt import ChatPrompt, Message, Role
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.frontend.chat_template import ChatTemplate
from ninfer_lab.frontend.tokenizer import Tokenizer

_PROBE = "ninfer"
"""Content of the message that follows; the comparison never reaches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A conversation, its prompt tokens, and the answer it got.

    Args:
        chat: What was asked.
        prompt_tokens: Its rendering, opener included.
        output_tokens: The accepted output tokens.
        answer: The answer as the message a client would send back.
    """

    chat: ChatPrompt
    prompt_tokens: TokenSpan
    output_tokens: TokenSpan
    answer: Message


def reconstruct(tokenizer: Tokenizer, template: ChatTemplate, answered: Answered) -> Reconstruction:
    """Compare what was sampled with what the history renderer will produce. Reads only.

    Args:
        tokenizer: The checkpoint's.
        template: The checkpoint's.
        answered: The finished exchange.

    Returns:
        For a user message and for a tool result as the next message, the largest accepted prefix
        that comes back; `None` where the template refuses that message or changes the prompt.
    """
    comparison = _Comparison(tokenizer, template, answered)
    return Reconstruction(
        after_user_message_tokens=comparison.common_output_tokens(Role.USER),
        after_tool_result_tokens=comparison.common_output_tokens(Role.TOOL),
    )


class _Comparison:
    """What stays equal between the prompt and its continuation is found once, as text.

    The common history is not encoded again where that is certain to give the same tokens: where the
    generation opener begins with a token that parts the text around it.
    """

    def __init__(self, tokenizer: Tokenizer, template: ChatTemplate, answered: Answered) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._answered = answered
        self._sampled = answered.prompt_tokens + answered.output_tokens
        self._skipped_text, self._skipped_tokens = self._history_to_skip()

    def common_output_tokens(self, following: Role) -> int | None:
        """Output tokens brought back when a message of this role follows the answer."""
        chat = self._answered.chat
        tail = (self._answered.answer, Message(role=following, content=_PROBE))
        try:
            text = self._template.render_prompt(replace(chat, messages=(*chat.messages, *tail)))
        except PromptError:
            return None
        if not text.startswith(self._skipped_text):
            return None
        rendered = self._tokenizer.encode_tokens(text[len(self._skipped_text) :])
        same_tokens = rendered.common_prefix_tokens(self._sampled[self._skipped_tokens :])
        output_tokens = self._skipped_tokens + same_tokens - len(self._answered.prompt_tokens)
        return output_tokens if output_tokens >= 0 else None

    def _history_to_skip(self) -> tuple[str, int]:
        """The text before the generation opener, and its length in tokens."""
        try:
            prompt = self._template.render_prompt(self._answered.chat)
            history = self._template.render_history(self._answered.chat)
        except PromptError:
            return "", 0
        if not prompt.startswith(history):
            return "", 0
        opener = self._tokenizer.encode_tokens(prompt[len(history) :])
        prompt_tokens = self._answered.prompt_tokens
        skipped_tokens = len(prompt_tokens) - len(opener)
        if not opener or not self._tokenizer.splits_at(opener[0]):
            return "", 0
        if prompt_tokens[skipped_tokens:] != opener:
            return "", 0
        return history, skipped_tokens
