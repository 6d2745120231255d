"""Law: a prompt proposes the last boundaries between its messages, a raw one at most its own end,
and no proposal is identity.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.texts import CHATML, LIMITS, UNALIGNED, assistant, chat, frontend, system, user
from ninfer_lab.contract.errors import InvariantBroken, PromptError
from ninfer_lab.contract.prompt import AnchorOrigin, AnchorProposal, PreparedPrompt, TokenPrompt
from ninfer_lab.contract.shared_prefix import ChatMarker
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.frontend.private_anchors import (
    anchor_before_last_token,
    anchors_at_message_boundaries,
)

SAID = (system("be"), user("sky?"), assistant("blue"), user("hello"))
BOUNDARY, PROMPT_END = AnchorOrigin.MESSAGE_BOUNDARY, AnchorOrigin.PROMPT_END
CALLER = AnchorOrigin.CALLER


def prepare(anchors: int, text: str = CHATML, *, messages: int = 4) -> PreparedPrompt:
    limits = replace(LIMITS, automatic_private_anchors=anchors)
    return frontend(text).prepare(chat(*SAID[:messages]), limits)


def frontiers(proposals: tuple[AnchorProposal, ...]) -> list[int]:
    return [proposal.frontier_tokens for proposal in proposals]


@pytest.mark.parametrize("anchors", [0, 1, 2, 3, 9])
def test_the_last_boundaries_between_messages_are_proposed(anchors: int) -> None:  # spec: ANC-1
    prompt = prepare(anchors)
    between = prompt.message_boundaries_tokens[:-1]
    assert len(between) == 3
    assert frontiers(prompt.private_anchors) == list(between[len(between) - min(anchors, 3) :])
    assert {proposal.origin for proposal in prompt.private_anchors} <= {BOUNDARY}


def test_neither_the_first_message_s_beginning_nor_the_last_one_s_end_is() -> None:  # spec: ANC-1
    assert prepare(9, messages=1).private_anchors == ()
    assert frontiers(anchors_at_message_boundaries([0, 7, 20], 25, limit_count=9)) == [7]
    assert frontiers(anchors_at_message_boundaries([7, 20, 20], 25, limit_count=9)) == [7]


def test_an_end_that_no_token_frontier_meets_is_not_proposed() -> None:
    assert prepare(9, UNALIGNED).private_anchors == ()
    assert frontiers(anchors_at_message_boundaries([7, None, 30, None], 30, limit_count=2)) == [7]


@given(
    st.lists(st.none() | st.integers(0, 60), min_size=1, max_size=9),
    st.integers(0, 5),
    st.integers(0, 9),
)
def test_proposals_are_the_deepest_ends_inside(
    ends: list[int | None], more_tokens: int, limit: int
) -> None:
    total = max((end for end in ends if end is not None), default=1) + more_tokens
    found = frontiers(anchors_at_message_boundaries(ends, total, limit_count=limit))
    last = total if ends[-1] is None else ends[-1]
    inside = sorted({end for end in ends[:-1] if end is not None and 0 < end < last})
    assert found == inside[::-1][:limit][::-1]


def test_a_proposal_changes_nothing_else() -> None:  # spec: ANC-1, IDN-3
    assert replace(prepare(2), private_anchors=()) == prepare(0)


@pytest.mark.parametrize(("tokens", "proposed"), [(600, [599]), (2, [1]), (1, [])])
def test_a_raw_prompt_anchors_its_end_only_when_asked(  # spec: ANC-2
    tokens: int, proposed: list[int]
) -> None:
    limits = replace(LIMITS, automatic_private_anchors=9)
    plain = Frontend().prepare(TokenPrompt(tokens=TokenSpan(range(tokens))), limits)
    asked = TokenPrompt(tokens=TokenSpan(range(tokens)), anchor_prompt_end=True)
    anchored = Frontend().prepare(asked, limits)
    assert (plain.private_anchors, plain.opener_tap_tokens) == ((), None)
    assert frontiers(anchored.private_anchors) == proposed
    assert [each.origin for each in anchored.private_anchors] == [PROMPT_END] * len(proposed)
    assert anchored.opener_tap_tokens == (proposed[0] if proposed else None)
    unanchored = replace(anchored, private_anchors=(), opener_tap_tokens=None)
    assert unanchored == plain  # identity and cuts above all


def test_a_chat_prompt_hints_where_its_opener_begins() -> None:
    prompt = prepare(2)
    assert prompt.opener_tap_tokens == prompt.message_boundaries_tokens[-1]


@pytest.mark.parametrize("frontier_tokens", [[0], [10], [4, 4], [6, 4]])
def test_a_proposal_lies_inside_and_is_told_once(frontier_tokens: list[int]) -> None:
    proposals = tuple(AnchorProposal(frontier_tokens=f, origin=BOUNDARY) for f in frontier_tokens)
    plain = Frontend().prepare(TokenPrompt(tokens=TokenSpan(range(10))), LIMITS)
    with pytest.raises(InvariantBroken, match="private anchors"):
        replace(plain, private_anchors=proposals)
    assert len(anchor_before_last_token(TokenSpan(range(10)))) == 1


# ── places that the caller marks ────────────────────────────────────────────────────────────────


def marked(after: tuple[int, ...], *, anchors: int = 0, text: str = CHATML) -> PreparedPrompt:
    limits = replace(LIMITS, automatic_private_anchors=anchors)
    return frontend(text).prepare(replace(chat(*SAID), anchors_after=after), limits)


def test_a_marked_place_is_proposed_where_its_message_ends() -> None:  # spec: ANC-1, SHR-2
    ends = prepare(0).message_boundaries_tokens
    prompt = marked((1, -4))
    assert frontiers(prompt.private_anchors) == [ends[0], ends[1]]
    assert {each.origin for each in prompt.private_anchors} == {CALLER}
    assert prompt.marked_anchors_tokens == {ends[0], ends[1]}
    assert replace(prompt, private_anchors=()) == prepare(0)  # no cut and no identity


def test_on_one_frontier_it_is_one_with_the_engine_s_own() -> None:  # spec: ANC-1
    ends = prepare(0).message_boundaries_tokens
    found = marked((0, 2), anchors=2).private_anchors
    assert [(each.frontier_tokens, each.origin) for each in found] == [
        (ends[0], CALLER),
        (ends[1], BOUNDARY),
        (ends[2], BOUNDARY | CALLER),
    ]


def test_the_engine_s_own_are_outside_the_limit_of_markers() -> None:  # spec: ANC-1, SHR-2
    assert len(marked((0, 1), anchors=9).private_anchors) == 3
    asked = replace(chat(*SAID), anchors_after=(0, 1, 2), markers=(ChatMarker(after=0),))
    assert len(frontend(CHATML).prepare(asked, LIMITS).private_anchors) == 3
    with pytest.raises(PromptError, match="2 and 3 private anchors; legal: at most 4 together"):
        frontend(CHATML).prepare(
            replace(asked, markers=(ChatMarker(after=0), ChatMarker(after=1))), LIMITS
        )


def test_a_mark_that_no_token_frontier_meets_is_left_out() -> None:  # spec: SHR-1
    assert marked((0, 1), text=UNALIGNED).private_anchors == ()


@pytest.mark.parametrize("ordinal", [4, -5])
def test_a_mark_after_no_message_is_refused(ordinal: int) -> None:  # spec: BAD-1
    with pytest.raises(PromptError, match=f"message {ordinal}; legal: -4 to 3"):
        marked((ordinal,))


def test_a_raw_prompt_is_marked_by_its_frontiers() -> None:  # spec: ANC-1, ANC-2
    tokens = TokenSpan(range(60))
    asked = TokenPrompt(tokens=tokens, anchors_tokens=(59, 20), anchor_prompt_end=True)
    found = Frontend().prepare(asked, LIMITS)
    assert [(each.frontier_tokens, each.origin) for each in found.private_anchors] == [
        (20, CALLER),
        (59, CALLER | PROMPT_END),
    ]
    assert found.opener_tap_tokens == 59
    for outside in (0, 60):
        with pytest.raises(PromptError, match=f"frontier {outside}; legal: 1 to 59"):
            Frontend().prepare(TokenPrompt(tokens=tokens, anchors_tokens=(outside,)), LIMITS)
    five = TokenPrompt(tokens=tokens, anchors_tokens=(1, 2, 3, 4, 5))
    with pytest.raises(PromptError, match="at most 4 together"):
        Frontend().prepare(five, LIMITS)
