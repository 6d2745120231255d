"""How does an answer grow, why does it end, and how far will its text come back as the same tokens?

Owns the facts that cross from the frontend to the engine about accepted output: deltas, finish
reasons, the cut a stop string makes, the output reconstruction boundary.
Does not know text rules (that is `frontend.accepted_output`), state, pages or owners: the engine
compares the numbers here with what a sequence has consumed.
Source: IDN-5 (output reconstruction boundary).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ninfer_lab.contract.errors import PromptError

MAX_STOP_STRINGS = 16
"""Every stop string is looked for after every token, so their number is bounded."""

MAX_STOP_STRING_CHARS = 256
"""A stop string holds back at most this much text before it is known to have matched or not."""


class FinishReason(Enum):
    """Why an answer ended."""

    STOP = "stop"
    """A stop token (usually the model's own end of turn)."""
    STOP_STRING = "stop_string"
    """A stop string of the request appeared in the text."""
    LENGTH = "length"
    """The output limit, or the capacity the request was given, is used up."""
    CANCELLED = "cancelled"
    """The caller took the request back."""
    FAILED = "failed"
    """The machine could not continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputRules:
    """When one answer ends.

    Args:
        max_output_tokens: The answer ends with `LENGTH` once so many tokens are accepted.
        stop_token_ids: Any of these ends the answer with `STOP` and leaves no text.
        stop_strings: The one that completes first in the text ends the answer with `STOP_STRING`;
            the text before it is kept.

    Raises:
        PromptError: A limit below 1, an empty or overlong stop string, too many of them.
    """

    max_output_tokens: int
    stop_token_ids: tuple[int, ...] = ()
    stop_strings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.max_output_tokens < 1:
            raise PromptError("max_output_tokens", found=self.max_output_tokens, legal="at least 1")
        if len(self.stop_strings) > MAX_STOP_STRINGS:
            raise PromptError(
                "stop_strings", found=len(self.stop_strings), legal=f"at most {MAX_STOP_STRINGS}"
            )
        for text in self.stop_strings:
            if not 1 <= len(text) <= MAX_STOP_STRING_CHARS:
                raise PromptError(
                    "stop string",
                    found=f"{text!r} of {len(text)} characters",
                    legal=f"1 to {MAX_STOP_STRING_CHARS} characters",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class StopCut:
    """Where a stop string cut the answer.

    Args:
        stop_string: The one that completed first.
        accepted_tokens: The most output tokens whose whole text lies before the cut.
        pushed_tokens: Output tokens sampled up to and including the one that completed it.
    """

    stop_string: str
    accepted_tokens: int
    pushed_tokens: int


class OutputDelta(NamedTuple):
    """What one more token adds to the answer; made for every token, hence a named tuple.

    Args:
        text: Text that is final: no later token changes it. Often empty.
        finished: Set once, by the push or the finish that ended the answer.
    """

    text: str
    finished: FinishReason | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """How many output tokens the next request's rendering brings back exactly, by what follows.

    Positions are relative to the first output token, and each is a token frontier. `None` means
    that the rendering already departs before the answer, so not even the prompt comes back whole.
    The client of a raw token prompt hands the ids back: both are then the accepted tokens.

    Args:
        after_user_message_tokens: When a new user message follows the answer.
        after_tool_result_tokens: When a tool result follows it (the same turn goes on).
    """

    after_user_message_tokens: int | None
    after_tool_result_tokens: int | None

    @property
    def boundary_tokens(self) -> int | None:
        """The farther of the two: some next request can come back this far, none farther."""
        known = [
            tokens
            for tokens in (self.after_user_message_tokens, self.after_tool_result_tokens)
            if tokens is not None
        ]
        return max(known, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedText:
    """A finished answer.

    Args:
        text: All text handed out, exactly the concatenation of the deltas.
        reasoning: The part between the thinking marks; `None` where the answer has none.
        content: The answer without its reasoning.
        finished: Why it ended.
        accepted_tokens: Output tokens whose whole text is in `text` (a stop token is not).
        stop_cut: Set when a stop string ended the answer.
        reconstruction: How much of it the history renderer will bring back.
    """

    text: str
    reasoning: str | None
    content: str
    finished: FinishReason
    accepted_tokens: int
    stop_cut: StopCut | None
    reconstruction: Reconstruction

    @property
    def reconstruction_boundary_tokens(self) -> int | None:
        """IDN-5: the largest accepted prefix, in tokens, that a next request can render exactly."""
        return self.reconstruction.boundary_tokens

    def allows_endpoint_at(self, consumed_output_tokens: int) -> bool:
        """Whether a state that consumed so many output tokens holds nothing but accepted ones.

        A stop string that cut below what the state consumed makes this false: no endpoint is
        published then.
        """
        return consumed_output_tokens <= self.accepted_tokens
