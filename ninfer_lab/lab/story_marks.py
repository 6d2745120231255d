"""How does a story say where prompts may be shared, or come back to?

Owns the field `marks` in both directions: words `evidence@place`, the place being a frontier in
tokens or, in a chat, the ordinal of the message that ends there (negative ones from the last) or
`tools`; `anchor@place` for a private anchor; with them `grid`, and `no-engine` for a protocol that
wants its own markers alone. Does not know requests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.shared_prefix import (
    NO_HINTS,
    ChatMarker,
    Evidence,
    PlacedAfter,
    SharedPrefixHints,
    TokenMarker,
)

_EVIDENCE = {
    "explicit": Evidence.EXPLICIT_BOUNDARY,
    "requested": Evidence.REQUESTED_AUTOMATIC,
    "automatic": Evidence.DEFAULT_AUTOMATIC,
    "structure": Evidence.ENGINE_STRUCTURAL,
}
_WORD_OF = {evidence: word for word, evidence in _EVIDENCE.items()}
_ANCHOR, _GRID, _NO_ENGINE = "anchor", "grid", "no-engine"
_MARK = re.compile(rf"({'|'.join(_EVIDENCE)})@(-?[0-9]{{1,9}}|{PlacedAfter.TOOLS.value})")
_ANCHOR_MARK = re.compile(rf"{_ANCHOR}@(-?[0-9]{{1,9}})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Of one request.

    Attributes:
        placed: (place, evidence), in order.
        anchors: Places of private anchors, in order.
    """

    placed: tuple[tuple[int | PlacedAfter, Evidence], ...] = ()
    anchors: tuple[int, ...] = ()
    hints: SharedPrefixHints = NO_HINTS

    @property
    def of_chat(self) -> tuple[ChatMarker, ...]:
        """By message."""
        return tuple(ChatMarker(after=place, evidence=each) for place, each in self.placed)

    @property
    def of_tokens(self) -> tuple[TokenMarker, ...]:
        """By frontier; there are no tools among bare tokens."""
        return tuple(
            TokenMarker(frontier_tokens=place, evidence=each)
            for place, each in self.placed
            if isinstance(place, int)
        )

    def __str__(self) -> str:
        words = [
            f"{_WORD_OF[each]}@{place.value if isinstance(place, PlacedAfter) else place}"
            for place, each in self.placed
        ]
        words += [f"{_ANCHOR}@{place}" for place in self.anchors]
        words += [_GRID] * self.hints.allow_engine_prefix_grid
        words += [_NO_ENGINE] * (not self.hints.allow_engine_automatic_shared_prefixes)
        return " ".join(words)


NO_MARKS = Marks()


class UnreadableMark(NinferLabError):
    """A word that marks nothing."""


def parse_marks(written: str, *, in_tokens: bool) -> Marks:
    """The marks that some words say.

    Raises:
        UnreadableMark: A word that is none, or `tools` where there are none.
    """
    placed: list[tuple[int | PlacedAfter, Evidence]] = []
    anchors: list[int] = []
    words = written.split()
    for word in words:
        if (anchored := _ANCHOR_MARK.fullmatch(word)) is not None:
            anchors.append(int(anchored[1]))
            continue
        matched = _MARK.fullmatch(word)
        if matched is None:
            if word not in (_GRID, _NO_ENGINE):
                legal = f"{', '.join((*_EVIDENCE, _ANCHOR))} and @place; or {_GRID}, {_NO_ENGINE}"
                raise UnreadableMark("marks", found=word, legal=legal)
            continue
        is_tools = matched[2] == PlacedAfter.TOOLS.value
        if is_tools and in_tokens:
            raise UnreadableMark("marks", found=word, legal="a frontier in tokens")
        placed.append((PlacedAfter.TOOLS if is_tools else int(matched[2]), _EVIDENCE[matched[1]]))
    if not words:
        raise UnreadableMark("marks", found="nothing", legal="one mark `evidence@place` or more")
    return Marks(
        placed=tuple(placed),
        anchors=tuple(anchors),
        hints=SharedPrefixHints(
            allow_engine_automatic_shared_prefixes=_NO_ENGINE not in words,
            allow_engine_prefix_grid=_GRID in words,
        ),
    )
