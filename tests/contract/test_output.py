"""Law: output rules that cannot end an answer cleanly are refused, and endpoints follow the cut."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.output import (
    MAX_STOP_STRING_CHARS,
    MAX_STOP_STRINGS,
    AcceptedText,
    FinishReason,
    OutputRules,
    Reconstruction,
    StopCut,
)


@pytest.mark.parametrize(
    ("stops", "found"),
    [
        (("a", ""), "'' of 0 characters"),
        (("x" * (MAX_STOP_STRING_CHARS + 1),), "of 257 characters"),
        (tuple("abcdefghijklmnopq"), f"found 17; legal: at most {MAX_STOP_STRINGS}"),
    ],
)
def test_stop_strings_are_few_short_and_not_empty(stops: tuple[str, ...], found: str) -> None:
    with pytest.raises(PromptError, match=found):
        OutputRules(max_output_tokens=1, stop_strings=stops)


def test_an_answer_has_room_for_a_token() -> None:
    with pytest.raises(PromptError, match="max_output_tokens: found 0; legal: at least 1"):
        OutputRules(max_output_tokens=0)


@pytest.mark.parametrize(
    ("user", "tool", "farther"), [(3, None, 3), (3, 5, 5), (None, 0, 0), (None, None, None)]
)
def test_the_boundary_is_the_farther_of_what_may_follow(
    user: int | None, tool: int | None, farther: int | None
) -> None:
    both = Reconstruction(after_user_message_tokens=user, after_tool_result_tokens=tool)
    assert both.boundary_tokens == farther


def test_an_endpoint_holds_accepted_tokens_only() -> None:  # spec: IDN-5
    text = AcceptedText(
        text="a",
        reasoning=None,
        content="a",
        finished=FinishReason.STOP_STRING,
        accepted_tokens=4,
        stop_cut=StopCut(stop_string="b", accepted_tokens=4, pushed_tokens=6),
        reconstruction=Reconstruction(after_user_message_tokens=4, after_tool_result_tokens=4),
    )
    assert text.allows_endpoint_at(4)
    assert not text.allows_endpoint_at(5)
