"""Is a field of a JSON object there, and is it of the kind that the reader needs?

Owns the wording of every refusal about one field: its path, what was found, what is legal. `null`
counts as absent, as in the files of the format.
Does not know what any field means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ninfer_lab.contract.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class JsonFields:
    """One JSON object with the name under which a reader of the file would look for it.

    Every getter raises `CheckpointError` where the field is absent or of another kind.
    """

    fields: Mapping[str, object]
    name: str

    def has(self, key: str) -> bool:
        """Whether the field is there and not null."""
        return self.fields.get(key) is not None

    def path(self, key: str) -> str:
        """The field's name in an error message."""
        return f"{self.name} {key}"

    def value(self, key: str) -> object:
        """The field, whatever its kind."""
        found = self.fields.get(key)
        if found is None:
            raise CheckpointError(self.path(key), found="nothing", legal="this field must be given")
        return found

    def text(self, key: str) -> str:
        """A string."""
        found = self.value(key)
        if not isinstance(found, str):
            raise CheckpointError(self.path(key), found=found, legal="a string")
        return found

    def truth(self, key: str) -> bool:
        """True or false."""
        found = self.value(key)
        if not isinstance(found, bool):
            raise CheckpointError(self.path(key), found=found, legal="true or false")
        return found

    def count(self, key: str) -> int:
        """An integer of at least 1."""
        found = self.value(key)
        if not isinstance(found, int) or isinstance(found, bool) or found < 1:
            raise CheckpointError(self.path(key), found=found, legal="an integer >= 1")
        return found

    def positive_number(self, key: str) -> float:
        """A finite number above 0."""
        found = self.value(key)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise CheckpointError(self.path(key), found=found, legal="a number > 0")
        if not 0.0 < found < math.inf:
            raise CheckpointError(self.path(key), found=found, legal="a finite number > 0")
        return float(found)

    def counts(self, key: str) -> tuple[int, ...]:
        """A list of integers of at least 1."""
        found = self.value(key)
        if not isinstance(found, list):
            raise CheckpointError(self.path(key), found=found, legal="a list of integers >= 1")
        inner = JsonFields({str(i): item for i, item in enumerate(found)}, self.path(key))
        return tuple(inner.count(str(i)) for i in range(len(found)))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        found = self.value(key)
        if not isinstance(found, list):
            raise CheckpointError(self.path(key), found=found, legal="a list of strings")
        inner = JsonFields({str(i): item for i, item in enumerate(found)}, self.path(key))
        return tuple(inner.text(str(i)) for i in range(len(found)))

    def child(self, key: str) -> JsonFields:
        """An object inside this one."""
        found = self.value(key)
        if not isinstance(found, dict):
            raise CheckpointError(self.path(key), found=found, legal="an object")
        return JsonFields(found, self.path(key))
