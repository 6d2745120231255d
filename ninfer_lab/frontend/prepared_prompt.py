"""How does what a caller asks become tokens with frontiers, and who watches over the answer?

Owns `Frontend`, the room's one door: `prepare` turns an input into a `PreparedPrompt` or refuses it
before anything is allocated; `open_output` starts the `AcceptedOutput` of an admitted request.
Does not know requests in flight, caches, or what any frontier will be used for. Proves nothing: a
boundary offered here is a chance, and Program verifies identity exactly (IDN-3).
Source: OWN-4, OWN-5, IDN-3, ANC-2.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import assert_never

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.output import OutputRules, Reconstruction
from ninfer_lab.contract.prompt import (
    RAW_TOKENS,
    AnchorProposal,
    ChatPrompt,
    Message,
    PreparedPrompt,
    PromptIdentity,
    PromptInput,
    PromptLimits,
    PromptModality,
    RewriteBoundary,
    RewriteKind,
    Role,
    TokenPrompt,
)
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.frontend.accepted_output import AcceptedOutput
from ninfer_lab.frontend.chat_template import ChatTemplate
from ninfer_lab.frontend.checkpoint_folder import read_checkpoint_text
from ninfer_lab.frontend.message_ends import RenderedChat, render_with_ends
from ninfer_lab.frontend.private_anchors import (
    anchor_before_last_token,
    anchors_after_messages,
    anchors_at_frontiers,
    anchors_at_message_boundaries,
    merged_anchors,
)
from ninfer_lab.frontend.reasoning import channel_after, split_answer
from ninfer_lab.frontend.reconstruction import Answered, reconstruct
from ninfer_lab.frontend.shared_candidates import chat_candidates, token_candidates
from ninfer_lab.frontend.token_text import token_text
from ninfer_lab.frontend.tokenizer import EncodedText, Tokenizer


class Frontend:
    """Messages to token frontiers, tokens to accepted text.

    Args:
        tokenizer: The checkpoint's; without one only raw token prompts are served, without text.
        template: The checkpoint's; without one only raw token prompts are served.
    """

    def __init__(
        self, *, tokenizer: Tokenizer | None = None, template: ChatTemplate | None = None
    ) -> None:
        self._tokenizer = tokenizer
        self._template = template

    @classmethod
    def from_folder(cls, folder: Path, *, today: datetime | None = None) -> Frontend:
        """The frontend of a checkpoint folder.

        Args:
            folder: Holds `tokenizer.json` and, for chat, a chat template.
            today: The date for templates that print one.

        Raises:
            CheckpointError: A file is missing, broken, or contradicts another.
        """
        text = read_checkpoint_text(folder)
        return cls(
            tokenizer=Tokenizer.from_checkpoint(text),
            template=ChatTemplate.from_checkpoint(text, today=today),
        )

    @property
    def stop_token_ids(self) -> tuple[int, ...]:
        """The ids that end an answer by the checkpoint's own word; none without a tokenizer."""
        return () if self._tokenizer is None else self._tokenizer.stop_token_ids

    def prepare(self, prompt: PromptInput, limits: PromptLimits) -> PreparedPrompt:
        """Tokens, identity and frontiers of a prompt. Reads only.

        Args:
            prompt: Messages, or token ids.
            limits: What the engine can hold.

        Raises:
            PromptError: The prompt is empty, over a limit, or not one this checkpoint can render.
        """
        match prompt:
            case TokenPrompt():
                _refuse_outside(prompt.tokens, limits)
                return _prepare_tokens(prompt)
            case ChatPrompt():
                return self._prepare_chat(prompt, limits)
            case _:
                assert_never(prompt)

    def open_output(
        self, prompt: PromptInput, prepared: PreparedPrompt, rules: OutputRules
    ) -> AcceptedOutput:
        """The answer of one request, still empty.

        Args:
            prompt: What was asked.
            prepared: What `prepare` made of it.
            rules: When the answer ends.

        Raises:
            PromptError: A stop string is asked of a frontend that has no text.
        """
        if self._tokenizer is None and rules.stop_strings:
            raise PromptError(
                "stop_strings",
                found="a request to an engine without tokenizer",
                legal="no stop strings; stop token ids work",
            )

        def reconstruct_answer(output_tokens: TokenSpan, text: str) -> Reconstruction:
            return self._reconstruct(prompt, prepared, output_tokens, text)

        return AcceptedOutput(
            rules,
            token_text=token_text(self._tokenizer),
            opens_in=prepared.opens_in,
            reconstruct=reconstruct_answer,
        )

    def _prepare_chat(self, chat: ChatPrompt, limits: PromptLimits) -> PreparedPrompt:
        if not chat.messages:
            raise PromptError("messages", found="an empty list", legal="at least one message")
        if len(chat.messages) > limits.max_messages:
            raise PromptError(
                "messages", found=len(chat.messages), legal=f"at most {limits.max_messages}"
            )
        tokenizer, template = self._chat_parts()
        rendered = render_with_ends(template, chat)
        encoded = tokenizer.encode(rendered.text)
        _refuse_outside(encoded.tokens, limits)
        opener_chars = rendered.opener_chars
        opener = "" if opener_chars is None else rendered.text[opener_chars:]
        return PreparedPrompt(
            tokens=encoded.tokens,
            identity=PromptIdentity(modality=PromptModality.TEXT, template=template.digest(chat)),
            message_boundaries_tokens=_frontiers(encoded, rendered.message_ends_chars),
            rewrite_boundaries=_rewrite_boundaries(tokenizer, chat, rendered, encoded),
            rewrite_execution_frontiers=_cuts(encoded, _replaceable_chars(chat, rendered)),
            opens_in=channel_after(opener),
            private_anchors=_chat_anchors(chat, rendered, encoded, limits),
            opener_tap_tokens=None
            if opener_chars is None
            else encoded.frontier_tokens(opener_chars),
            shared_candidates=chat_candidates(template, chat, rendered, encoded),
        )

    def _chat_parts(self) -> tuple[Tokenizer, ChatTemplate]:
        if self._tokenizer is None or self._template is None:
            missing = "tokenizer" if self._tokenizer is None else "chat template"
            raise PromptError(
                "chat prompt", found=f"a checkpoint without {missing}", legal="a raw token prompt"
            )
        return self._tokenizer, self._template

    def _reconstruct(
        self, prompt: PromptInput, prepared: PreparedPrompt, output_tokens: TokenSpan, text: str
    ) -> Reconstruction:
        match prompt:
            case TokenPrompt():  # its client hands back the very ids it was given
                return Reconstruction(
                    after_user_message_tokens=len(output_tokens),
                    after_tool_result_tokens=len(output_tokens),
                )
            case ChatPrompt():
                tokenizer, template = self._chat_parts()
                reasoning, content = split_answer(text, prepared.opens_in)
                answer = Message(role=Role.ASSISTANT, content=content, reasoning=reasoning)
                answered = Answered(
                    chat=prompt,
                    prompt_tokens=prepared.tokens,
                    output_tokens=output_tokens,
                    answer=answer,
                )
                return reconstruct(tokenizer, template, answered)
            case _:
                assert_never(prompt)


def _chat_anchors(
    chat: ChatPrompt, rendered: RenderedChat, encoded: EncodedText, limits: PromptLimits
) -> tuple[AnchorProposal, ...]:
    """At the last boundaries between messages, and where the caller says."""
    ends_tokens = [
        None if end is None else encoded.frontier_tokens(end) for end in rendered.message_ends_chars
    ]
    prompt_tokens, limit_count = len(encoded.tokens), limits.automatic_private_anchors
    return merged_anchors(
        (
            *anchors_at_message_boundaries(ends_tokens, prompt_tokens, limit_count=limit_count),
            *anchors_after_messages(chat.anchors_after, ends_tokens, prompt_tokens),
        )
    )


def _prepare_tokens(prompt: TokenPrompt) -> PreparedPrompt:
    """As it is; an anchored end is a proposal and a hint, and no part of identity (ANC-2)."""
    at_end = anchor_before_last_token(prompt.tokens) if prompt.anchor_prompt_end else ()
    marked = anchors_at_frontiers(prompt.anchors_tokens, len(prompt.tokens))
    return PreparedPrompt(
        tokens=prompt.tokens,
        identity=PromptIdentity(modality=PromptModality.TEXT, template=RAW_TOKENS),
        private_anchors=merged_anchors((*marked, *at_end)),
        opener_tap_tokens=at_end[0].frontier_tokens if at_end else None,
        shared_candidates=token_candidates(prompt),
    )


def _refuse_outside(tokens: TokenSpan, limits: PromptLimits) -> None:
    if not tokens:
        raise PromptError("prompt", found="no tokens", legal="at least one token")
    if len(tokens) > limits.max_prompt_tokens:
        raise PromptError(
            "prompt",
            found=f"{len(tokens)} tokens",
            legal=f"at most {limits.max_prompt_tokens} tokens",
        )
    highest = max(tokens)
    if highest >= limits.vocabulary_tokens:
        raise PromptError(
            "prompt",
            found=f"token id {highest}",
            legal=f"ids below the model's vocabulary of {limits.vocabulary_tokens}",
        )


def _frontiers(encoded: EncodedText, positions_chars: Iterable[int | None]) -> tuple[int, ...]:
    """The token frontiers among character positions; the rest are dropped, as is frontier 0."""
    found = (
        encoded.frontier_tokens(position) for position in positions_chars if position is not None
    )
    return tuple(dict.fromkeys(frontier for frontier in found if frontier))


def _replaceable_chars(chat: ChatPrompt, rendered: RenderedChat) -> list[int]:
    """Where an assistant's text begins: before each assistant header and before the opener."""
    speakers = [*(message.role for message in chat.messages[1:]), Role.ASSISTANT]
    return [
        end_chars
        for end_chars, speaker in zip(rendered.message_ends_chars, speakers, strict=True)
        if speaker is Role.ASSISTANT and end_chars is not None
    ]


def _cuts(encoded: EncodedText, positions_chars: Iterable[int]) -> tuple[int, ...]:
    """Frontiers a prefill can be cut at: those that leave tokens on both sides."""
    return tuple(
        each for each in _frontiers(encoded, positions_chars) if each < len(encoded.tokens)
    )


def _rewrite_boundaries(
    tokenizer: Tokenizer, chat: ChatPrompt, rendered: RenderedChat, encoded: EncodedText
) -> tuple[RewriteBoundary, ...]:
    replaceable_chars = _replaceable_chars(chat, rendered)
    unchanged_chars = rendered.unchanged_chars
    stable = _cuts(encoded, [each for each in replaceable_chars if each <= unchanged_chars])
    closure = _last_certain(tokenizer, rendered, encoded, stable)
    opener_chars = rendered.opener_chars
    replay = None if opener_chars is None else next(iter(_cuts(encoded, [opener_chars])), None)
    found = []
    if closure is not None:
        found.append(RewriteBoundary(kind=RewriteKind.TURN_CLOSURE, frontier_tokens=closure))
    if replay is not None and replay != closure:
        found.append(RewriteBoundary(kind=RewriteKind.RESPONSE_REPLAY, frontier_tokens=replay))
    return tuple(found)


def _last_certain(
    tokenizer: Tokenizer, rendered: RenderedChat, encoded: EncodedText, stable: tuple[int, ...]
) -> int | None:
    """The last frontier whose tokens the next turn certainly keeps, its text being kept.

    Equal text before a frontier means equal tokens only where no token can reach across it. Where
    the next token does not part the text by itself, the next turn is encoded and compared.
    """
    next_tokens: TokenSpan | None = None
    for frontier in reversed(stable):
        if tokenizer.splits_at(encoded.tokens[frontier]):
            return frontier
        if next_tokens is None:
            next_tokens = tokenizer.encode_tokens(rendered.next_turn or "")
        if next_tokens.starts_with(encoded.tokens[:frontier]):
            return frontier
    return None
