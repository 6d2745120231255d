"""How does one hold a conversation in a notebook?

Owns a conversation's messages on the client's side: it sends the whole history each time, as chat
clients do, and shows the answer while it grows. Everything the engine knows of it is in the
requests it sends.
"""

from __future__ import annotations

import html
import sys
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TextIO

from ninfer_lab.contract.events import RequestFinished
from ninfer_lab.contract.ids import RequestId, SessionKey
from ninfer_lab.contract.options import RequestOptions
from ninfer_lab.contract.prompt import ChatPrompt, Message, Role
from ninfer_lab.engine.engine import Engine
from ninfer_lab.engine.request import RequestOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One question and its answer.

    Attributes:
        log: What the request cost and reused.
    """

    question: str
    answer: str
    log: RequestFinished

    @property
    def cost(self) -> str:
        """One line: what was reused, what was computed."""
        log = self.log
        if log.error is not None:
            return f"failed: {log.error}"
        path = "nothing" if log.prefix_reuse_path is None else log.prefix_reuse_path.value
        return (
            f"{log.prefix_cache_hit_tokens} of {log.prompt_tokens} prompt tokens reused ({path}),"
            f" {log.computed_prefill_tokens} computed, {log.completion_tokens} generated"
        )

    def __str__(self) -> str:
        return f"user       {self.question}\nassistant  {self.answer}\n           [{self.cost}]"

    def _repr_html_(self) -> str:
        rows = (("user", self.question), ("assistant", self.answer))
        cells = "".join(
            f"<tr><td style='text-align:left;opacity:.6'>{who}</td>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for who, text in rows
        )
        return f"<table>{cells}</table><small style='opacity:.7'>{html.escape(self.cost)}</small>"


class Chat:
    """A conversation with an engine.

    Args:
        engine: Serves it, perhaps beside others.
        session: Binds its requests together; `None` sends them anonymously.
        system: An opening system message.
        options: For every request; the session is filled in.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        session: str | None = "chat",
        system: str | None = None,
        options: RequestOptions | None = None,
    ) -> None:
        self._engine = engine
        key = None if session is None else SessionKey(session)
        self._options = replace(options or RequestOptions(), session_key=key)
        opening = () if system is None else (Message(role=Role.SYSTEM, content=system),)
        self._messages: tuple[Message, ...] = opening
        self._turns: list[Turn] = []
        self._asked: dict[RequestId, tuple[Message, ...]] = {}

    def moved_to(self, engine: Engine) -> Chat:
        """The same conversation so far, to be gone on with by another engine; this one stays."""
        moved = Chat(engine, session=self._options.session_key, options=self._options)
        moved._messages, moved._turns = self._messages, list(self._turns)
        return moved

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history as it would be sent now."""
        return self._messages

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every completed turn."""
        return tuple(self._turns)

    def say(self, text: str, *, show: TextIO | None = None) -> Turn:
        """Sends the history with one more user message, and shows the answer while it grows.

        An interrupt (■) cancels the request; that, and a request the machine fails, leave the
        history as it was before.

        Args:
            show: Where to write; the cell's output by default.

        Raises:
            PromptError: The history no longer fits the context, and the like.
        """
        request = self.submit(text)
        try:
            _show_while_it_grows(self._engine, request, text, show or sys.stdout)
        except BaseException:
            del self._asked[request]
            raise
        turn = self.take_answer(request)
        _show_cost(turn, show or sys.stdout)
        return turn

    def submit(self, text: str) -> RequestId:
        """Only puts the request into the engine's queue, for stepping by hand."""
        asked = (*self._messages, Message(role=Role.USER, content=text))
        request = self._engine.submit(ChatPrompt(messages=asked), self._options)
        self._asked[request] = asked
        return request

    def take_answer(self, request: RequestId) -> Turn:
        """Takes the answer of a submitted request that has ended into the history.

        Raises:
            PromptError: It still runs.
        """
        outcome = self._engine.outcome(request)
        asked = self._asked.pop(request)
        turn = _turn(asked[-1].content, outcome)
        if turn.log.error is None:
            answer = outcome.answer
            self._messages = (
                *asked,
                Message(role=Role.ASSISTANT, content=answer.content, reasoning=answer.reasoning),
            )
            self._turns.append(turn)
        return turn

    def aside(self, text: str, *, show: TextIO | None = None) -> Turn:
        """Sends a side request: a prompt of its own, without history and without session.

        This is what a client does to ask for a title or a summary between two turns.
        """
        options = replace(self._options, session_key=None)
        prompt = ChatPrompt(messages=(Message(role=Role.USER, content=text),))
        request = self._engine.submit(prompt, options)
        _show_while_it_grows(self._engine, request, text, show or sys.stdout)
        turn = _turn(text, self._engine.outcome(request))
        _show_cost(turn, show or sys.stdout)
        return turn

    def forget_last_turn(self) -> None:
        """Drops the last question and answer from the history, as a client that edits does."""
        self._turns.pop()
        self._messages = self._messages[:-2]


def _show_while_it_grows(engine: Engine, request: RequestId, question: str, show: TextIO) -> None:
    print(f"user       {question}", file=show)
    print("assistant  ", end="", file=show, flush=True)
    with closing(engine.stream(request)) as pieces:
        for piece in pieces:
            print(piece, end="", file=show, flush=True)


def _show_cost(turn: Turn, show: TextIO) -> None:
    print(f"\n           [{turn.cost}]", file=show, flush=True)


def _turn(question: str, outcome: RequestOutcome) -> Turn:
    return Turn(question=question, answer=outcome.answer.content, log=outcome.log)
