"""What can go wrong, said the same way everywhere: what was found, what is legal, what to do.

Owns the error classes. An *expected* outcome (blocked, skipped, infeasible) is never one of these:
it is a value. A caller's mistake is a `NinferLabError`; a broken law is `InvariantBroken`, after
which the engine that raised it must not be used again. Does not know who raises.
"""

from __future__ import annotations


class NinferLabError(Exception):
    """A caller's mistake, in one line: what, found, legal.

    Args:
        what: The thing that is wrong, by its name (`"options.max_concurrency"`).
        found: What was there.
        legal: What would be accepted, or what to do about it.
    """

    def __init__(self, what: str, *, found: object, legal: str) -> None:
        super().__init__(what, found, legal)
        self.what = what
        self.found = found
        self.legal = legal

    def __str__(self) -> str:
        return f"{self.what}: found {self.found!s}; legal: {self.legal}"


class OptionsError(NinferLabError):
    """An option, or a combination of options, that no engine can be built from (CFG-1)."""


class PromptError(NinferLabError):
    """A request that is refused before anything is allocated for it."""


class CheckpointError(NinferLabError):
    """A model folder that cannot be served: missing tensor, wrong shape, unknown architecture,
    broken file.
    """


class PlanRefused(NinferLabError):
    """A plan that is stale, forged, or used before: refused with no effect (REV-1, TXN-2)."""


class InvariantBroken(Exception):
    """A law of the engine does not hold. A bug, never an input; the engine stops as a whole.

    Args:
        law: The rule's ID and name (`"ACC-4 occupancy"`).
        detail: The numbers that break it.
    """

    def __init__(self, law: str, detail: str) -> None:
        super().__init__(law, detail)
        self.law = law
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.law}: {self.detail}"
