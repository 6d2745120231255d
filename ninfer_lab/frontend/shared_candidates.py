"""At which token frontiers of this prompt might others begin alike? (SHR-1, SHR-2)

Owns the way from boundaries to candidates: the caller's markers, the three places that the engine
looks at by itself, and the grid. A boundary that no token frontier meets is left out: one chance
fewer, never a wrong one. Proves nothing and knows no cache.
Source: spec SHR-2..4, EVD-1, EVD-5.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.prompt import ChatPrompt, Message, Role, TokenPrompt, Tool
from ninfer_lab.contract.shared_prefix import (
    MARKER_EVIDENCE,
    MAX_MARKERS,
    ChatMarker,
    Evidence,
    PlacedAfter,
    SharedCandidate,
    SharedPrefixHints,
    TokenMarker,
    merged,
)
from ninfer_lab.frontend.chat_template import ChatTemplate
from ninfer_lab.frontend.message_ends import RenderedChat, common_prefix_chars
from ninfer_lab.frontend.prefix_grid import grid_frontiers_tokens
from ninfer_lab.frontend.tokenizer import EncodedText

_LEADING = (Role.SYSTEM, Role.DEVELOPER)
_PROBES = ("ninfer", "Zebra")
"""Two contents that begin with different letters: what both leave alone depends on neither."""


def chat_candidates(
    template: ChatTemplate, chat: ChatPrompt, rendered: RenderedChat, encoded: EncodedText
) -> tuple[SharedCandidate, ...]:
    """The candidates of a chat, ascending.

    Raises:
        PromptError: Too many markers, or one that names no message or no evidence of its own.
    """
    _check_markers(chat.markers, MARKER_EVIDENCE, len(chat.anchors_after))
    after_tools_chars = _after_tools_chars(template, chat, rendered) if chat.tools else None
    found: list[tuple[int | None, Evidence]] = [
        (_marked_chars(each, chat, rendered, after_tools_chars), each.evidence)
        for each in chat.markers
    ]
    if chat.hints.allow_engine_automatic_shared_prefixes:
        found.append((after_tools_chars, Evidence.ENGINE_STRUCTURAL))
        found.append((_after_leading_chars(chat, rendered), Evidence.ENGINE_STRUCTURAL))
    at_tokens = (
        (None if chars is None else encoded.frontier_tokens(chars), evidence)
        for chars, evidence in found
    )
    resolved = [(frontier, evidence) for frontier, evidence in at_tokens if frontier]
    return _with_observed(resolved, chat.hints, len(encoded.tokens))


def token_candidates(prompt: TokenPrompt) -> tuple[SharedCandidate, ...]:
    """The candidates of a prompt of token ids, ascending.

    Raises:
        PromptError: Too many markers, or one outside the prompt or without evidence of its own.
    """
    markers, hints, prompt_tokens = prompt.markers, prompt.hints, len(prompt.tokens)
    legal = (*MARKER_EVIDENCE, Evidence.ENGINE_STRUCTURAL)
    _check_markers(markers, legal, len(prompt.anchors_tokens))
    for each in markers:
        if not 0 < each.frontier_tokens <= prompt_tokens:
            raise PromptError(
                "markers",
                found=f"frontier {each.frontier_tokens}",
                legal=f"1 to {prompt_tokens}, the prompt's length",
            )
    automatic = hints.allow_engine_automatic_shared_prefixes
    found = [
        (each.frontier_tokens, each.evidence)
        for each in markers
        if automatic or each.evidence is not Evidence.ENGINE_STRUCTURAL
    ]
    return _with_observed(found, hints, prompt_tokens)


def _with_observed(
    found: Iterable[tuple[int, Evidence]], hints: SharedPrefixHints, prompt_tokens: int
) -> tuple[SharedCandidate, ...]:
    """With what the engine merely looks at: the whole prompt, and the grid."""
    looked_at = [prompt_tokens] if hints.allow_engine_automatic_shared_prefixes else []
    if hints.allow_engine_prefix_grid:
        looked_at += grid_frontiers_tokens(prompt_tokens)
    observed = ((frontier, Evidence.ENGINE_OBSERVED) for frontier in looked_at)
    return merged(
        SharedCandidate(frontier_tokens=frontier, evidence=evidence)
        for frontier, evidence in (*found, *observed)
    )


def _check_markers(
    markers: Sequence[ChatMarker | TokenMarker], legal: tuple[Evidence, ...], anchors_count: int
) -> None:
    """Private anchors that the caller marks count with the others (SHR-2)."""
    placed = [each for each in markers if each.evidence is not Evidence.ENGINE_STRUCTURAL]
    if len(placed) + anchors_count > MAX_MARKERS:
        raise PromptError(
            "markers",
            found=f"{len(placed)} and {anchors_count} private anchors",
            legal=f"at most {MAX_MARKERS} together",
        )
    if len(markers) - len(placed) > len(PlacedAfter) + 1:
        raise PromptError(
            "markers",
            found=f"{len(markers) - len(placed)} structural ones",
            legal="at most two: after the tools and after the leading instructions",
        )
    for each in markers:
        if each.evidence not in legal:
            raise PromptError(
                "markers",
                found=each.evidence,
                legal=" or ".join(str(evidence.name) for evidence in legal),
            )


# ── where boundaries lie in the text ────────────────────────────────────────────────────────────


def _marked_chars(
    marker: ChatMarker, chat: ChatPrompt, rendered: RenderedChat, after_tools_chars: int | None
) -> int | None:
    if isinstance(marker.after, PlacedAfter):
        return after_tools_chars
    count = len(chat.messages)
    if not -count <= marker.after < count:
        raise PromptError(
            "markers", found=f"message {marker.after}", legal=f"{-count} to {count - 1}"
        )
    return rendered.message_ends_chars[marker.after]


def _leading_count(chat: ChatPrompt) -> int:
    """Messages of the run of instructions that the chat begins with."""
    for ordinal, message in enumerate(chat.messages):
        if message.role not in _LEADING:
            return ordinal
    return len(chat.messages)


def _after_leading_chars(chat: ChatPrompt, rendered: RenderedChat) -> int | None:
    count = _leading_count(chat)
    return rendered.message_ends_chars[count - 1] if count else None


def _after_tools_chars(
    template: ChatTemplate, chat: ChatPrompt, rendered: RenderedChat
) -> int | None:
    """Where everything that the tools alone decide ends; `None` where that cannot be told.

    A template shows tools before the instructions, behind them, or without any. What stays the
    same whatever the first message says is theirs alone; where they stand behind the instructions,
    both end together.
    """
    inside_chars = _inside_last_tool_chars(template, chat, rendered.text)
    if inside_chars is None:
        return None
    alike_chars = min(
        (common_prefix_chars(rendered.text, text) for text in _other_beginnings(template, chat)),
        default=0,
    )
    if inside_chars < alike_chars:
        return alike_chars
    leading_chars = _after_leading_chars(chat, rendered)
    return leading_chars if leading_chars is not None and inside_chars < leading_chars else None


def _inside_last_tool_chars(template: ChatTemplate, chat: ChatPrompt, text: str) -> int | None:
    """A position within the last tool's text: the first that changes when the tool does."""
    definition = json.loads(chat.tools[-1].definition_json)
    changed = Tool(definition_json=json.dumps({**definition, "ninfer": 0}, ensure_ascii=False))
    other = _render_or_none(template, replace(chat, tools=(*chat.tools[:-1], changed)))
    return None if other is None or other == text else common_prefix_chars(text, other)


def _other_beginnings(template: ChatTemplate, chat: ChatPrompt) -> Iterator[str]:
    """The prompt with another first message, as far as the template accepts one."""
    first, rest = chat.messages[0], chat.messages[1:]
    others = [replace(first, content=probe) for probe in _PROBES]
    if first.role not in _LEADING:
        others.append(Message(role=Role.ASSISTANT, content=_PROBES[0]))
    for other in others:
        text = _render_or_none(template, replace(chat, messages=(other, *rest)))
        if text is not None:
            yield text


def _render_or_none(template: ChatTemplate, chat: ChatPrompt) -> str | None:
    try:
        return template.render_prompt(chat)
    except PromptError:
        return None
