"""How does a frozen value become JSON and come back equal?

Owns the translation, made once for each class from its annotations: a value is the list of its
fields in order, a member of a union carries its class's name in front. What is read is checked
field by field; a wrong one is named with the way to it. Does not know which values there are.
"""

from __future__ import annotations

import dataclasses
import itertools
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum, Flag

from ninfer_lab.contract.errors import NinferLabError

Json = None | bool | int | float | str | list["Json"]
_Encode = Callable[[object], Json]
_Decode = Callable[[object], object]


class MalformedValue(NinferLabError):
    """What was read is no such value; `what` is the way to the wrong part."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """Both directions for one type.

    Attributes:
        encode: Never fails for a value of the type.
        decode: Raises `MalformedValue` for anything that `encode` would not have given.
    """

    encode: _Encode
    decode: _Decode


class Codecs:
    """Codecs by type, each made when it is first asked for."""

    def __init__(self) -> None:
        self._made: dict[object, Codec] = {}
        self._fields: dict[str, tuple[str, ...]] = {}

    def of(self, wanted: object) -> Codec:
        """The codec of an annotation.

        Raises:
            TypeError: A kind of annotation that no recorded value has.
        """
        found = self._made.get(wanted)
        if found is None:
            found = self._made[wanted] = self._make(wanted)
        return found

    @property
    def schema(self) -> Mapping[str, tuple[str, ...]]:
        """Field names of every class met so far: equal schemas read each other."""
        return dict(sorted(self._fields.items()))

    def _make(self, wanted: object) -> Codec:
        origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
        if isinstance(wanted, typing.NewType):
            return self.of(wanted.__supertype__)
        if origin in (types.UnionType, typing.Union):
            return self._union(arguments)
        if origin is tuple and arguments[1:] == (...,):
            return _many(self.of(arguments[0]))
        if origin is frozenset:
            return _set(self.of(arguments[0]))
        if origin is tuple:
            return _fixed([self.of(each) for each in arguments])
        if isinstance(wanted, type):
            if wanted in _SCALARS:
                return _scalar(wanted)
            if wanted is bytes:
                return Codec(encode=_hex, decode=_unhex)
            if issubclass(wanted, Flag):
                return _flag(wanted)
            if issubclass(wanted, Enum):
                return _enum(wanted)
            if dataclasses.is_dataclass(wanted):
                return self._record(wanted, tuple(each.name for each in dataclasses.fields(wanted)))
            if issubclass(wanted, tuple) and hasattr(wanted, "_fields"):
                return self._record(wanted, wanted._fields)
        raise TypeError(f"a recorded value has no codec: {wanted!r}")

    def _record(self, kind: type, names: tuple[str, ...]) -> Codec:
        """A dataclass or a named tuple: which of the two it is does not show in the file."""
        hints = typing.get_type_hints(kind)
        codecs = [(name, self.of(hints[name])) for name in names]
        self._fields[kind.__name__] = names
        encoders = [(name, codec.encode) for name, codec in codecs]

        def encode(value: object) -> Json:
            return [encode_field(getattr(value, name)) for name, encode_field in encoders]

        def decode(found: object) -> object:
            items = _list(found, len(names))
            values: dict[str, object] = {}
            for (name, codec), item in zip(codecs, items, strict=True):
                try:
                    values[name] = codec.decode(item)
                except MalformedValue as error:
                    raise _inside(name, error) from error
            return _made(kind, values)

        return Codec(encode=encode, decode=decode)

    def _union(self, members: tuple[object, ...]) -> Codec:
        """`X | None`, or classes told apart by name."""
        inner = [each for each in members if each is not types.NoneType]
        if len(inner) == 1:
            codec = self.of(inner[0])
            return Codec(
                encode=lambda value: None if value is None else codec.encode(value),
                decode=lambda found: None if found is None else codec.decode(found),
            )
        named = {each.__name__: self.of(each) for each in inner if isinstance(each, type)}
        if len(named) != len(members):
            raise TypeError(f"a recorded union is of classes only: {members!r}")

        def encode(value: object) -> Json:
            name = type(value).__name__
            return [name, named[name].encode(value)]

        def decode(found: object) -> object:
            name, item = _list(found, 2)
            if not isinstance(name, str) or name not in named:
                raise MalformedValue("kind", found=repr(name), legal=", ".join(sorted(named)))
            try:
                return named[name].decode(item)
            except MalformedValue as error:
                raise _inside(name, error) from error

        return Codec(encode=encode, decode=decode)


_SCALARS = (bool, int, float, str)


def _scalar(kind: type) -> Codec:
    def decode(found: object) -> object:
        if type(found) is not kind:
            raise MalformedValue("", found=repr(found), legal=f"of type {kind.__name__}")
        return found

    def encode(value: object) -> Json:
        assert isinstance(value, bool | int | float | str)
        return value

    return Codec(encode=encode, decode=decode)


def _enum(kind: type[Enum]) -> Codec:
    by_value = {member.value: member for member in kind}

    def encode(value: object) -> Json:
        assert isinstance(value, kind)
        text: str = value.value
        return text

    def decode(found: object) -> object:
        if not isinstance(found, str) or found not in by_value:
            raise MalformedValue("", found=repr(found), legal=", ".join(map(repr, by_value)))
        return by_value[found]

    return Codec(encode=encode, decode=decode)


def _flag(kind: type[Flag]) -> Codec:
    """Several members at once, as the number that their bits make."""
    all_of = sum(member.value for member in kind)

    def encode(value: object) -> Json:
        assert isinstance(value, kind)
        bits: int = value.value
        return bits

    def decode(found: object) -> object:
        if type(found) is not int or not 0 <= found <= all_of or found & ~all_of:
            raise MalformedValue("", found=repr(found), legal=f"bits of {all_of}")
        return kind(found)

    return Codec(encode=encode, decode=decode)


def _many(codec: Codec) -> Codec:
    encode_one, decode_one = codec.encode, codec.decode

    def encode(value: object) -> Json:
        assert isinstance(value, tuple)
        return [encode_one(each) for each in value]

    def decode(found: object) -> object:
        if not isinstance(found, list):
            raise MalformedValue("", found=repr(found), legal="a list")
        try:
            return tuple([decode_one(each) for each in found])
        except MalformedValue as error:
            raise _inside("[]", error) from error

    return Codec(encode=encode, decode=decode)


def _set(codec: Codec) -> Codec:
    """Members in ascending order, so that equal sets give equal text."""
    many = _many(codec)

    def encode(value: object) -> Json:
        assert isinstance(value, frozenset)
        return many.encode(tuple(sorted(value)))

    def decode(found: object) -> object:
        items = many.decode(found)
        assert isinstance(items, tuple)
        if any(one >= other for one, other in itertools.pairwise(items)):
            raise MalformedValue("", found=repr(found)[:80], legal="a list that ascends")
        return frozenset(items)

    return Codec(encode=encode, decode=decode)


def _fixed(codecs: list[Codec]) -> Codec:
    def encode(value: object) -> Json:
        assert isinstance(value, tuple)
        return [codec.encode(each) for codec, each in zip(codecs, value, strict=True)]

    def decode(found: object) -> object:
        items = _list(found, len(codecs))
        return tuple(codec.decode(item) for codec, item in zip(codecs, items, strict=True))

    return Codec(encode=encode, decode=decode)


def _hex(value: object) -> Json:
    assert isinstance(value, bytes)
    return value.hex()


def _unhex(found: object) -> object:
    if not isinstance(found, str):
        raise MalformedValue("", found=repr(found), legal="hex digits")
    try:
        return bytes.fromhex(found)
    except ValueError as error:
        raise MalformedValue("", found=repr(found), legal="hex digits") from error


def _list(found: object, length: int) -> list[object]:
    if not isinstance(found, list) or len(found) != length:
        raise MalformedValue("", found=repr(found)[:80], legal=f"a list of {length}")
    return found


def _made(kind: type, values: Mapping[str, object]) -> object:
    """The value, unless its class refuses what was read."""
    try:
        made: object = kind(**values)
    except NinferLabError as error:
        raise MalformedValue(error.what, found=error.found, legal=error.legal) from error
    except (AssertionError, ValueError) as error:
        legal = f"what a {kind.__name__} may hold"
        raise MalformedValue("", found=repr(dict(values))[:80], legal=legal) from error
    return made


def _inside(name: str, error: MalformedValue) -> MalformedValue:
    way = f"{name}.{error.what}" if error.what else name
    return MalformedValue(way, found=error.found, legal=error.legal)
