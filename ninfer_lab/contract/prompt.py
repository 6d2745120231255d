"""What does a request ask, and which token positions of it may be cut, kept or written again?

Owns the two inputs (`ChatPrompt`, `TokenPrompt`), the prepared form every other room reads
(`PreparedPrompt`), its boundaries and its identity.
Does not know templates or tokenizers (`frontend`), nor whether anything at a boundary is worth
keeping (`context_cache`) or exists (`program`).
Source: OWN-4, OWN-5, IDN-3; ANC-2 for raw token prompts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import NewType

from ninfer_lab.contract.errors import InvariantBroken, PromptError
from ninfer_lab.contract.shared_prefix import (
    NO_HINTS,
    ChatMarker,
    SharedCandidate,
    SharedPrefixHints,
    TokenMarker,
)
from ninfer_lab.contract.token_span import TokenSpan

TemplateDigest = NewType("TemplateDigest", str)
"""Hex digest of the template text, its options and the tools: what else decided the rendering."""

TemplateOption = tuple[str, bool | int | str]
"""A named value handed to the chat template, such as `("enable_thinking", False)`."""


class Role(Enum):
    """Who speaks in a message; the value is the name chat templates know."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call an assistant message makes.

    Args:
        name: The function's name.
        arguments_json: A JSON object. The order of its keys is the client's, its spacing the
            template's: a reordered one renders differently and matches only an earlier
            checkpoint (IDN-5).
        call_id: The client's id for the call, where it gives one.
    """

    name: str
    arguments_json: str
    call_id: str | None = None

    def __post_init__(self) -> None:
        _refuse_unless_json_object("tool call arguments", self.arguments_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function the model may call, as the JSON object the template shows.

    Args:
        definition_json: A JSON object, keys in the client's order.
    """

    definition_json: str

    def __post_init__(self) -> None:
        _refuse_unless_json_object("tool definition", self.definition_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation.

    Args:
        role: Who speaks.
        content: The text, without the thinking part.
        reasoning: An assistant's thinking part, where it is known apart from the content.
        tool_calls: An assistant's calls, in order.
        tool_call_id: On a tool's message: the call it answers.
    """

    role: Role
    content: str
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    def __post_init__(self) -> None:
        if self.role is not Role.ASSISTANT and (self.reasoning is not None or self.tool_calls):
            raise PromptError(
                "message",
                found=f"reasoning or tool calls in a {self.role.value} message",
                legal="only an assistant message has them",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """A conversation to be answered.

    Args:
        messages: Oldest first, at least one.
        tools: What the model may call.
        template_options: Named values for the template, in any order, each name once.
        markers: Where its beginning may be shared; no part of identity.
        anchors_after: Messages at whose ends its own history is to keep a point to come back to, as
            ordinals, negative ones from the last; no part of identity. Markers like the others:
            four at most together.
        hints: Which candidates the engine may add.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    template_options: tuple[TemplateOption, ...] = ()
    markers: tuple[ChatMarker, ...] = ()
    anchors_after: tuple[int, ...] = ()
    hints: SharedPrefixHints = NO_HINTS


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrompt:
    """Token ids to be continued, with no messages and hence no rewrite boundaries (ANC-2).

    Args:
        tokens: The ids.
        anchor_prompt_end: Whether a private anchor is proposed before the last of them, so that
            the same prompt coming again computes one token. It costs one more forward and one
            StateImage, and is no part of identity.
        markers: Where its beginning may be shared.
        anchors_tokens: Frontiers inside it, at which its own history is to keep a point to come
            back to; no part of identity. Four at most together with markers, structural ones aside.
        hints: Which candidates the engine may add.
    """

    tokens: TokenSpan
    anchor_prompt_end: bool = False
    markers: tuple[TokenMarker, ...] = ()
    anchors_tokens: tuple[int, ...] = ()
    hints: SharedPrefixHints = NO_HINTS


PromptInput = ChatPrompt | TokenPrompt


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLimits:
    """What one prompt may be at most.

    Args:
        max_prompt_tokens: Tokens of the rendered prompt, generation opener included.
        vocabulary_tokens: Ids the model has; a raw id at or above it is refused.
        max_messages: Messages of one conversation.
        automatic_private_anchors: Message boundaries, from the prompt's end, that are proposed as
            private anchors (ANC-1).
    """

    max_prompt_tokens: int
    vocabulary_tokens: int
    max_messages: int = 4_096
    automatic_private_anchors: int = 0


class RewriteKind(Enum):
    """Why a frontier before a replaceable assistant suffix matters (OWN-4)."""

    TURN_CLOSURE = "turn_closure"
    """No next request of this conversation changes anything before it."""
    RESPONSE_REPLAY = "response_replay"
    """Just before the generation opener: this response can be generated again from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteBoundary:
    """A token frontier before what the next request may replace.

    Args:
        kind: Its meaning.
        frontier_tokens: In `(0, len(tokens))` of the prompt.
    """

    kind: RewriteKind
    frontier_tokens: int


class AnchorOrigin(Flag):
    """Who proposes a private anchor; several may, at one frontier."""

    MESSAGE_BOUNDARY = auto()
    """One of the last message boundaries inside the prompt (ANC-1)."""
    PROMPT_END = auto()
    """Before the last token of a raw prompt, which its own structure exposes (ANC-2)."""
    CALLER = auto()
    """The caller marks the place; on one frontier with others it is one proposal (ANC-1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorProposal:
    """An earlier point that a private history may keep: a chance, no marker, no identity.

    Args:
        frontier_tokens: In `(0, len(tokens))` of the prompt.
        origin: Who proposes it.
    """

    frontier_tokens: int
    origin: AnchorOrigin


class PromptModality(Enum):
    """What the positions of a prompt stand for; part of identity (IDN-3)."""

    TEXT = "text"
    """One position per token, counted from 0."""


class OutputChannel(Enum):
    """Which part of an answer a piece of output text belongs to."""

    REASONING = "reasoning"
    CONTENT = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptIdentity:
    """What must be equal beside tokens and frontiers before anything may be reused (IDN-3).

    Args:
        modality: How positions are counted.
        template: Digest of template, options and tools; `RAW_TOKENS` for a raw prompt.
    """

    modality: PromptModality
    template: TemplateDigest


RAW_TOKENS = TemplateDigest("raw-tokens")
"""The template identity of a prompt that no template rendered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPrompt:
    """A prompt as tokens, with every position the engine may cut at.

    Args:
        tokens: All prompt tokens, generation opener included.
        identity: What else must be equal for reuse.
        message_boundaries_tokens: Ends of messages that fall on token frontiers, in
            `(0, len(tokens)]`, strictly increasing.
        rewrite_boundaries: In order of frontier, at most one of each kind, never two on one
            frontier (then only the TURN_CLOSURE stands), each one of
            `rewrite_execution_frontiers`: what is captured there must be a cut.
        rewrite_execution_frontiers: Where any prefill of this prompt must be cut: before each
            assistant header in the history and before the generation opener. In
            `(0, len(tokens))`, strictly increasing. Part of identity (IDN-3).
        opens_in: The part of the answer the first output token belongs to.
        private_anchors: Where an earlier point may be kept, each frontier once, ascending. No part
            of identity: prefill is cut there only while one is wanted.
        opener_tap_tokens: Where the generation opener begins, as a hint to who taps the state
            there; `None` where that is not known. Identity does not hold it.
        shared_candidates: Where a shared prefix might be written, ascending by frontier, in
            `(0, len(tokens)]`, each frontier once. No part of identity.

    Raises:
        InvariantBroken: The positions break the order or the ranges above.
    """

    tokens: TokenSpan
    identity: PromptIdentity
    message_boundaries_tokens: tuple[int, ...] = ()
    rewrite_boundaries: tuple[RewriteBoundary, ...] = ()
    rewrite_execution_frontiers: tuple[int, ...] = ()
    opens_in: OutputChannel = OutputChannel.CONTENT
    private_anchors: tuple[AnchorProposal, ...] = ()
    opener_tap_tokens: int | None = None
    shared_candidates: tuple[SharedCandidate, ...] = ()

    def __post_init__(self) -> None:
        total_tokens = len(self.tokens)
        rewrites_tokens = tuple(each.frontier_tokens for each in self.rewrite_boundaries)
        _require_increasing("message boundaries", self.message_boundaries_tokens, total_tokens + 1)
        _require_increasing(
            "shared candidates",
            tuple(each.frontier_tokens for each in self.shared_candidates),
            total_tokens + 1,
        )
        _require_increasing("rewrite boundaries", rewrites_tokens, total_tokens)
        _require_increasing(
            "rewrite execution frontiers", self.rewrite_execution_frontiers, total_tokens
        )
        anchors_tokens = tuple(each.frontier_tokens for each in self.private_anchors)
        _require_increasing("private anchors", anchors_tokens, total_tokens)
        if not set(rewrites_tokens) <= set(self.rewrite_execution_frontiers):
            raise InvariantBroken(
                "IDN-3 rewrite boundaries",
                f"{rewrites_tokens} not all among the cuts {self.rewrite_execution_frontiers}",
            )
        if len({each.kind for each in self.rewrite_boundaries}) != len(self.rewrite_boundaries):
            raise InvariantBroken(
                "OWN-4 rewrite boundaries", f"one kind twice: {self.rewrite_boundaries}"
            )

    def rewrite_frontier_tokens(self, kind: RewriteKind) -> int | None:
        """Where the checkpoint of this kind lies, if the prompt has one.

        Where both kinds fall on one frontier the prompt lists only the TURN_CLOSURE, so
        RESPONSE_REPLAY answers `None` then.
        """
        for boundary in self.rewrite_boundaries:
            if boundary.kind is kind:
                return boundary.frontier_tokens
        return None

    @property
    def marked_anchors_tokens(self) -> frozenset[int]:
        """Where the caller wants an earlier point kept."""
        return frozenset(
            each.frontier_tokens
            for each in self.private_anchors
            if each.origin & AnchorOrigin.CALLER
        )

    def cuts_tokens(self, start_tokens: int, end_tokens: int) -> tuple[int, ...]:
        """The mandatory cuts strictly inside `[start_tokens, end_tokens)` (IDN-3)."""
        return tuple(
            cut for cut in self.rewrite_execution_frontiers if start_tokens < cut < end_tokens
        )


def _require_increasing(name: str, positions_tokens: Sequence[int], end_tokens: int) -> None:
    """Positions strictly increasing within `(0, end_tokens)`."""
    previous_tokens = 0
    for position_tokens in positions_tokens:
        if not previous_tokens < position_tokens < end_tokens:
            raise InvariantBroken(
                f"IDN-3 {name}",
                f"{tuple(positions_tokens)} not strictly increasing in (0, {end_tokens})",
            )
        previous_tokens = position_tokens


def _refuse_unless_json_object(what: str, text: str) -> None:
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise PromptError(what, found=str(error), legal="a JSON object") from error
    if not isinstance(value, dict):
        raise PromptError(what, found=type(value).__name__, legal="a JSON object")
