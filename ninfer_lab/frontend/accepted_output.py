"""What does an answer say so far, is it finished, and what of it counts as accepted?

Owns one answer from its first token to its end: text, stop tokens, stop strings, the output limit,
and at the end the numbers the engine needs (accepted tokens, the cut of a stop string, the
reconstruction boundary).
Does not know what a state has consumed, nor whether anything will be published.
Source: IDN-5 (output reconstruction boundary), OWN-5.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable

from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.output import (
    AcceptedText,
    FinishReason,
    OutputDelta,
    OutputRules,
    Reconstruction,
    StopCut,
)
from ninfer_lab.contract.prompt import OutputChannel
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.frontend.reasoning import split_answer
from ninfer_lab.frontend.stop_strings import StopMatch, StopStrings
from ninfer_lab.frontend.token_text import TokenText

Reconstruct = Callable[[TokenSpan, str], Reconstruction]
"""From the accepted output tokens and the accepted text to what a next request brings back."""

_NOTHING_COMES_BACK = Reconstruction(after_user_message_tokens=None, after_tool_result_tokens=None)


class AcceptedOutput:
    """One growing answer.

    Args:
        rules: When it ends.
        token_text: A fresh incremental detokenizer.
        opens_in: The part of the answer the first token belongs to.
        reconstruct: Asked once, by `close`.
    """

    def __init__(
        self,
        rules: OutputRules,
        *,
        token_text: TokenText,
        opens_in: OutputChannel,
        reconstruct: Reconstruct,
    ) -> None:
        self._rules = rules
        self._stop_token_ids = frozenset(rules.stop_token_ids)
        self._token_text = token_text
        self._stop_strings = StopStrings(rules.stop_strings)
        self._opens_in = opens_in
        self._reconstruct = reconstruct
        self._tokens = array("i")
        self._shown: list[str] = []
        self._final_chars = 0
        # Token frontiers at which the text so far is whole: counts of tokens and of characters.
        self._whole_tokens = [0]
        self._whole_chars = [0]
        self._finished: FinishReason | None = None
        self._stop_cut: StopCut | None = None

    @property
    def finished(self) -> FinishReason | None:
        """Why the answer ended; `None` while it grows."""
        return self._finished

    @property
    def output_tokens(self) -> TokenSpan:
        """The tokens pushed so far, without a stop token."""
        return TokenSpan(self._tokens)

    def push(self, token_id: int) -> OutputDelta:
        """Accept one sampled token.

        Args:
            token_id: The next output token.

        Returns:
            The text that has become final, and why the answer ended if this token ended it.

        Raises:
            InvariantBroken: The answer is already finished.
        """
        self._require_open()
        if token_id in self._stop_token_ids:
            return self.finish(FinishReason.STOP)
        self._tokens.append(token_id)
        shown = self._show(self._token_text.push(token_id))
        if self._stop_cut is not None:
            return self._delta(shown, FinishReason.STOP_STRING)
        if len(self._tokens) == self._rules.max_output_tokens:
            return self._flush(shown, FinishReason.LENGTH)
        return self._delta(shown, None)

    def finish(self, reason: FinishReason) -> OutputDelta:
        """End the answer from outside: cancelled, failed, or out of capacity.

        Args:
            reason: Why. What was held back may still complete a stop string, which then is why.

        Raises:
            InvariantBroken: The answer is already finished.
        """
        self._require_open()
        return self._flush("", reason)

    def close(self) -> AcceptedText:
        """The finished answer, with what of it will come back as the same tokens.

        A failed answer is not rendered again: nothing is published for it.

        Raises:
            InvariantBroken: The answer is not finished.
        """
        if self._finished is None:
            raise InvariantBroken("IDN-5 accepted output", "closed before it was finished")
        text = "".join(self._shown)
        cut = self._stop_cut
        accepted_tokens = len(self._tokens) if cut is None else cut.accepted_tokens
        reasoning, content = split_answer(text, self._opens_in)
        if self._finished is FinishReason.FAILED:
            reconstruction = _NOTHING_COMES_BACK
        else:
            reconstruction = self._reconstruct(TokenSpan(self._tokens[:accepted_tokens]), text)
        return AcceptedText(
            text=text,
            reasoning=reasoning,
            content=content,
            finished=self._finished,
            accepted_tokens=accepted_tokens,
            stop_cut=cut,
            reconstruction=reconstruction,
        )

    def _show(self, final_text: str) -> str:
        """Take text that is final, note where it is whole, hand out what no stop string claims."""
        self._final_chars += len(final_text)
        if self._token_text.is_whole:
            self._whole_tokens.append(len(self._tokens))
            self._whole_chars.append(self._final_chars)
        shown, match = self._stop_strings.push(final_text)
        if match is not None:
            self._stop_cut = self._cut_at(match)
        return shown

    def _cut_at(self, match: StopMatch) -> StopCut:
        """The last whole frontier at or before the cut; frontier 0 always is one."""
        place = bisect_right(self._whole_chars, match.start_chars) - 1
        return StopCut(
            stop_string=match.stop_string,
            accepted_tokens=self._whole_tokens[place],
            pushed_tokens=len(self._tokens),
        )

    def _flush(self, shown: str, reason: FinishReason) -> OutputDelta:
        shown += self._show(self._token_text.flush())
        if self._stop_cut is not None:
            return self._delta(shown, FinishReason.STOP_STRING)
        return self._delta(shown + self._stop_strings.flush(), reason)

    def _delta(self, shown: str, reason: FinishReason | None) -> OutputDelta:
        self._finished = reason
        self._shown.append(shown)
        return OutputDelta(text=shown, finished=reason)

    def _require_open(self) -> None:
        if self._finished is not None:
            raise InvariantBroken(
                "IDN-5 accepted output", f"a token after the end ({self._finished.value})"
            )
