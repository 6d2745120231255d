"""Law: every boundary that a caller or the prompt's structure names becomes one candidate at its
exact token frontier, with all its reasons, and no prompt has more than seven beside the grid.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from frontend.test_prepared_prompt import written
from frontend.texts import (
    CHATML,
    END,
    LIMITS,
    THINKING,
    UNALIGNED,
    assistant,
    chat,
    frontend,
    system,
    user,
)
from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.prompt import ChatPrompt, Message, PreparedPrompt, Role, TokenPrompt, Tool
from ninfer_lab.contract.shared_prefix import (
    ChatMarker,
    Evidence,
    PlacedAfter,
    SharedCandidate,
    SharedPrefixHints,
    TokenMarker,
)
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.frontend.prepared_prompt import Frontend

EXPLICIT, ASKED = Evidence.EXPLICIT_BOUNDARY, Evidence.REQUESTED_AUTOMATIC
DEFAULT, STRUCTURE = Evidence.DEFAULT_AUTOMATIC, Evidence.ENGINE_STRUCTURAL
OBSERVED = Evidence.ENGINE_OBSERVED
MARKERS_ONLY = SharedPrefixHints(allow_engine_automatic_shared_prefixes=False)
GRID_TOO = SharedPrefixHints(allow_engine_prefix_grid=True)
TOOL = Tool(definition_json='{"name": "look", "where": "sky"}')

TOOLS_FIRST = """
{{- '<|im_start|>system\n' }}
{%- for tool in tools or [] %}{{ tool | tojson + '\n' }}{% endfor %}
{%- if messages[0].role == 'system' %}{{ '!' + messages[0].content }}{% endif %}
{{- '<|im_end|>\n' }}
{%- for message in messages if message.role != 'system' %}
  {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%} {{- '<|im_start|>assistant\n' -}} {%- endif -%}
"""

SHOWN = "{%- for tool in tools or [] %}{{ tool | tojson + '\n' }}{% endfor %}\n"
TOOLS_BEHIND = TOOLS_FIRST.replace(SHOWN, "").replace(
    "{{- '<|im_end|>", SHOWN + "{{- '<|im_end|>", 1
)


def prepare(text: str, prompt: ChatPrompt) -> PreparedPrompt:
    return frontend(text).prepare(prompt, LIMITS)


def told(prompt: PreparedPrompt) -> dict[str, Evidence]:
    """The text before each candidate, and the reasons for it."""
    return {written(prompt, each.frontier_tokens): each.evidence for each in found(prompt)}


def found(prompt: PreparedPrompt) -> tuple[SharedCandidate, ...]:
    return prompt.shared_candidates


def said(role: str, content: str) -> str:
    return f"<|im_start|>{role}\n{content}{END}\n"


OPENER = "<|im_start|>assistant\n"


def test_leading_instructions_and_the_whole_prompt_are_looked_at() -> None:  # spec: SHR-2
    developer = Message(role=Role.DEVELOPER, content="be kind")
    prompt = prepare(CHATML, chat(system("be"), developer, user("sky?"), system("later")))
    head = said("system", "be") + said("developer", "be kind")
    whole = head + said("user", "sky?") + said("system", "later") + OPENER
    assert told(prompt) == {head: STRUCTURE, whole: OBSERVED}


def test_without_instructions_there_is_only_the_whole_prompt() -> None:
    (candidate,) = prepare(CHATML, chat(user("sky?"))).shared_candidates
    assert candidate.evidence == OBSERVED


def test_tools_end_where_nothing_before_depends_on_the_messages() -> None:  # spec: SHR-2
    with_tools = replace(chat(system("be"), user("sky?")), tools=(TOOL,))
    shown = '{"name": "look", "where": "sky"}\n'
    first = told(prepare(TOOLS_FIRST, with_tools))
    start = f"<|im_start|>system\n{shown}!"
    assert list(first) == [
        start,
        f"{start}be{END}\n",
        f"{start}be{END}\n{said('user', 'sky?')}{OPENER}",
    ]
    assert list(first.values()) == [STRUCTURE, STRUCTURE, OBSERVED]
    alone = told(prepare(TOOLS_FIRST, replace(with_tools, messages=(user("sky?"),))))
    assert next(iter(alone)) == f"<|im_start|>system\n{shown}{END}\n<|im_start|>"


def test_tools_behind_the_instructions_end_with_them() -> None:
    with_tools = replace(chat(system("be"), user("sky?")), tools=(TOOL,))
    head, whole = told(prepare(TOOLS_BEHIND, with_tools)).items()
    assert head == (
        f'<|im_start|>system\n!be{{"name": "look", "where": "sky"}}\n{END}\n',
        STRUCTURE,
    )
    assert whole[1] == OBSERVED


def test_a_template_that_shows_no_tools_has_no_boundary_after_them() -> None:
    with_tools = replace(chat(user("sky?")), tools=(TOOL,))
    (candidate,) = prepare(CHATML, with_tools).shared_candidates
    assert candidate.evidence == OBSERVED


def test_reasons_that_meet_on_one_frontier_are_one_candidate() -> None:  # spec: SHR-2, EVD-1
    markers = (
        ChatMarker(after=0),
        ChatMarker(after=0, evidence=DEFAULT),
        ChatMarker(after=-1, evidence=ASKED),
    )
    asked = replace(chat(system("be"), user("sky?")), markers=markers)
    head = said("system", "be")
    question = head + said("user", "sky?")
    assert told(prepare(CHATML, asked)) == {
        head: EXPLICIT | DEFAULT | STRUCTURE,
        question: ASKED,
        question + OPENER: OBSERVED,
    }


def test_four_markers_and_three_places_of_the_engine_are_seven_at_most() -> None:  # spec: SHR-2
    messages = (system("be"), user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    markers = tuple(ChatMarker(after=ordinal) for ordinal in (1, 2, 3, 4))
    asked = replace(chat(*messages), markers=markers, tools=(TOOL,))
    prompt = prepare(TOOLS_FIRST, asked)
    assert len(prompt.shared_candidates) == 7
    with pytest.raises(PromptError, match="at most 4"):
        prepare(CHATML, replace(asked, markers=(*markers, ChatMarker(after=5))))


def test_a_protocol_may_switch_the_engines_own_candidates_off() -> None:  # spec: SHR-3
    asked = replace(
        chat(system("be"), user("sky?")), markers=(ChatMarker(after=0),), hints=MARKERS_ONLY
    )
    assert told(prepare(CHATML, asked)) == {said("system", "be"): EXPLICIT}
    assert prepare(CHATML, replace(asked, markers=())).shared_candidates == ()


def test_the_grid_comes_beside_the_others() -> None:  # spec: SHR-4
    tokens = TokenSpan(range(600))
    prompt = Frontend().prepare(
        TokenPrompt(
            tokens=tokens,
            markers=(TokenMarker(frontier_tokens=512), TokenMarker(frontier_tokens=40)),
            hints=GRID_TOO,
        ),
        LIMITS,
    )
    assert [(c.frontier_tokens, c.evidence) for c in prompt.shared_candidates] == [
        (40, EXPLICIT),
        (256, OBSERVED),
        (512, EXPLICIT | OBSERVED),
        (600, OBSERVED),
    ]


def test_a_prompt_of_ids_may_say_where_its_instructions_end() -> None:
    structure = TokenMarker(frontier_tokens=7, evidence=STRUCTURE)
    prompt = TokenPrompt(tokens=TokenSpan(range(9)), markers=(structure,))
    both = Frontend().prepare(prompt, LIMITS).shared_candidates
    assert [str(each) for each in both] == ["engine_structural@7", "engine_observed@9"]
    off = Frontend().prepare(replace(prompt, hints=MARKERS_ONLY), LIMITS)
    assert off.shared_candidates == ()


@pytest.mark.parametrize("after", [2, -3])
def test_a_marker_behind_no_message_is_refused(after: int) -> None:
    asked = replace(chat(user("a"), assistant("b")), markers=(ChatMarker(after=after),))
    with pytest.raises(PromptError, match="-2 to 1"):
        prepare(CHATML, asked)


@pytest.mark.parametrize("frontier_tokens", [0, 10])
def test_a_marker_outside_the_prompt_is_refused(frontier_tokens: int) -> None:
    marker = TokenMarker(frontier_tokens=frontier_tokens)
    with pytest.raises(PromptError, match="1 to 9"):
        Frontend().prepare(TokenPrompt(tokens=TokenSpan(range(9)), markers=(marker,)), LIMITS)


@pytest.mark.parametrize("evidence", [OBSERVED, EXPLICIT | ASKED, Evidence(0)])
def test_a_marker_has_one_reason_and_not_the_engines(evidence: Evidence) -> None:
    asked = replace(chat(user("a")), markers=(ChatMarker(after=0, evidence=evidence),))
    with pytest.raises(PromptError, match="EXPLICIT_BOUNDARY or"):
        prepare(CHATML, asked)


def test_structure_is_told_twice_at_most() -> None:
    markers = tuple(TokenMarker(frontier_tokens=f, evidence=STRUCTURE) for f in (1, 2, 3))
    with pytest.raises(PromptError, match="after the tools"):
        Frontend().prepare(TokenPrompt(tokens=TokenSpan(range(9)), markers=markers), LIMITS)


def test_a_boundary_inside_a_token_is_no_candidate() -> None:
    asked = replace(chat(system("sky"), user("sky")), markers=(ChatMarker(after=0),))
    (candidate,) = prepare(UNALIGNED, asked).shared_candidates
    assert candidate.evidence == OBSERVED


def test_markers_are_no_part_of_identity() -> None:
    plain = chat(system("be"), user("sky?"))
    marked = replace(plain, markers=(ChatMarker(after=PlacedAfter.TOOLS),), hints=GRID_TOO)
    assert prepare(THINKING, plain).identity == prepare(THINKING, marked).identity
