"""How does a caller's prompt become a request that can be queued?

Owns the limits an engine sets to a prompt and its answer. Allocates nothing: a prompt that is
refused has left no trace. Does not know the queue.
"""

from __future__ import annotations

from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.options import RequestOptions, ResolvedOptions
from ninfer_lab.contract.output import OutputRules
from ninfer_lab.contract.prompt import PromptInput, PromptLimits
from ninfer_lab.engine.request import Request
from ninfer_lab.frontend.prepared_prompt import Frontend


class Preparation:
    """Frontend and limits of one engine.

    Args:
        frontend: Of the served checkpoint.
        options: The engine's.
        vocabulary_tokens: Of the served model.
    """

    def __init__(
        self, frontend: Frontend, options: ResolvedOptions, vocabulary_tokens: int
    ) -> None:
        self._frontend = frontend
        self._context_tokens = options.max_context_tokens
        self._limits = PromptLimits(
            max_prompt_tokens=options.max_context_tokens - 1,
            vocabulary_tokens=vocabulary_tokens,
            automatic_private_anchors=options.anchors.automatic_count,
        )

    def request(
        self, id: RequestId, prompt: PromptInput, options: RequestOptions, submitted_ns: int
    ) -> Request:
        """A request with its prompt as tokens and its output rules.

        Raises:
            PromptError: The prompt is malformed, too long, or asks for what the model does not
                have.
        """
        prepared = self._frontend.prepare(prompt, self._limits)
        room_tokens = self._context_tokens - len(prepared.tokens)
        output_tokens = min(options.max_output_tokens or room_tokens, room_tokens)
        rules = OutputRules(
            max_output_tokens=output_tokens,
            stop_token_ids=self._frontend.stop_token_ids if options.stop_at_end_token else (),
            stop_strings=options.stop_strings,
        )
        return Request(
            id=id,
            prompt=prepared,
            options=options,
            max_output_tokens=output_tokens,
            output=self._frontend.open_output(prompt, prepared, rules),
            submitted_ns=submitted_ns,
        )
