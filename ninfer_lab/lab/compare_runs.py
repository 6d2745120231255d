"""What came of the same requests under one design at one capacity?

Owns the values that a comparison is made of, request by request and summed. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.compare_capacity import Capacity

SAID_OF_MODELS = (
    "Designs named after other engines are models made from public documents of the versions that"
    " their modules name; they were not measured in one environment."
)
"""What every table and figure of them says (PEER-2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One request under one design.

    Attributes:
        unit: The conversation it belongs to, or itself; what is drawn again in a bootstrap.
        known_tokens: Tokens of its prompt, in whole blocks of the trace, that somebody had computed
            before.
        hit_tokens: Of these or of its answer's, what needed no forward; 0 where it was not served.
        ttft_ns: `None` where it was not served.
    """

    unit: str
    prompt_tokens: int
    known_tokens: int
    hit_tokens: int
    ttft_ns: int | None

    @property
    def recomputed_tokens(self) -> int:
        """Computed again though it had been computed before."""
        return max(0, self.known_tokens - self.hit_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """All requests of all traces under one design at one capacity.

    Attributes:
        held_bytes: What the design held when the last request had ended, mean over the traces.
        failed_count: Requests that were not served.
    """

    design: str
    capacity: Capacity
    requests: tuple[Compared, ...]
    held_bytes: int
    failed_count: int

    @property
    def hit_tokens(self) -> int:
        """Of all requests."""
        return sum(each.hit_tokens for each in self.requests)

    @property
    def prompt_tokens(self) -> int:
        """Of all requests."""
        return sum(each.prompt_tokens for each in self.requests)

    @property
    def recomputed_tokens(self) -> int:
        """Of all requests."""
        return sum(each.recomputed_tokens for each in self.requests)

    @property
    def mean_ttft_ns(self) -> float:
        """Of those that were served."""
        served = [each.ttft_ns for each in self.requests if each.ttft_ns is not None]
        return sum(served) / max(1, len(served))


def run_of(runs: Sequence[ComparedRun], design: str, capacity: Capacity) -> ComparedRun:
    """One of them.

    Raises:
        OptionsError: There is none.
    """
    for each in runs:
        if (each.design, each.capacity) == (design, capacity):
            return each
    there = tuple(dict.fromkeys(run.design for run in runs))
    raise OptionsError("design", found=design, legal=" or ".join(there))
