"""How are a model's tensors and facts laid out in one GGUF file?

Owns the container: header, facts, tensor table, aligned data, and the checks of a file that is read
back. Knows no model: which facts and tensors there are is said by `gguf_checkpoint`.
Source: the public GGUF specification, version 3 (little-endian).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ninfer_lab.contract.errors import CheckpointError

MAGIC = b"GGUF"
VERSION = 3
ALIGNMENT_BYTES = 32
"""Where each tensor may begin, counted from the start of the data: the format's default."""

_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_TENSOR_FLOAT32 = 0
_FORMATS = {_UINT32: "<I", _INT32: "<i", _FLOAT32: "<f", _BOOL: "<?"}
_FLOAT32_BYTES = 4


@dataclass(frozen=True, slots=True)
class Int32:
    """A fact that is stored with a sign; a plain `int` is stored without one."""

    value: int


Scalar = bool | int | float | str | Int32
Fact = Scalar | Sequence[str] | Sequence[Int32]
"""A sequence is not empty, and of one type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufTensor:
    """A float32 tensor.

    Attributes:
        shape: Outermost dimension first, as torch has it; the file has them the other way round.
        data: Row-major, little-endian.
    """

    shape: tuple[int, ...]
    data: bytes

    def __post_init__(self) -> None:
        expected_bytes = _FLOAT32_BYTES
        for size in self.shape:
            expected_bytes *= size
        if len(self.data) != expected_bytes:
            raise CheckpointError(
                "gguf tensor",
                found=f"{len(self.data)} bytes for shape {self.shape}",
                legal=f"{expected_bytes} bytes of float32",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFile:
    """What one file holds, in its order.

    Attributes:
        facts: By their full keys, as `general.architecture`.
        tensors: By name.
    """

    facts: Mapping[str, Fact]
    tensors: Mapping[str, GgufTensor]


def write_gguf(path: Path, content: GgufFile) -> None:
    """Writes a file that llama.cpp maps as it is.

    Args:
        path: Replaced if it is there.
    """
    head = [MAGIC, struct.pack("<IQQ", VERSION, len(content.tensors), len(content.facts))]
    for key, fact in content.facts.items():
        head += [_string(key), _fact(fact)]
    offset_bytes = 0
    for name, tensor in content.tensors.items():
        head += [_string(name), struct.pack("<I", len(tensor.shape))]
        head += [struct.pack("<Q", size) for size in reversed(tensor.shape)]
        head.append(struct.pack("<IQ", _TENSOR_FLOAT32, offset_bytes))
        offset_bytes += _aligned(len(tensor.data))
    with path.open("wb") as file:
        file.write(_padded(b"".join(head)))
        for tensor in content.tensors.values():
            file.write(_padded(tensor.data))


def read_gguf(path: Path) -> GgufFile:
    """Reads what `write_gguf` wrote.

    Raises:
        CheckpointError: No GGUF file of this version, one that is cut short, or one with element
            types that are never written here.
    """
    reader = _Reader(path)
    if reader.take(len(MAGIC)) != MAGIC:
        raise CheckpointError(str(path), found="another magic", legal="a GGUF file")
    version = reader.number("<I")
    if version != VERSION:
        raise CheckpointError(str(path), found=f"version {version}", legal=f"version {VERSION}")
    tensor_count, fact_count = reader.number("<Q"), reader.number("<Q")
    facts = {reader.string(): reader.fact() for _ in range(fact_count)}
    table = [reader.tensor_entry() for _ in range(tensor_count)]
    reader.align()
    tensors = {}
    data_start_bytes = reader.at_bytes
    for name, shape, offset_bytes in table:
        reader.at_bytes = data_start_bytes + offset_bytes
        size_bytes = _FLOAT32_BYTES
        for size in shape:
            size_bytes *= size
        tensors[name] = GgufTensor(shape=shape, data=reader.take(size_bytes))
    return GgufFile(facts=facts, tensors=tensors)


def _aligned(size_bytes: int) -> int:
    return -(-size_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def _padded(data: bytes) -> bytes:
    return data + bytes(_aligned(len(data)) - len(data))


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _fact(fact: Fact) -> bytes:
    if isinstance(fact, str) or not isinstance(fact, Sequence):
        kind, data = _scalar(fact)
        return struct.pack("<I", kind) + data
    items = [_scalar(item) for item in fact]
    head = struct.pack("<IIQ", _ARRAY, items[0][0], len(items))
    return head + b"".join(data for _, data in items)


def _scalar(value: Scalar) -> tuple[int, bytes]:
    match value:
        case bool():
            return _BOOL, struct.pack("<?", value)
        case str():
            return _STRING, _string(value)
        case Int32():
            return _INT32, struct.pack("<i", value.value)
        case int():
            return _UINT32, struct.pack("<I", value)
        case float():
            return _FLOAT32, struct.pack("<f", value)


class _Reader:
    """Takes a file apart from its front."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = path.read_bytes()
        self.at_bytes = 0

    def take(self, size_bytes: int) -> bytes:
        end_bytes = self.at_bytes + size_bytes
        if end_bytes > len(self._data):
            raise CheckpointError(
                str(self._path),
                found=f"an end after {len(self._data)} bytes",
                legal=f"at least {end_bytes} bytes",
            )
        taken = self._data[self.at_bytes : end_bytes]
        self.at_bytes = end_bytes
        return taken

    def number(self, layout: str) -> int:
        found: int = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return found

    def string(self) -> str:
        return self.take(self.number("<Q")).decode()

    def align(self) -> None:
        self.at_bytes = _aligned(self.at_bytes)

    def fact(self) -> Fact:
        kind = self.number("<I")
        if kind != _ARRAY:
            return self._scalar(kind)
        kind, count = self.number("<I"), self.number("<Q")
        if kind == _STRING:
            return tuple(self.string() for _ in range(count))
        if kind == _INT32:
            return tuple(Int32(self.number("<i")) for _ in range(count))
        raise self._foreign(f"an array of type {kind}")

    def _scalar(self, kind: int) -> Scalar:
        if kind == _STRING:
            return self.string()
        if kind not in _FORMATS:
            raise self._foreign(f"a fact of type {kind}")
        layout = _FORMATS[kind]
        value: bool | int | float = struct.unpack(layout, self.take(struct.calcsize(layout)))[0]
        return Int32(int(value)) if kind == _INT32 else value

    def tensor_entry(self) -> tuple[str, tuple[int, ...], int]:
        name = self.string()
        shape = tuple(self.number("<Q") for _ in range(self.number("<I")))[::-1]
        kind = self.number("<I")
        if kind != _TENSOR_FLOAT32:
            raise self._foreign(f"tensor {name} of type {kind}")
        return name, shape, self.number("<Q")

    def _foreign(self, found: str) -> CheckpointError:
        return CheckpointError(
            str(self._path), found=found, legal="what this project writes: float32 tensors"
        )
