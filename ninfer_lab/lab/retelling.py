"""Of which run was this a recording, and does it come out again?

Owns the way from a recording back to a run: the world that its facts name, told once more as it was
told, and the proof that every recorded event comes out again. What cannot be told again, or comes
out otherwise, is refused. Does not know what is then done with the run (`fork`).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from importlib.metadata import version

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.recording_options import RecordingOptions
from ninfer_lab.engine.assembly import ControllerFactory
from ninfer_lab.lab import designs, worlds
from ninfer_lab.lab.first_difference import first_difference
from ninfer_lab.lab.machines import Machine
from ninfer_lab.lab.recording.recording import Recording
from ninfer_lab.lab.recording.recording_file import RecordingError
from ninfer_lab.lab.recording.run_facts import RunFacts
from ninfer_lab.lab.world import Run, World

_DO = "run the world again and fork the run"


def run_again(recording: Recording, world: World | None = None) -> Run:
    """The run that a recording was made of: its world told again, and proved to be the same.

    Args:
        recording: Of a world in virtual time, with all its events.
        world: Its world, where it is none that ships with the project, or was changed beside its
            options: the world of one's own story, or with another truth.

    Raises:
        RecordingError: Nobody told a world there, or on real tensors, or by a design without a
            name; events are lost; the world is unknown, or is not the one of the recording's facts;
            or other events come out.
        OptionsError: The facts name a design that is not there, or options that none is built from.
    """
    order = _order(recording, world)
    again = worlds.run(order.world, design=order.design, recording=order.recorded)
    difference = first_difference(recording, again.recording)
    if difference is not None:
        raise RecordingError(
            _name(recording),
            found=f"its world told again says otherwise (recorded — again): {difference}",
            legal="events that come out again; those of a fork, of a run with faults, of a changed"
            f" world or of another version need not ({_versions(recording.facts)}): {_DO}",
        )
    return again


def can_run_again(recording: Recording) -> bool:
    """Whether it is worth trying: its facts name a world that is there. Runs nothing."""
    try:
        _order(recording, None)
    except NinferLabError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """What is to be run, on the simulated machine."""

    world: World
    design: ControllerFactory
    recorded: RecordingOptions


def _order(recording: Recording, world: World | None) -> _Order:
    """The world with the options it was told with, its facts equal to the recording's."""
    facts, what = recording.facts, _name(recording)
    telling = facts.telling
    if telling is None:
        legal = (
            "that of a world (`worlds.run(...)`); a served engine's or a trace's is only stepped"
        )
        raise RecordingError(what, found="no world that was told", legal=legal)
    if telling.machine is not Machine.SIMULATED:
        legal = f"{Machine.SIMULATED.value}, where a run follows from its world"
        raise RecordingError(f"{what}: machine", found=telling.machine.value, legal=legal)
    if telling.design is None:
        legal = f"{' or '.join(designs.DESIGNS)}; with one of your own, {_DO}"
        raise RecordingError(f"{what}: design", found="one without a name", legal=legal)
    if recording.lost_events_count:
        found = f"{recording.lost_events_count:,} events lost"
        raise RecordingError(what, found=found, legal="a run with all its events retained")
    found_world = _world_named(facts.world) if world is None else world
    order = _Order(
        world=replace(found_world, story=replace(found_world.story, options=telling.options)),
        design=designs.named(telling.design),
        recorded=telling.recorded,
    )
    expected = order.world.facts(telling.machine, order.design, order.recorded)
    _require_equal(facts, replace(expected, package_version=facts.package_version))
    return order


def _world_named(name: str) -> World:
    """A name in a file is no path: only what ships with the project is looked up."""
    if name not in worlds.names():
        legal = f"{', '.join(worlds.names())}; or give `run_again` the world of your own story"
        raise RecordingError("recording's world", found=name, legal=legal)
    return worlds.named(name)


def _require_equal(facts: RunFacts, expected: RunFacts) -> None:
    if facts != expected:
        name, found, legal = _unlike(f"recording of {facts.world}", facts, expected)
        advice = f"{legal!s}, as the world has it here ({_versions(facts)}): {_DO}"
        raise RecordingError(name, found=found, legal=advice)


def _unlike(name: str, found: object, expected: object) -> tuple[str, object, object]:
    """The way to the first part that differs, and what stands there in each."""
    if dataclasses.is_dataclass(found) and type(found) is type(expected):
        for field in dataclasses.fields(found):
            one, other = getattr(found, field.name), getattr(expected, field.name)
            if one != other:
                return _unlike(f"{name}: {field.name}", one, other)
    return name, found, expected


def _name(recording: Recording) -> str:
    return f"recording of {recording.facts.world}"


def _versions(facts: RunFacts) -> str:
    mine = version("ninfer-lab")
    if facts.package_version == mine:
        return f"made by ninfer-lab {mine}, as this is"
    return f"made by ninfer-lab {facts.package_version}, and this is {mine}"
