"""What stands on the lines of a story, and what does the text of one field mean?

Owns indentation, headers, fields and the small grammar of their values: names, pieces of streams,
durations, counts with their unit, texts. A value that cannot be read is refused with file, line and
field (BAD-1). Does not know which fields a request has (`stories`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from ninfer_lab.lab.story import Piece, StoryError

INDENT = "  "
MAX_COUNT = 2**40
"""No number in a story is larger: it would be a slip of the pen."""

_MARKED_WORD = r"(?:[A-Za-z0-9_.-]|\{round\}|\{item\})+"
_NAME = re.compile(r"(?!-$)" + _MARKED_WORD)
_PIECE = re.compile(rf"({_MARKED_WORD})\[([0-9]+)\]")
_DURATION = re.compile(r"([0-9]+)(?:\.([0-9]+))? (s|ms|us|ns)")
_FRACTION_DIGITS = {"s": 9, "ms": 6, "us": 3, "ns": 0}
_QUOTE = '"'

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A line of a file, for errors."""

    file_name: str
    line: int

    def refuse(self, name: str, *, found: object, legal: str) -> NoReturn:
        """Raises the error for what was found here."""
        where = f"{self.file_name}, line {self.line}"
        raise StoryError(f"{where}, {name}" if name else where, found=found, legal=legal) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """`name: text` on one line."""

    place: Place
    name: str
    written: str

    def refuse(self, legal: str) -> NoReturn:
        """Raises the error for a text that means nothing here."""
        self.place.refuse(self.name, found=self.written or "nothing", legal=legal)

    def text(self) -> str:
        """Any text: bare, or a JSON string."""
        if not self.written.startswith(_QUOTE):
            return self.written or self.refuse('a text; an empty one is ""')
        try:
            value: object = json.loads(self.written)
        except json.JSONDecodeError:
            value = None
        return value if isinstance(value, str) else self.refuse("a closed JSON string")

    def name_text(self) -> str:
        """A name of a conversation or session."""
        return read_name(self.place, self.name, self.written)

    def count(self, unit: str | None = None) -> int:
        """A whole number, with the unit's word behind it where it has one."""
        number, _, word = self.written.partition(" ")
        if not re.fullmatch(r"[0-9]+", number) or word != (unit or ""):
            self.refuse(f"a whole number{'' if unit is None else f' and the word {unit}'}")
        return int(number) if int(number) <= MAX_COUNT else self.refuse(f"at most {MAX_COUNT}")

    def positive(self, unit: str) -> int:
        """As `count`, from 1 on."""
        return self.count(unit) or self.refuse(f"1 {unit} or more")

    def decimal(self) -> float:
        """A number with or without a fraction."""
        try:
            return float(self.written)
        except ValueError:
            self.refuse("a number")

    def choice(self, values: Mapping[str, _Value]) -> _Value:
        """One of a few words."""
        if self.written not in values:
            self.refuse(" or ".join(values))
        return values[self.written]

    def duration_ns(self) -> int:
        """As `1.5 s`, exact to the nanosecond."""
        matched = _DURATION.fullmatch(self.written)
        if matched is None:
            self.refuse("a number and s, ms, us or ns, as `1.5 s`")
        whole, fraction, unit = matched[1], matched[2] or "", matched[3]
        digits = _FRACTION_DIGITS[unit]
        if len(fraction) > digits:
            self.refuse("whole nanoseconds")
        moment_ns = int(whole + fraction.ljust(digits, "0"))
        return moment_ns if moment_ns < 2**63 else self.refuse("less than 292 years")

    def pieces(self) -> tuple[Piece, ...]:
        """As `preamble-1[1430] tail-7[25]`."""
        found = []
        for word in self.written.split():
            matched = _PIECE.fullmatch(word)
            if matched is None or not 1 <= int(matched[2]) <= MAX_COUNT:
                self.place.refuse(self.name, found=word, legal="a stream and a length, `name[25]`")
            found.append(Piece(stream=matched[1], tokens=int(matched[2])))
        return tuple(found) or self.refuse("one piece `name[tokens]` or more")


@dataclass(slots=True, kw_only=True)
class Block:
    """A header, its fields, and for a repeat the blocks inside."""

    place: Place
    header: str
    fields: list[Field] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The header's first word."""
        return self.header.partition(" ")[0]

    @property
    def rest(self) -> str:
        """What follows it."""
        return self.header.partition(" ")[2].strip()

    def by_name(self, legal: tuple[str, ...], *, many: tuple[str, ...] = ()) -> dict[str, Field]:
        """The fields, refusing one that has no place here or stands here twice.

        Args:
            many: Names that may stand here more than once; the last one is given.
        """
        found: dict[str, Field] = {}
        for each in self.fields:
            if each.name not in legal:
                each.place.refuse(each.name, found="no field of this", legal=", ".join(legal))
            if each.name in found and each.name not in many:
                each.place.refuse(each.name, found="it again", legal="once")
            found[each.name] = each
        return found


def read_name(place: Place, what: str, text: str) -> str:
    """A name; in a repeat it may hold `{round}` and `{item}`."""
    if not _NAME.fullmatch(text):
        place.refuse(what, found=text or "nothing", legal="a name of letters, digits and _ . -")
    return text


def read_blocks(text: str, file_name: str) -> list[Block]:
    """Headers with what is indented under them.

    Raises:
        StoryError: A line with another indentation, or one under a header that is no field.
    """
    found: list[Block] = []
    for number, line in enumerate(text.split("\n"), start=1):
        place = Place(file_name=file_name, line=number)
        content = line.strip(" \r")
        if not content or content.startswith("#"):
            continue
        spaces = len(line) - len(line.lstrip(" "))
        if spaces % len(INDENT):
            place.refuse("", found=f"{spaces} spaces at the margin", legal="steps of 2")
        _put(found, spaces // len(INDENT), place, content)
    return found


def _put(found: list[Block], depth: int, place: Place, content: str) -> None:
    """One line, where its indentation says it belongs."""
    over = found[-1] if found else None
    is_repeat = over is not None and over.kind == "repeat"
    match depth, over:
        case 0, _:
            found.append(Block(place=place, header=content))
        case 1, Block() if is_repeat:
            over.blocks.append(Block(place=place, header=content))
        case 1, Block():
            over.fields.append(_field(place, content))
        case 2, Block(blocks=[*_, last]) if is_repeat:
            last.fields.append(_field(place, content))
        case _:
            legal = "a field 2 spaces further in than its header"
            place.refuse("", found=f"{content!r} at depth {depth}", legal=legal)


def _field(place: Place, content: str) -> Field:
    name, colon, text = content.partition(":")
    if not colon or not re.fullmatch(r"[a-z_]+", name):
        place.refuse("", found=content, legal="a field, `name: value`")
    return Field(place=place, name=name, written=text.strip(" "))


# ── the same the other way ──────────────────────────────────────────────────────────────────────


def text_of_text(text: str) -> str:
    """A text as a field holds it."""
    needs_quotes = text != text.strip() or not text.isprintable() or text[:1] in ("", _QUOTE)
    return json.dumps(text) if needs_quotes else text


def text_of_duration(moment_ns: int) -> str:
    """A duration in seconds, exact."""
    whole, rest_ns = divmod(moment_ns, 10**9)
    fraction = f"{rest_ns:09d}".rstrip("0")
    return f"{whole}.{fraction} s" if fraction else f"{whole} s"
