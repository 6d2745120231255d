"""Law: what lies before a boundary comes back, token for token, whatever is said next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.texts import (
    CHATML,
    COUNTING,
    CROSSING,
    END,
    LIMITS,
    SEAMLESS,
    THINKING,
    UNALIGNED,
    assistant,
    byte_level,
    chat,
    frontend,
    system,
    template,
    tool,
    user,
)
from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.output import OutputRules
from ninfer_lab.contract.prompt import (
    RAW_TOKENS,
    ChatPrompt,
    Message,
    OutputChannel,
    PreparedPrompt,
    PromptLimits,
    RewriteKind,
    Role,
    TokenPrompt,
)
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.frontend.prepared_prompt import Frontend

CLOSURE, REPLAY = RewriteKind.TURN_CLOSURE, RewriteKind.RESPONSE_REPLAY
ALL_TEMPLATES = {
    "chatml": CHATML,
    "thinking": THINKING,
    "seamless": SEAMLESS,
    "unaligned": UNALIGNED,
    "crossing": CROSSING,
    "counting": COUNTING,
}

contents = st.text(st.sampled_from("sky! \né"), max_size=8)
answers = st.builds(assistant, contents, st.none() | contents)
turns = st.lists(st.one_of(contents.map(user), answers, contents.map(tool)), min_size=0, max_size=5)


def prepare(text: str, *messages: Message, **options: bool | int | str) -> PreparedPrompt:
    return frontend(text).prepare(chat(*messages, **options), LIMITS)


def written(prompt: PreparedPrompt, frontier_tokens: int | None) -> str:
    """The text before a frontier, marks and all."""
    assert frontier_tokens is not None
    inner = byte_level()
    names = {token: name for name in MARKS for token in inner.encode_tokens(name)}
    return "".join(
        names.get(token, inner.piece_bytes(token).decode("utf-8", "replace"))
        for token in prompt.tokens[:frontier_tokens]
    )


MARKS = ("<|im_start|>", END)


def test_a_plain_template_has_one_boundary_and_a_cut_before_every_answer() -> None:
    prompt = prepare(CHATML, system("be"), user("sky?"), assistant("blue"), user("hello"))
    blocks = [
        f"<|im_start|>{role}\n{said}{END}\n"
        for role, said in (
            *(("system", "be"), ("user", "sky?")),
            *(("assistant", "blue"), ("user", "hello")),
        )
    ]
    told = [written(prompt, end) for end in prompt.message_boundaries_tokens]
    assert told == ["".join(blocks[:count]) for count in (1, 2, 3, 4)]
    cuts = [written(prompt, cut) for cut in prompt.rewrite_execution_frontiers]
    assert cuts == ["".join(blocks[:2]), "".join(blocks)]
    (boundary,) = prompt.rewrite_boundaries
    assert boundary.kind is CLOSURE
    assert boundary.frontier_tokens == prompt.rewrite_execution_frontiers[-1]
    assert prompt.opens_in is OutputChannel.CONTENT


def test_a_turn_that_will_lose_its_thoughts_closes_before_the_first_of_them() -> None:
    # spec: OWN-4, OWN-5
    call = assistant("f()", "I should look")
    prompt = prepare(THINKING, user("sky?"), call, tool("blue"))
    closed = written(prompt, prompt.rewrite_frontier_tokens(CLOSURE))
    assert closed == f"<|im_start|>user\nsky?{END}\n"
    replayed = written(prompt, prompt.rewrite_frontier_tokens(REPLAY))
    assert replayed.endswith(f"</tool_response>{END}\n")
    assert replayed + "<|im_start|>assistant\n<think>\n" == written(prompt, len(prompt.tokens))
    assert prompt.opens_in is OutputChannel.REASONING


def test_before_the_first_thought_both_boundaries_are_one() -> None:
    prompt = prepare(THINKING, user("sky?"))
    (boundary,) = prompt.rewrite_boundaries
    assert boundary.kind is CLOSURE
    assert prompt.rewrite_frontier_tokens(REPLAY) is None
    assert prepare(THINKING, user("sky?"), enable_thinking=False).opens_in is OutputChannel.CONTENT


def test_a_boundary_that_no_token_frontier_meets_is_dropped() -> None:
    prompt = prepare(UNALIGNED, user("sky"), assistant("blue"), user("sky"))
    assert prompt.message_boundaries_tokens == ()
    assert prompt.rewrite_execution_frontiers == ()
    assert prompt.rewrite_boundaries == ()


def test_a_frontier_that_the_answer_s_first_sign_would_cross_closes_nothing() -> None:
    prompt = prepare(CROSSING, user("sky"))
    answered = prepare(CROSSING, user("sky"), assistant("blue"), user("sky"))
    (boundary,) = prompt.rewrite_boundaries
    assert boundary.kind is REPLAY
    assert answered.tokens.common_prefix_tokens(prompt.tokens) < boundary.frontier_tokens
    assert prepare(COUNTING, user("sky")).rewrite_frontier_tokens(CLOSURE) is None


@pytest.mark.parametrize("text", ALL_TEMPLATES.values(), ids=ALL_TEMPLATES)
@given(said=turns, answer=answers, question=contents)
def test_no_next_turn_changes_a_token_before_the_closure(  # spec: OWN-5
    text: str, said: list[Message], answer: Message, question: str
) -> None:
    first = prepare(text, user("q"), *said)
    second = prepare(text, user("q"), *said, answer, user(question))
    closure = first.rewrite_frontier_tokens(CLOSURE)
    same = second.tokens.common_prefix_tokens(first.tokens)
    if closure is not None:
        assert same >= closure
    replay = first.rewrite_frontier_tokens(REPLAY)
    if replay is not None:
        assert replay == first.rewrite_execution_frontiers[-1]
        assert closure is None or closure < replay


@pytest.mark.parametrize("text", [CHATML, THINKING], ids=["chatml", "think"])
@given(said=turns, answer=answers, question=contents, results=st.booleans())
def test_what_two_prompts_share_they_cut_alike(  # spec: IDN-3
    text: str, said: list[Message], answer: Message, question: str, results: bool
) -> None:
    following = tool(question) if results else user(question)
    first = prepare(text, user("q"), *said)
    second = prepare(text, user("q"), *said, answer, following)
    same = second.tokens.common_prefix_tokens(first.tokens)
    cuts = [
        [cut for cut in prompt.rewrite_execution_frontiers if cut < same]
        for prompt in (first, second)
    ]
    assert cuts[0] == cuts[1]


def test_token_prompts_have_no_messages_and_an_identity_of_their_own() -> None:
    prompt = Frontend().prepare(TokenPrompt(tokens=TokenSpan([5, 6])), LIMITS)
    assert prompt.tokens == TokenSpan([5, 6])
    assert prompt.rewrite_boundaries == ()
    assert prompt.message_boundaries_tokens == ()
    assert prompt.identity.template == RAW_TOKENS
    assert prepare(CHATML, user("q")).identity != prompt.identity
    assert prepare(CHATML, user("q")).identity == prepare(CHATML, user("z")).identity


def limits(**changes: int) -> PromptLimits:
    return PromptLimits(**{"max_prompt_tokens": 9, "vocabulary_tokens": 1_000, **changes})


@pytest.mark.parametrize(
    ("prompt", "legal", "says"),
    [
        (chat(), LIMITS, "messages: found an empty list; legal: at least one message"),
        (TokenPrompt(tokens=TokenSpan()), LIMITS, "prompt: found no tokens; legal: at least one"),
        (
            TokenPrompt(tokens=TokenSpan(range(10))),
            limits(),
            "prompt: found 10 tokens; legal: at most 9 tokens",
        ),
        (chat(user("sky " * 20)), limits(), r"prompt: found \d\d tokens; legal: at most 9 tokens"),
        (
            chat(user("a"), user("b")),
            limits(max_messages=1),
            "messages: found 2; legal: at most 1",
        ),
        (
            TokenPrompt(tokens=TokenSpan([3, 1_000])),
            limits(),
            "prompt: found token id 1000; legal: ids below the model's vocabulary of 1000",
        ),
        (
            chat(user("a")),
            limits(max_prompt_tokens=90, vocabulary_tokens=2),
            "legal: ids below the model's vocabulary of 2",
        ),
    ],
)
def test_refuses_with_what_was_found_and_what_is_legal(
    prompt: ChatPrompt | TokenPrompt, legal: PromptLimits, says: str
) -> None:
    with pytest.raises(PromptError, match=says):
        frontend(CHATML).prepare(prompt, legal)


def test_the_longest_legal_prompt_is_served() -> None:
    whole = TokenPrompt(tokens=TokenSpan(range(9)))
    assert len(frontend(CHATML).prepare(whole, limits()).tokens) == 9
    empty = "{% for m in messages %}{{ m.content }}{% endfor %}"
    with pytest.raises(PromptError, match="prompt: found no tokens"):
        frontend(empty).prepare(chat(user("")), LIMITS)


def test_an_order_of_roles_the_template_refuses_is_the_caller_s_error() -> None:
    with pytest.raises(PromptError, match="a question is missing"):
        prepare(THINKING, system("be"), assistant("blue"))


def test_a_frontend_without_text_serves_tokens_only() -> None:
    tokens = TokenPrompt(tokens=TokenSpan([1]))
    with pytest.raises(PromptError, match="chat prompt: found a checkpoint without tokenizer"):
        Frontend().prepare(chat(user("q")), LIMITS)
    with pytest.raises(PromptError, match="chat prompt: found a checkpoint without chat template"):
        Frontend(tokenizer=byte_level()).prepare(chat(user("q")), LIMITS)
    prepared = Frontend().prepare(tokens, LIMITS)
    with pytest.raises(PromptError, match="stop_strings"):
        Frontend().open_output(
            tokens, prepared, OutputRules(max_output_tokens=2, stop_strings=("a",))
        )
    assert Frontend().stop_token_ids == ()
    assert Frontend(tokenizer=byte_level()).stop_token_ids == tuple(byte_level().encode_tokens(END))


def test_a_prompt_without_opener_is_cut_only_where_tokens_follow() -> None:
    text = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
    prompt = prepare(text, user("sky"), assistant("blue"), user("sky"))
    assert prompt.message_boundaries_tokens[-1] == len(prompt.tokens)
    assert all(cut < len(prompt.tokens) for cut in prompt.rewrite_execution_frontiers)
    assert len(prompt.rewrite_execution_frontiers) == 1
    assert template(text).render_prompt(chat(user("a"))) == "[user] a\n"


def test_the_roles_a_message_can_have_all_render() -> None:
    said = [Message(role=role, content="x") for role in Role]
    prompt = prepare(CHATML, *said)
    assert len(prompt.message_boundaries_tokens) == len(Role)
