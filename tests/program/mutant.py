"""What is a wrong version of one of Program's rooms, and which test must catch it?

A mutant is planted by name, so a function that moves must be found again; its killer must name the
rule that it breaks, and must fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

# A mutant has the shape of what it replaces, whatever that is.
Wrong = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One wrong attribute.

    Attributes:
        make: From the right value to the wrong one.
        killer: The test that must fail, called with `arguments` (and a monkeypatch, if it asks).
    """

    rule: str
    what: str
    where: object
    name: str
    make: Callable[[Wrong], Wrong]
    killer: Callable[..., None]
    arguments: tuple[object, ...] = ()

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        right = getattr(self.where, self.name)
        patch.setattr(self.where, self.name, self.make(right))

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


def constant(value: Wrong) -> Callable[[Wrong], Wrong]:
    """A function that answers the same to everything."""
    return lambda right: lambda *arguments, **named: value


def always(value: Wrong) -> Callable[[Wrong], Wrong]:
    """A property that is the same for everybody."""
    return lambda right: property(lambda self: value)


def instead(wrong: Wrong) -> Callable[[Wrong], Wrong]:
    return lambda right: wrong
