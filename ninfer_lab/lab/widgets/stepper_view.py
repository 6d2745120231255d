"""How does a run go, step by step, and what if it had gone otherwise? (W-4)

Owns the view of a run's lanes and events: what is sent to the browser, once, the fork that is asked
for there and run here, and the two forms that stand without a browser. Steps, state and first
difference are `timeline`'s and `fork`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import traitlets

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab import designs, palette
from ninfer_lab.lab.changes import Change, Faults, OtherDesign, WithoutCache
from ninfer_lab.lab.fork import Fork, fork_here
from ninfer_lab.lab.moment import Moment
from ninfer_lab.lab.picture import Picture
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.retelling import can_run_again, run_again
from ninfer_lab.lab.run_columns import run_columns
from ninfer_lab.lab.stepper_figures import MARK_COLOURS, stepped
from ninfer_lab.lab.timeline import Timeline
from ninfer_lab.lab.widgets.event_view import EventView
from ninfer_lab.lab.widgets.live_view import module_text, packed
from ninfer_lab.lab.world import Run

CHANGES: Mapping[str, Sequence[Change]] = {
    "nothing: it comes out again": (),
    "the next forward fails": (Faults(forwards=frozenset({0})),),
    "the next copy fails": (Faults(transfers=frozenset({0})),),
    "later requests do without the cache": (WithoutCache(),),
    "a whole run beside it: lanes own their caches": (
        OtherDesign(designs.LANE_OWNED, designs.named(designs.LANE_OWNED)),
    ),
}
"""What a fork offers unless the reader has something else in mind."""


class StepperView(EventView):
    """A run, stepped by event, request, worker cycle, transaction phase and stage.

    `step` is the event one stands at, and `event` the same under the name by which views of one
    recording are linked; `selected` is a request. *Fork here* runs the world again; of a recording
    it is told once first, to prove that its events come out again.

    Args:
        subject: A run, or a recording, which is forked if its world can be told again.
        changes: What a fork may change, by the words that are offered.
    """

    _esm = module_text("stepper_view")

    fork_asked = traitlets.Dict().tag(sync=True)
    fork_lines: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    fork_columns = traitlets.Bytes().tag(sync=True)
    fork_columns_at = traitlets.Dict().tag(sync=True)
    fork_facts = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        subject: Run | Recording,
        changes: Mapping[str, Change | Sequence[Change]] | None = None,
    ) -> None:
        self.run = subject if isinstance(subject, Run) else None
        recording = subject.recording if isinstance(subject, Run) else subject
        if not recording.events:
            raise OptionsError("recording", found="no event", legal="a run that did something")
        self.timeline = Timeline.of(recording)
        self.fork: Fork | None = None
        offered = CHANGES if changes is None else changes
        self.changes = {name: _many(change) for name, change in offered.items()}
        columns, facts = run_columns(self.timeline)
        super().__init__(
            columns=columns,
            facts={**facts, **self._own_facts(recording)},
            steps_count=len(recording.events),
        )
        self.on_change("fork_asked", self._fork)

    def _own_facts(self, recording: Recording) -> dict[str, Any]:
        is_forked = self.run is not None or can_run_again(recording)
        return {
            "name": recording.facts.world,
            "changes": list(self.changes) if is_forked else [],
            "mark_colours": dict(MARK_COLOURS),
            "prefill_colour": palette.PREFILL_COLOUR,
            "decode_colour": palette.DECODE_COLOUR,
            "running_colour": palette.RUNNING_COLOUR,
            "allocated_colour": palette.ALLOCATED_COLOUR,
            "reserved_colour": palette.RESERVED_COLOUR,
        }

    @property
    def moment(self) -> Moment:
        """Everything that stood where the view stands."""
        return self.timeline.moment(self.step)

    def fork_here(self, *changes: Change) -> Fork:
        """Runs the world again, otherwise from where the view stands, and shows it below.

        Raises:
            RecordingError: Of the recording no world can be told again (`retelling`).
            OptionsError: As `fork.fork_here`.
        """
        if self.run is None:
            self.run = run_again(self.timeline.recording)
        fork = fork_here(self.run, self.step, *changes)
        columns, facts = run_columns(Timeline.of(fork.forked))
        content, at = packed(columns)
        difference = None if fork.difference is None else fork.difference.ordinals[0]
        with self.hold_sync():
            self.fork = fork
            self.fork_columns, self.fork_columns_at = content, at
            self.fork_facts = {**facts, "difference": difference, "first": fork.first_event}
            self.fork_lines = [list(line) for line in fork.lines]
        return fork

    def _fork(self, asked: Mapping[str, Any]) -> None:
        if not asked:
            return
        try:
            self.step = int(asked["event"])
            self.fork_here(*self.changes[asked["change"]])
        except KeyboardInterrupt:
            self.fork_lines = [["fork", "interrupted; what stood before still does"]]
        finally:
            self.fork_asked = {}

    def event_of(self, step: int) -> int:
        return step

    def step_of(self, event: int) -> int:
        return event

    def picture(self) -> Picture:
        runs = {self.timeline.recording.facts.world: run_columns(self.timeline)}
        difference = None
        if self.fork is not None:
            name = f"forked: {'; '.join(map(str, self.fork.changes)) or 'nothing changed'}"
            runs[name] = run_columns(Timeline.of(self.fork.forked))
            if self.fork.difference is not None:
                difference = self.fork.difference.ordinals[0]
        return stepped(runs, at_event=self.step, first_difference=difference)

    def __str__(self) -> str:
        told = f"{self.timeline}\n{self.moment}"
        return told if self.fork is None else f"{told}\n{self.fork}"


def _many(change: Change | Sequence[Change]) -> tuple[Change, ...]:
    return tuple(change) if isinstance(change, Sequence) else (change,)
