"""Do the requests that an engine served equal their cold runs?

Owns the verdict: per request the logits of every forward that drew, per published checkpoint the
bytes it is made of. Does not know how requests were made up, nor why a difference came about.
Source: spec IDN-6 (bits in canonical mode, measured drift otherwise), OWN-6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from torch import Tensor

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.events import ForwardRan
from ninfer_lab.contract.ids import OwnerId, RequestId
from ninfer_lab.contract.placement import CheckpointPlacement
from ninfer_lab.contract.target import StateTransition
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.contract.work import ForwardPhase
from ninfer_lab.engine.engine import Engine
from ninfer_lab.lab.restore_proof.cold_run import ColdRun, relative_rms, same_bits
from ninfer_lab.lab.restore_proof.forward_tap import ForwardTap
from ninfer_lab.lab.restore_proof.lineage import Lineage, LineageBook
from ninfer_lab.lab.restore_proof.replicas import Replicas


class Decomposition(Enum):
    """By which forwards the cold run gets there."""

    SAME_CUTS = "same cuts"
    """The cuts of the request's own lineage: bits are promised in canonical mode."""
    ONE_PIECE = "one piece"
    """The prompt at once, then token by token: right within rounding, no more (IDN-6)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreVerdict:
    """One request that started from a checkpoint, against its cold run.

    Attributes:
        compared_count: Forwards that drew, each compared over the whole vocabulary.
        differing_count: Of these, with any bit different.
        drift: Worst relative RMS of one forward's logits.
    """

    request: RequestId
    path: ReusePath
    state: StateTransition
    reuse_tokens: int
    cuts_count: int
    compared_count: int
    differing_count: int
    drift: float

    def __str__(self) -> str:
        equal = "equal" if self.differing_count == 0 else f"{self.differing_count} differ"
        return (
            f"request {self.request}: {self.path.value} by {self.state.value},"
            f" reuse {self.reuse_tokens}, {self.cuts_count} cuts;"
            f" {self.compared_count} logits {equal}, drift {self.drift:.1e}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointVerdict:
    """One published checkpoint against the memory of its cold run.

    Attributes:
        differing_parts: What differs, in words: the image's two halves, pages by ordinal.
    """

    owner: OwnerId
    checkpoint: CheckpointSummary
    differing_parts: tuple[str, ...]

    def __str__(self) -> str:
        differ = ", ".join(self.differing_parts) or "nothing"
        return f"owner {self.owner}, {self.checkpoint}: {differ} differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreProof:
    """Everything an engine restored and published, against cold runs."""

    restores: tuple[RestoreVerdict, ...]
    checkpoints: tuple[CheckpointVerdict, ...]

    @property
    def differences(self) -> tuple[RestoreVerdict | CheckpointVerdict, ...]:
        """What does not equal its cold run, bit for bit."""
        return (
            *(verdict for verdict in self.restores if verdict.differing_count),
            *(verdict for verdict in self.checkpoints if verdict.differing_parts),
        )

    @property
    def drift(self) -> float:
        """Worst relative RMS of all logits."""
        return max((verdict.drift for verdict in self.restores), default=0.0)

    def __str__(self) -> str:
        return "\n".join(str(verdict) for verdict in (*self.restores, *self.checkpoints))


class Prover:
    """Holds one engine's past against cold runs.

    Args:
        engine: Idle: its requests have ended, and are all still known to it.
        tap: On its machine since the first forward.
        prompts: The prompt tokens of every request.
        decomposition: Of the cold runs.
    """

    def __init__(
        self,
        engine: Engine,
        tap: ForwardTap,
        prompts: Mapping[RequestId, TokenSpan],
        decomposition: Decomposition = Decomposition.SAME_CUTS,
    ) -> None:
        self._engine = engine
        self._tap = tap
        self._prompts = prompts
        self._decomposition = decomposition
        self._book = LineageBook(engine.events)
        self._cold = ColdRun(tap.model, tap.tensors, engine.options.max_context_tokens)

    def proof(self) -> RestoreProof:
        """The verdict on every restored request and on every checkpoint that still exists."""
        return RestoreProof(restores=self.restores(), checkpoints=self.checkpoints())

    def restores(self) -> tuple[RestoreVerdict, ...]:
        """The verdict on every request that started from a checkpoint, in order of admission."""
        served = self._served_logits()
        return tuple(
            self._restore(lineage, served.get(lineage.request, {}))
            for lineage in self._book.all()
            if not lineage.path.is_root
        )

    def checkpoints(self) -> tuple[CheckpointVerdict, ...]:
        """The verdict on every inactive checkpoint that exists now: its bytes."""
        return tuple(
            self._checkpoint(owner.owner, checkpoint)
            for owner in self._engine.describe().ledger.owners
            for checkpoint in owner.checkpoints
        )

    def _served_logits(self) -> dict[RequestId, dict[int, Tensor]]:
        """By request and frontier: the logits the engine drew from."""
        forwards = [event for event in self._engine.events if isinstance(event, ForwardRan)]
        served: dict[RequestId, dict[int, Tensor]] = {}
        for event, logits in zip(forwards, self._tap.logits, strict=True):
            for ordinal, row in enumerate(event.rows):
                if event.phase is ForwardPhase.DECODE or row.drawn_token is not None:
                    served.setdefault(row.request, {})[row.end_tokens] = logits[ordinal]
        return served

    def _restore(self, lineage: Lineage, served: dict[int, Tensor]) -> RestoreVerdict:
        ends = self._cold_cuts(lineage)
        cold = dict(zip(ends, self._cold.run(self._history(lineage.request), ends), strict=True))
        drifts = [relative_rms(logits, cold[frontier]) for frontier, logits in served.items()]
        return RestoreVerdict(
            request=lineage.request,
            path=lineage.path,
            state=lineage.state,
            reuse_tokens=lineage.reuse_tokens,
            cuts_count=len(lineage.cut_ends_tokens),
            compared_count=len(served),
            differing_count=sum(
                1 for frontier, logits in served.items() if not same_bits(logits, cold[frontier])
            ),
            drift=max(drifts, default=0.0),
        )

    def _cold_cuts(self, lineage: Lineage) -> tuple[int, ...]:
        match self._decomposition:
            case Decomposition.SAME_CUTS:
                return lineage.cut_ends_tokens
            case Decomposition.ONE_PIECE:
                prompt_tokens = len(self._prompts[lineage.request])
                if lineage.frontier_tokens < prompt_tokens:
                    return lineage.cut_ends_tokens[-1:]
                return tuple(range(prompt_tokens, lineage.frontier_tokens + 1))

    def _checkpoint(self, owner: OwnerId, checkpoint: CheckpointPlacement) -> CheckpointVerdict:
        publisher = self._book.publisher_of(owner)
        ends = publisher.cut_ends_until(checkpoint.summary.frontier_tokens)
        self._cold.run(self._history(publisher.request), ends)
        return CheckpointVerdict(
            owner=owner,
            checkpoint=checkpoint.summary,
            differing_parts=tuple(self._differing_parts(checkpoint)),
        )

    def _differing_parts(self, checkpoint: CheckpointPlacement) -> Iterator[str]:
        """Places whose bytes are not the cold run's, on the Device and on the Host."""
        conv, recurrent = self._cold.image()
        expected = {"conv": conv, "recurrent": recurrent}
        covered = self._cold.covered(checkpoint.summary.frontier_tokens)
        expected |= {f"page {ordinal}": page for ordinal, page in enumerate(covered)}
        ledger = self._engine.describe().ledger
        parts = Replicas(self._tap.tensors, self._tap.host_tensors, ledger).of(checkpoint)
        yield from sorted(expected.keys() - {part.name for part in parts})
        for part in parts:
            if not same_bits(part.tensor, expected[part.name].to(part.tensor.device)):
                yield part.place

    def _history(self, request: RequestId) -> TokenSpan:
        """Prompt and accepted output."""
        if request not in self._prompts:
            raise NinferLabError(
                "prompts", found=f"none of request {request}", legal="one per request"
            )
        output = self._engine.outcome(request).output_tokens
        return self._prompts[request] + TokenSpan(output)
