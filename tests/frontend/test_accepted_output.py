"""Law: the text shown is the text accepted, and every accepted token lies wholly within it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.texts import CHATML as TEMPLATE
from frontend.texts import END, LIMITS, byte_level, chat, frontend, user
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.output import AcceptedText, FinishReason, OutputRules, Reconstruction
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.frontend.accepted_output import AcceptedOutput
from ninfer_lab.frontend.prepared_prompt import Frontend

ASKED = chat(user("sky?"))
(END_ID,) = byte_level().encode_tokens(END)
some_ids = st.lists(st.integers(3, 400), max_size=40)
stop_sets = st.lists(st.text("sky blue!", min_size=1, max_size=4), max_size=2)


def opened(**rules: object) -> AcceptedOutput:
    """An empty answer to `ASKED`; the limit is high unless given."""
    front = frontend(TEMPLATE)
    full = OutputRules(**{"max_output_tokens": 1_000, **rules})  # type: ignore[arg-type]
    return front.open_output(ASKED, front.prepare(ASKED, LIMITS), full)


def run(output: AcceptedOutput, token_ids: list[int]) -> tuple[str, AcceptedText]:
    """Push until the answer ends; end it as cancelled if nothing does."""
    shown = ""
    for token_id in token_ids:
        delta = output.push(token_id)
        shown += delta.text
        if delta.finished is not None:
            break
    if output.finished is None:
        shown += output.finish(FinishReason.CANCELLED).text
    return shown, output.close()


@given(some_ids, stop_sets)
def test_text_shown_text_accepted_and_tokens_agree(token_ids: list[int], stops: list[str]) -> None:
    tokenizer = byte_level()
    shown, answer = run(opened(stop_strings=tuple(stops)), token_ids)
    assert shown == answer.text
    accepted = tokenizer.decode(token_ids[: answer.accepted_tokens])
    if answer.stop_cut is None:
        assert answer.text == accepted == tokenizer.decode(token_ids)
        return
    cut = answer.stop_cut
    assert answer.finished is FinishReason.STOP_STRING
    assert answer.text.startswith(accepted)
    assert not any(stop in answer.text for stop in stops)
    pushed = tokenizer.decode(token_ids[: cut.pushed_tokens])
    assert pushed.startswith(answer.text + cut.stop_string)
    # No more tokens lie wholly before the cut than were counted.
    for more in range(answer.accepted_tokens + 1, cut.pushed_tokens + 1):
        reached = tokenizer.decode(token_ids[:more])
        assert "\ufffd" in reached or len(reached) > len(answer.text)


def test_a_stop_string_across_tokens_cuts_below_what_was_sampled() -> None:  # spec: IDN-5
    token_ids = list(byte_level().encode_tokens("the sky is blue"))
    pieces = [byte_level().decode([token]) for token in token_ids]
    assert pieces == ["the", " sky", " is", " blue"]
    output = opened(stop_strings=("ky is bl",))
    deltas = [output.push(token) for token in token_ids]
    assert [delta.text for delta in deltas] == ["the", " s", "", ""]
    assert [delta.finished for delta in deltas] == [None, None, None, FinishReason.STOP_STRING]
    answer = output.close()
    assert answer.text == "the s"
    assert answer.stop_cut is not None
    assert (answer.accepted_tokens, answer.stop_cut.pushed_tokens) == (1, 4)
    # Three tokens were consumed when the fourth was sampled: no endpoint may be published.
    assert not answer.allows_endpoint_at(3)
    assert answer.allows_endpoint_at(1)


def test_a_stop_string_that_begins_with_the_last_token_cuts_nothing_consumed() -> None:
    token_ids = list(byte_level().encode_tokens("the sky is blue"))
    _, answer = run(opened(stop_strings=(" bl",)), token_ids)
    assert (answer.text, answer.accepted_tokens) == ("the sky is", 3)
    assert answer.allows_endpoint_at(3)
    assert answer.reconstruction_boundary_tokens == 3


def test_a_cut_inside_a_character_counts_no_token_that_holds_a_part_of_it() -> None:
    token_ids = [*byte_level().encode_tokens("sky🙀")]
    cat = len(token_ids) - len(byte_level().encode_tokens("sky"))
    assert cat > 1
    _, answer = run(opened(stop_strings=("🙀",)), token_ids)
    assert (answer.text, answer.accepted_tokens) == ("sky", len(token_ids) - cat)


def test_a_stop_token_ends_the_answer_without_text() -> None:
    token_ids = list(byte_level().encode_tokens("the sky"))
    shown, answer = run(opened(stop_token_ids=(END_ID,)), [*token_ids, END_ID, *token_ids])
    assert (shown, answer.finished) == ("the sky", FinishReason.STOP)
    assert answer.accepted_tokens == answer.reconstruction_boundary_tokens == len(token_ids)
    assert answer.allows_endpoint_at(len(token_ids))


def test_the_limit_ends_the_answer_and_shows_what_was_held_back() -> None:
    token_ids = list(byte_level().encode_tokens("the sky is blue"))
    shown, answer = run(opened(max_output_tokens=2, stop_strings=("sky!",)), token_ids)
    assert (shown, answer.finished) == ("the sky", FinishReason.LENGTH)
    assert answer.accepted_tokens == 2


def test_a_token_that_stops_and_reaches_the_limit_stops() -> None:
    _, answer = run(opened(max_output_tokens=1, stop_token_ids=(END_ID,)), [END_ID])
    assert (answer.text, answer.finished, answer.accepted_tokens) == ("", FinishReason.STOP, 0)


def test_half_a_character_at_the_end_is_shown_as_the_decoder_shows_it() -> None:
    half = byte_level().encode_tokens("🙀")[0]
    shown, answer = run(opened(stop_token_ids=(END_ID,)), [half, END_ID])
    assert shown == "\ufffd"
    assert answer.accepted_tokens == 1
    assert answer.reconstruction_boundary_tokens == 0


def test_an_answer_ends_once_and_is_closed_after_that() -> None:
    output = opened(stop_token_ids=(END_ID,))
    with pytest.raises(InvariantBroken, match="closed before it was finished"):
        output.close()
    output.push(END_ID)
    assert output.finished is FinishReason.STOP
    with pytest.raises(InvariantBroken, match="a token after the end"):
        output.push(END_ID)
    with pytest.raises(InvariantBroken, match="a token after the end"):
        output.finish(FinishReason.LENGTH)


def test_a_failed_answer_promises_nothing() -> None:
    output = opened()
    output.push(byte_level().encode_tokens("sky")[0])
    output.finish(FinishReason.FAILED)
    answer = output.close()
    assert answer.reconstruction == Reconstruction(
        after_user_message_tokens=None, after_tool_result_tokens=None
    )


def test_raw_tokens_come_back_as_they_were_given() -> None:
    asked = TokenPrompt(tokens=TokenSpan([1, 2]))
    front = Frontend()
    prepared = front.prepare(asked, LIMITS)
    rules = OutputRules(max_output_tokens=3, stop_token_ids=(9,))
    shown, answer = run(front.open_output(asked, prepared, rules), [4, 5, 9])
    assert (shown, answer.text, answer.accepted_tokens) == ("", "", 2)
    assert answer.reconstruction_boundary_tokens == 2
