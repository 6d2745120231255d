"""How can conversations be made of bare token ids, and still have turns that are written again?

Owns two marks, token ids that open a user's and an assistant's part, and the frontend that finds
the boundaries by them, as a chat template's would lie. For proofs on random weights, which speak no
language. Source: spec OWN-4, OWN-5, IDN-3.
"""

from __future__ import annotations

from dataclasses import replace

from ninfer_lab.contract.prompt import (
    PreparedPrompt,
    PromptInput,
    PromptLimits,
    RewriteBoundary,
    RewriteKind,
)
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.frontend.private_anchors import anchors_at_message_boundaries

USER = 0
"""Opens what a user says."""
ASSISTANT = 1
"""Opens what the assistant says; a prompt that ends so asks for an answer."""
FIRST_WORD = 2
"""Ids from here on mean nothing."""


class MarkedFrontend(Frontend):
    """Raw token prompts, with boundaries where the marks say so.

    Every ASSISTANT mark is a place where execution is cut. The first one after the last USER mark
    closes the turn before it (TURN_CLOSURE); the last one opens the generation (RESPONSE_REPLAY).
    Without a USER mark no turn closes; without marks there is no boundary at all (ANC-2).

    Args:
        proposes_anchors: Whether the last boundaries between marked parts are proposed as private
            anchors, as many as the engine asks for (ANC-1).
    """

    def __init__(self, *, proposes_anchors: bool = False) -> None:
        super().__init__()
        self._proposes_anchors = proposes_anchors

    def prepare(self, prompt: PromptInput, limits: PromptLimits) -> PreparedPrompt:
        prepared = super().prepare(prompt, limits)
        ids = tuple(prepared.tokens)
        openers = tuple(i for i, token in enumerate(ids) if token == ASSISTANT and i > 0)
        asked = max((i for i, token in enumerate(ids) if token == USER), default=None)
        closure = None
        if asked is not None:
            closure = next((opener for opener in openers if opener > asked), None)
        found = [(RewriteKind.TURN_CLOSURE, closure)]
        if openers and openers[-1] != closure:
            found.append((RewriteKind.RESPONSE_REPLAY, openers[-1]))
        anchors = prepared.private_anchors
        if self._proposes_anchors:
            ends = [i for i, token in enumerate(ids) if token in (USER, ASSISTANT)]
            anchors = anchors_at_message_boundaries(
                [*ends, len(ids)], len(ids), limit_count=limits.automatic_private_anchors
            )
        return replace(
            prepared,
            private_anchors=anchors,
            rewrite_boundaries=tuple(
                RewriteBoundary(kind=kind, frontier_tokens=frontier)
                for kind, frontier in found
                if frontier is not None
            ),
            rewrite_execution_frontiers=openers,
        )
