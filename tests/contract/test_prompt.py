"""Law: a PreparedPrompt whose positions break order, range or meaning cannot be made."""

from __future__ import annotations

import pytest

from ninfer_lab.contract.errors import InvariantBroken, PromptError
from ninfer_lab.contract.prompt import (
    RAW_TOKENS,
    Message,
    PreparedPrompt,
    PromptIdentity,
    PromptModality,
    RewriteBoundary,
    RewriteKind,
    Role,
    Tool,
    ToolCall,
)
from ninfer_lab.contract.shared_prefix import Evidence, SharedCandidate
from ninfer_lab.contract.token_span import TokenSpan

CLOSURE, REPLAY = RewriteKind.TURN_CLOSURE, RewriteKind.RESPONSE_REPLAY


def prepared(
    *,
    ends: tuple[int, ...] = (),
    cuts: tuple[int, ...] = (),
    rewrites: tuple[tuple[RewriteKind, int], ...] = (),
    shared: tuple[int, ...] = (),
) -> PreparedPrompt:
    """Ten tokens with the positions given."""
    return PreparedPrompt(
        tokens=TokenSpan(range(10)),
        identity=PromptIdentity(modality=PromptModality.TEXT, template=RAW_TOKENS),
        message_boundaries_tokens=ends,
        rewrite_execution_frontiers=cuts,
        rewrite_boundaries=tuple(
            RewriteBoundary(kind=kind, frontier_tokens=frontier) for kind, frontier in rewrites
        ),
        shared_candidates=tuple(
            SharedCandidate(frontier_tokens=frontier, evidence=Evidence.ENGINE_OBSERVED)
            for frontier in shared
        ),
    )


def test_holds_positions_in_order() -> None:
    prompt = prepared(ends=(2, 5, 10), cuts=(2, 5), rewrites=((CLOSURE, 2), (REPLAY, 5)))
    assert prompt.rewrite_frontier_tokens(CLOSURE) == 2
    assert prompt.rewrite_frontier_tokens(REPLAY) == 5
    assert prepared().rewrite_frontier_tokens(CLOSURE) is None


@pytest.mark.parametrize("cuts", [(0,), (10,), (3, 3), (5, 2), (-1,)])
def test_execution_frontiers_lie_strictly_inside_and_rise(  # spec: IDN-3
    cuts: tuple[int, ...],
) -> None:
    with pytest.raises(InvariantBroken, match="rewrite execution frontiers"):
        prepared(cuts=cuts)


@pytest.mark.parametrize("ends", [(0,), (11,), (3, 3)])
def test_message_boundaries_rise_up_to_the_end(ends: tuple[int, ...]) -> None:
    with pytest.raises(InvariantBroken, match="message boundaries"):
        prepared(ends=ends)


@pytest.mark.parametrize("shared", [(0,), (11,), (3, 3), (5, 2)])
def test_shared_candidates_rise_up_to_the_end(shared: tuple[int, ...]) -> None:
    with pytest.raises(InvariantBroken, match="shared candidates"):
        prepared(shared=shared)
    assert len(prepared(shared=(3, 10)).shared_candidates) == 2


def test_a_rewrite_boundary_is_a_cut_and_stands_once() -> None:  # spec: OWN-4
    with pytest.raises(InvariantBroken, match="not all among the cuts"):
        prepared(cuts=(2,), rewrites=((CLOSURE, 3),))
    with pytest.raises(InvariantBroken, match="one kind twice"):
        prepared(cuts=(2, 3), rewrites=((CLOSURE, 2), (CLOSURE, 3)))
    with pytest.raises(InvariantBroken, match="not strictly increasing"):
        prepared(cuts=(2, 3), rewrites=((CLOSURE, 2), (REPLAY, 2)))


def test_mandatory_cuts_of_a_range_are_those_strictly_inside() -> None:
    prompt = prepared(cuts=(2, 5, 7))
    assert prompt.cuts_tokens(0, 10) == (2, 5, 7)
    assert prompt.cuts_tokens(2, 7) == (5,)
    assert prompt.cuts_tokens(5, 6) == ()


def test_only_an_assistant_thinks_and_calls() -> None:
    with pytest.raises(PromptError, match="only an assistant"):
        Message(role=Role.USER, content="", reasoning="hm")
    with pytest.raises(PromptError, match="only an assistant"):
        Message(role=Role.TOOL, content="", tool_calls=(ToolCall(name="f", arguments_json="{}"),))


@pytest.mark.parametrize("text", ["", "[1]", "{", "3"])
def test_tools_and_their_arguments_are_json_objects(text: str) -> None:
    with pytest.raises(PromptError, match="a JSON object"):
        ToolCall(name="f", arguments_json=text)
    with pytest.raises(PromptError, match="a JSON object"):
        Tool(definition_json=text)
