"""A conversation sends its whole history, shows the answer as it grows, and outlives a request."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.options import EngineOptions, RequestOptions
from ninfer_lab.contract.output import FinishReason
from ninfer_lab.contract.prompt import Role
from ninfer_lab.engine.assembly import TorchParts
from ninfer_lab.engine.engine import Engine
from ninfer_lab.lab.chat import Chat
from ninfer_lab.lab.faults.fault import Fault
from ninfer_lab.lab.faults.faulty_machine import breaking
from ninfer_lab.lab.laws import check_laws
from ninfer_lab.lab.serving import open_engine

OPTIONS = EngineOptions(device_state_slots=3, max_context_tokens=256, kv_capacity_tokens=1024)
SHORT = RequestOptions(max_output_tokens=12)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with open_engine(options=OPTIONS) as opened:
        yield opened


def chat_on(engine: Engine, session: str | None = "home") -> Chat:
    return Chat(engine, session=session, options=SHORT)


def test_the_answer_is_shown_and_joins_the_history(engine: Engine) -> None:
    chat, shown = chat_on(engine), io.StringIO()
    turn = chat.say("The lamp is red. What colour is the lamp?", show=shown)
    assert [message.role for message in chat.messages] == [Role.USER, Role.ASSISTANT]
    assert chat.messages[-1].content == turn.answer
    assert f"assistant  {turn.answer}" in shown.getvalue()
    assert turn.cost in shown.getvalue()


def test_the_model_knows_what_was_said_before_and_the_engine_reuses_it(engine: Engine) -> None:
    chat, quiet = chat_on(engine), io.StringIO()
    chat.say("The lamp is red. The door is blue. What colour is the door?", show=quiet)
    turn = chat.say("Ben is in Rome. What colour is the lamp?", show=quiet)
    assert turn.answer == "The lamp is red."
    assert turn.log.prefix_cache_hit_tokens > 0


def test_an_aside_leaves_history_and_session_alone(engine: Engine) -> None:
    chat, quiet = chat_on(engine), io.StringIO()
    chat.say("The lamp is red. What colour is the lamp?", show=quiet)
    before = chat.messages
    aside = chat.aside("Let us plan the picnic. Give this conversation a title.", show=quiet)
    assert chat.messages == before
    assert aside.log.prefix_cache_hit_tokens == 0
    sessions = [entry.session_key for entry in engine.describe().catalog]
    assert sessions == ["home", None]


def test_a_turn_can_be_taken_back(engine: Engine) -> None:
    chat, quiet = chat_on(engine), io.StringIO()
    chat.say("The lamp is red. What colour is the lamp?", show=quiet)
    chat.say("The lamp is green. What colour is the lamp?", show=quiet)
    chat.forget_last_turn()
    assert len(chat.messages) == 2
    assert chat.say("What colour is the lamp?", show=quiet).answer == "The lamp is red."


class Impatient(io.StringIO):
    """Raises what ■ raises, in the middle of the answer."""

    def write(self, text: str, /) -> int:
        if "lamp" in text and "user" not in text:
            raise KeyboardInterrupt
        return super().write(text)


def test_an_interrupted_turn_leaves_history_and_engine_as_they_were(engine: Engine) -> None:
    chat, quiet = chat_on(engine), io.StringIO()
    chat.say("The lamp is red. What colour is the lamp?", show=quiet)
    before = chat.messages
    with pytest.raises(KeyboardInterrupt):
        chat.say("Ben is in Rome. What colour is the lamp?", show=Impatient())
    assert chat.messages == before
    assert engine.is_idle
    check_laws(engine.describe(), engine.options)
    assert chat.say("What colour is the lamp?", show=quiet).answer == "The lamp is red."


def test_a_history_that_no_longer_fits_is_refused_with_numbers(engine: Engine) -> None:
    chat = chat_on(engine)
    with pytest.raises(PromptError, match="legal: at most 255 tokens"):
        chat.say("The lamp is red. " * 80, show=io.StringIO())
    assert chat.messages == ()


def test_pages_without_their_state_read_a_wrong_word() -> None:
    # spec: IDN-2
    parts = TorchParts(wrap_machine=breaking(Fault.STATE_NOT_RESTORED))
    with open_engine(options=OPTIONS, parts=parts) as engine:
        chat, quiet = chat_on(engine), io.StringIO()
        chat.say(
            "Let us plan the trip. The lamp is gold. The door is blue. Anna is in Oslo."
            " What colour is the door?",
            show=quiet,
        )
        turn = chat.say("Ben is in Rome. What colour is the lamp?", show=quiet)
    assert turn.log.finish_reason is FinishReason.STOP
    assert turn.answer != "The lamp is gold."


def test_a_turn_prints_what_it_cost(engine: Engine) -> None:
    turn = chat_on(engine).say("The lamp is red. What colour is the lamp?", show=io.StringIO())
    assert turn.cost == (
        f"0 of {turn.log.prompt_tokens} prompt tokens reused (root),"
        f" {turn.log.prompt_tokens} computed, {turn.log.completion_tokens} generated"
    )
    assert "red" in str(turn)
    assert "<table>" in turn._repr_html_()


def test_a_saved_conversation_goes_on_in_another_engine(engine: Engine) -> None:  # spec: PER-3
    chat, quiet = chat_on(engine), io.StringIO()
    chat.say("The lamp is red. Locker K17 holds 83. What colour is the lamp?", show=quiet)
    with open_engine(options=OPTIONS) as other:
        other.sessions.restore(engine.sessions.save("home"))
        moved = chat.moved_to(other)
        there = moved.say("What does locker K17 hold?", show=quiet)
        here = chat.say("What does locker K17 hold?", show=quiet)
    assert (there.answer, there.cost) == (here.answer, here.cost)
    assert there.log.prefix_reuse_path is ReusePath.PRIVATE_ENDPOINT
    assert moved.messages == chat.messages
