"""How is an engine run so that everything it computes and keeps can be held against something?

Owns an engine together with the tap on its machine, the watch over what it publishes, the laws on
its ledger and the prompt tokens of every request. Adds nothing to what the engine does; what it
finds it keeps, so that a run with a fault in it goes on to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from ninfer_lab.contract.cache_controller import ControllerSnapshot
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import RequestId
from ninfer_lab.contract.machine_api import MachineApi
from ninfer_lab.contract.numerics import Numerics
from ninfer_lab.contract.options import EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import PromptInput, PromptLimits, TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.assembly import TorchParts, assemble_torch
from ninfer_lab.engine.engine import Engine
from ninfer_lab.engine.request import RequestOutcome
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.laws import check_laws
from ninfer_lab.lab.restore_proof.content_watch import ContentChange, ContentWatch
from ninfer_lab.lab.restore_proof.forward_tap import ForwardTap, TensorMachine, with_tensors
from ninfer_lab.lab.restore_proof.proof import Decomposition, Prover

Meddle = Callable[[TensorMachine], TensorMachine]
"""Puts a fault between tap and machine."""


class WatchedEngine:
    """A context manager, as the engine in it.

    Args:
        checkpoint: A folder.
        options: Of the engine.
        numerics: Of its forwards.
        frontend: What its prompts mean.
        meddle: A fault below the tap; the tap keeps what was asked and what was computed.
    """

    def __init__(
        self,
        checkpoint: Path,
        options: EngineOptions,
        *,
        numerics: Numerics,
        frontend: Frontend,
        meddle: Meddle | None = None,
    ) -> None:
        taps: list[ForwardTap] = []

        def tapped(machine: MachineApi) -> MachineApi:
            whole = with_tensors(machine)
            taps.append(ForwardTap(whole if meddle is None else meddle(whole)))
            return taps[0]

        parts = TorchParts(numerics=numerics, frontend=frontend, wrap_machine=tapped)
        self.engine: Engine = assemble_torch(checkpoint, options, parts)
        (self.tap,) = taps
        self.prompts: dict[RequestId, TokenSpan] = {}
        self._frontend = frontend
        self._watch = ContentWatch(self.tap.tensors, self.tap.host_tensors)
        self._changes: list[ContentChange] = []
        self._broken_laws: list[str] = []
        self._before: ControllerSnapshot | None = None

    @property
    def changes(self) -> tuple[ContentChange, ...]:
        """Every published checkpoint that was found changed after a step, in order (OWN-6)."""
        return tuple(self._changes)

    @property
    def broken_laws(self) -> tuple[str, ...]:
        """After which step which law of `lab.laws` did not hold, in order; rule, class, numbers."""
        return tuple(self._broken_laws)

    def submit(
        self, prompt: PromptInput | TokenSpan, options: RequestOptions | None = None
    ) -> RequestId:
        """As the engine's; bare tokens are a raw prompt."""
        asked = TokenPrompt(tokens=prompt) if isinstance(prompt, TokenSpan) else prompt
        request = self.engine.submit(asked, options)
        limits = PromptLimits(
            max_prompt_tokens=self.engine.options.max_context_tokens,
            vocabulary_tokens=self.tap.model.geometry.vocab_size,
        )
        self.prompts[request] = self._frontend.prepare(asked, limits).tokens
        return request

    def step(self) -> None:
        """One worker cycle, and a look at everything held and published."""
        self.engine.step()
        now = self.engine.describe()
        self._changes += self._watch.look(now.ledger)
        try:
            check_laws(now, self.engine.options, self._before)
        except InvariantBroken as broken:
            self._broken_laws.append(str(broken))
        self._before = now

    def run_until_idle(self) -> None:
        """Steps until nothing waits and nothing runs."""
        while not self.engine.is_idle:
            self.step()

    def run(
        self, prompt: PromptInput | TokenSpan, options: RequestOptions | None = None
    ) -> RequestOutcome:
        """Submits one request and steps until everything has ended."""
        request = self.submit(prompt, options)
        self.run_until_idle()
        return self.engine.outcome(request)

    def history(self, request: RequestId) -> TokenSpan:
        """Prompt and output of a request that has ended."""
        return self.prompts[request] + TokenSpan(self.engine.outcome(request).output_tokens)

    def prover(self, decomposition: Decomposition = Decomposition.SAME_CUTS) -> Prover:
        """Holds what has been served so far against cold runs; the engine must be idle."""
        return Prover(self.engine, self.tap, self.prompts, decomposition)

    def __enter__(self) -> WatchedEngine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.engine.__exit__(kind, error, trace)
