"""Seeds in a row, each a stream through an engine of its own, until so many steps have gone by.

From the repository's root, with the seed that a failure names:
`PYTHONPATH=tests .venv/bin/python -m simulation.long_stream SEED`
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count

from simulation.places import Places, phases_counted, visited
from simulation.random_stream import RandomStream
from simulation.story import Story
from simulation.watched_controller import Watch

STEPS_OF_A_SEED = 300


def streams(first_seed: int, *, steps_count: int) -> Iterator[Story]:
    """Streams from a seed on, each watched after every step, until they have had so many steps.

    Raises:
        AssertionError: Something went wrong; it names the seed and the command that repeats it.
    """
    done_count = 0
    for seed in count(first_seed):
        stream = RandomStream(seed)
        try:
            story = stream.run(STEPS_OF_A_SEED)
        except Exception as error:
            raise AssertionError(
                f"seed {seed}, after {stream.story.steps_count} steps:"
                f" {type(error).__name__}: {error}\n"
                f"{stream.options}\n"
                f"again: PYTHONPATH=tests .venv/bin/python -m simulation.long_stream {seed}"
            ) from error
        yield story
        done_count += story.steps_count
        if done_count >= steps_count:
            return


def places_of(first_seed: int, *, steps_count: int) -> tuple[Places, int]:
    """(how often each place was visited, worker cycles run)."""
    seen: Places = Places()
    done_count = 0
    with phases_counted() as phases:
        for story in streams(first_seed, steps_count=steps_count):
            seen += visited(story)
            done_count += story.steps_count
    return seen + phases, done_count


def main(arguments: list[str]) -> int:
    """One seed once more, watched after every call of the cache design."""
    (seed,) = arguments
    stream = RandomStream(int(seed), Watch.EVERY_CALL)
    print(stream.options)
    story = stream.run(STEPS_OF_A_SEED)
    print(f"seed {seed}: {story.steps_count} steps, {len(story.told)} requests, no law broken")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
