"""How is the tiny model trained, so that a seed gives the same model again?

Owns the curriculum, the optimizer's schedule and the training loop.
Does not know the engine, nor how answers are traced to a half of the cache (`evaluate`, `gates`).

The order of the curriculum is the point: codes alone come first, so that attention learns to look
up before the recurrent states learn to hold; then facts that change join; then dialogues grow to
1,024 tokens.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from ninfer_lab.contract.clock import Clock, MonotonicClock
from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.tiny_model.checkpoint import refuse_foreign_folder, write_checkpoint
from ninfer_lab.lab.tiny_model.delta_rule import quick_training
from ninfer_lab.lab.tiny_model.evaluate import Score, Subject, measure, subject_of
from ninfer_lab.lab.tiny_model.examples import Example, ExampleEncoder
from ninfer_lab.lab.tiny_model.gates import Gate, judge
from ninfer_lab.lab.tiny_model.model import untrained_model
from ninfer_lab.lab.tiny_model.tokenizer import build_tokenizer
from ninfer_lab.lab.tiny_model.world import Form, Recipe, Split, generate

LEARNING_RATE: Final = 1e-3
WARM_UP_STEPS: Final = 50
CLIP_NORM: Final = 1.0
AVERAGING: Final = 0.03
"""Weight of the newest batch in the running accuracies."""
LOG_EVERY_STEPS: Final = 25
COOLING_SHARE: Final = 0.3
"""In this last share of `minutes` the learning rate falls to zero, wherever the curriculum is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One part of the curriculum.

    Attributes:
        recipe: What the conversations are like.
        batch_count: Conversations per step.
        changing_floor: Running accuracy on changing facts that ends the stage.
        code_floor: Running accuracy on codes that ends the stage.
        steps_max_count: The stage ends here in any case.
    """

    recipe: Recipe
    batch_count: int
    changing_floor: float
    code_floor: float
    steps_max_count: int


CURRICULUM: Final = (
    Stage(
        recipe=Recipe(
            length_tokens=192, form=Form.RECITAL, code_share=0.5, changing_keys_max_count=6
        ),
        batch_count=8,
        changing_floor=0.75,
        code_floor=0.80,
        steps_max_count=600,
    ),
    Stage(
        recipe=Recipe(length_tokens=256),
        batch_count=8,
        changing_floor=0.95,
        code_floor=0.92,
        steps_max_count=800,
    ),
    Stage(
        recipe=Recipe(length_tokens=512),
        batch_count=4,
        changing_floor=0.97,
        code_floor=0.93,
        steps_max_count=600,
    ),
    Stage(
        recipe=Recipe(length_tokens=1024),
        batch_count=2,
        changing_floor=2.0,  # never: the last stage runs its steps, cooling down
        code_floor=2.0,
        steps_max_count=900,
    ),
)


class Ending(Enum):
    """Why training stopped."""

    CURRICULUM_DONE = "curriculum done"
    TIME_UP = "time up"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """What a training run did and how good its model is.

    Attributes:
        folder: Where the checkpoint lies.
        seed: Of weights and conversations.
        steps_count: Optimizer steps.
        tokens_count: Tokens read, padding included.
        training_seconds: Without the final measurement.
        ending: Why it stopped.
        scores: The held-out measurement.
        gates: The scores held against the limits.
    """

    folder: Path
    seed: int
    steps_count: int
    tokens_count: int
    training_seconds: float
    ending: Ending
    scores: tuple[Score, ...]
    gates: tuple[Gate, ...]

    def __str__(self) -> str:
        head = (
            f"{self.folder}: seed {self.seed}, {self.steps_count} steps, "
            f"{self.tokens_count / 1e6:.2f} M tokens, {self.training_seconds / 60:.1f} min, "
            f"{self.ending.value}"
        )
        lines = [
            f"  {'pass' if gate.passed else 'FAIL'}  {gate.name}: {gate.found_share:.1%} "
            f"at {gate.at_length_tokens} tokens ({gate.legal})"
            for gate in self.gates
        ]
        return "\n".join((head, *lines))


def train_tiny(
    out: Path,
    *,
    seed: int,
    minutes: float,
    judged_count: int = 50,
    clock: Clock | None = None,
) -> TrainingReport:
    """Train the model from a seed and put the checkpoint into a folder.

    With the time not binding, the same seed on the same machine gives the same weights.

    Args:
        out: The checkpoint's folder, replaced whole when training is done.
        seed: Decides weights and conversations.
        minutes: Training stops after so long, cooled down; the final measurement comes on top.
        judged_count: Held-out conversations per length behind the gate table, at least 2.
        clock: Where the time comes from; wall time by default.

    Returns:
        What was done and what the held-out measurement found.

    Raises:
        OptionsError: `out` holds something that is no tiny checkpoint, or `minutes` is not
        positive.
    """
    refuse_foreign_folder(out)
    if minutes <= 0:
        raise OptionsError("minutes", found=minutes, legal="more than 0")
    run = _Run(seed=seed, minutes=minutes, clock=clock or MonotonicClock())
    with quick_training():
        ending = run.follow(CURRICULUM)
    training_seconds = run.elapsed_seconds()
    run.model.train(mode=False)
    scores = measure(run.model, run.tokenizer, conversations_count=judged_count)
    report = TrainingReport(
        folder=out,
        seed=seed,
        steps_count=run.steps_count,
        tokens_count=run.tokens_count,
        training_seconds=training_seconds,
        ending=ending,
        scores=scores,
        gates=judge(scores),
    )
    write_checkpoint(out, run.model, [*run.log, *_summary(report)])
    return report


class _Run:
    """One training run: the model and everything that changes with it."""

    def __init__(self, *, seed: int, minutes: float, clock: Clock) -> None:
        self.model = untrained_model(seed)
        self.tokenizer = build_tokenizer()
        self.steps_count = 0
        self.tokens_count = 0
        self.log: list[dict[str, object]] = []
        self._encoder = ExampleEncoder(self.tokenizer)
        self._optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.95), weight_decay=0.01
        )
        self._clock = clock
        self._start_ns = clock.now_ns()
        self._minutes = minutes
        self._next_conversation = seed * 10_000_000
        self._accuracy = dict.fromkeys(Subject, 0.0)

    def follow(self, curriculum: tuple[Stage, ...]) -> Ending:
        """Go through the stages, or as far as the time goes."""
        for number, stage in enumerate(curriculum):
            is_last = number == len(curriculum) - 1
            for step in range(stage.steps_max_count):
                spent = self.elapsed_seconds() / (60 * self._minutes)
                if spent >= 1.0:
                    return Ending.TIME_UP
                warm = min(1.0, (self.steps_count + 1) / WARM_UP_STEPS)
                late = min(1.0, (1.0 - spent) / COOLING_SHARE)
                cooling = 1.0 - step / stage.steps_max_count if is_last else 1.0
                rate = LEARNING_RATE * min(warm, late, cooling)
                loss = self._step(stage, rate)
                if self.steps_count % LOG_EVERY_STEPS == 0:
                    self._note(number, loss, rate)
                if (
                    self._accuracy[Subject.CHANGING] >= stage.changing_floor
                    and self._accuracy[Subject.CODE] >= stage.code_floor
                ):
                    break
        return Ending.CURRICULUM_DONE

    def elapsed_seconds(self) -> float:
        """Since the run began."""
        return (self._clock.now_ns() - self._start_ns) / 1e9

    def _step(self, stage: Stage, rate: float) -> float:
        examples = [self._next_example(stage.recipe) for _ in range(stage.batch_count)]
        token_ids, weights = _batch(examples)
        hidden = self.model.model(input_ids=token_ids, use_cache=False).last_hidden_state
        counted = weights[:, 1:] > 0
        logits = self.model.lm_head(hidden[:, :-1][counted])
        targets = token_ids[:, 1:][counted]
        losses = F.cross_entropy(logits, targets, reduction="none")
        share = weights[:, 1:][counted]
        loss = (losses * share).sum() / share.sum()
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch publishes no annotation for it
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP_NORM)
        self._optimizer.step()
        self.steps_count += 1
        self.tokens_count += token_ids.numel()
        right = torch.zeros_like(token_ids, dtype=torch.bool)
        right[:, 1:][counted] = logits.argmax(dim=-1) == targets
        self._update_accuracy(examples, right)
        return loss.item()

    def _next_example(self, recipe: Recipe) -> Example:
        self._next_conversation += 1
        conversation = generate(recipe, split=Split.TRAINING, seed=self._next_conversation)
        return self._encoder.encode(conversation)

    def _update_accuracy(self, examples: list[Example], right: Tensor) -> None:
        found: dict[Subject, list[bool]] = {subject: [] for subject in Subject}
        for row, example in enumerate(examples):
            for position, kind in example.values:
                found[subject_of(kind)].append(bool(right[row, position]))
        for subject, answers in found.items():
            if answers:
                newest = sum(answers) / len(answers)
                self._accuracy[subject] += AVERAGING * (newest - self._accuracy[subject])

    def _note(self, stage_number: int, loss: float, rate: float) -> None:
        accuracy = {f"{each.value}_right": round(x, 4) for each, x in self._accuracy.items()}
        self.log.append(
            {
                "step": self.steps_count,
                "stage": stage_number,
                "tokens": self.tokens_count,
                "seconds": round(self.elapsed_seconds(), 1),
                "loss": round(loss, 4),
                **accuracy,
                "learning_rate": rate,
            }
        )


def _batch(examples: list[Example]) -> tuple[Tensor, Tensor]:
    """Token ids and weights, `[B, T]` each; shorter conversations end in padding, id 0."""
    length = max(len(example.token_ids) for example in examples)
    token_ids = torch.zeros(len(examples), length, dtype=torch.long)
    weights = torch.zeros(len(examples), length)
    for row, example in enumerate(examples):
        token_ids[row, : len(example.token_ids)] = torch.tensor(example.token_ids)
        weights[row, : len(example.weights)] = torch.tensor(example.weights)
    return token_ids, weights


def _summary(report: TrainingReport) -> list[dict[str, object]]:
    """The last lines of the log: the run, its scores, its gates."""
    run: dict[str, object] = {
        "seed": report.seed,
        "steps": report.steps_count,
        "tokens": report.tokens_count,
        "training_seconds": round(report.training_seconds, 1),
        "ending": report.ending.value,
        "torch": torch.__version__,
    }
    scores: list[dict[str, object]] = [
        {
            **asdict(score),
            "subject": score.subject.value,
            "swap": score.swap.value,
            "right_share": round(score.right_share, 4),
            "foreign_share": round(score.foreign_share, 4),
        }
        for score in report.scores
    ]
    return [run, *scores, *(asdict(gate) for gate in report.gates)]
