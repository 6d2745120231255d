"""When is an option left open, and which numbers may it be?

Owns the two small words in which options are resolved: a default, and a range that is refused by
the option's name. Does not know any option.
"""

from __future__ import annotations

from ninfer_lab.contract.errors import OptionsError


def given_or(value: int | None, default: int) -> int:
    """What was given, or what stands for it."""
    return default if value is None else value


def require_within(name: str, value: int | None, least: int, most: int) -> None:
    """Refuses a number outside `[least, most]`.

    Raises:
        OptionsError: With the option's name, its value and the range.
    """
    if value is not None and not least <= value <= most:
        raise OptionsError(f"options.{name}", found=value, legal=f"{least} <= {name} <= {most}")
