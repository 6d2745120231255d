"""What every test of the house runs under: quiet threads, known seeds, and soak only when asked.

A run of `make test` draws the same Hypothesis examples each time, so that a green stays green;
`make soak` draws new ones and prints the seed of a failure.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

# torch reads it once, at import: its threads then sleep while they wait, and two test processes on
# one machine do not starve each other.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")

from hypothesis import HealthCheck, settings

SOAK_EXAMPLES = 2_000

settings.register_profile(
    "test", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "soak",
    deadline=None,
    max_examples=SOAK_EXAMPLES,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--soak", action="store_true", help="run the long random tests, from new seeds"
    )


def pytest_configure(config: pytest.Config) -> None:
    # A shell that starts the run in the background has it ignore SIGINT, and so would every kernel
    # it starts; the tests of ■ need the interrupt that a person's process has.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("soak" if config.getoption("--soak") else "test")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--soak"):
        return
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="only in `make soak`"))


@pytest.fixture(scope="session")
def soaking(pytestconfig: pytest.Config) -> bool:
    """Whether this run is `make soak`: a test may then try many more cases, from new seeds."""
    return bool(pytestconfig.getoption("--soak"))


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """For thousands of small products, in which a second thread only waits for the first."""
    import torch  # most rooms are tested without it

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
