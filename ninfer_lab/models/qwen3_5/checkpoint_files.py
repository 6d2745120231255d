"""Which files hold the weights, and do their headers promise exactly the tensors that the geometry
needs?

Owns the checks that come before any weight is read: the folder or hub id, the shards, every header,
every byte range against the file's length, every name, shape and element type.
Does not know tensors; imports no torch.
Source: the safetensors format (eight bytes of header length, a JSON header, the data).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TypeGuard

from ninfer_lab.contract.errors import CheckpointError
from ninfer_lab.models.qwen3_5.config import ModelGeometry
from ninfer_lab.models.qwen3_5.tensor_table import (
    HEAD_NAME,
    Shape,
    is_ignored,
    tensor_shapes,
    text_name,
)

SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"
CONFIG_FILE = "config.json"
HUB_PATTERNS = (
    CONFIG_FILE,
    "*.safetensors",
    INDEX_FILE,
    "tokenizer*.json",
    "generation_config.json",
    "*.jinja",
)
ELEMENT_BYTES = {"F32": 4, "BF16": 2, "F16": 2}
MAX_HEADER_BYTES = 100_000_000
"""The format's own limit; a larger number is a file of another kind."""
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensor:
    """One tensor that a header promises.

    Attributes:
        path: The file.
        stored_name: Its name there (with the vision-language prefix, if any).
        shape: As stored.
        element_type: As the header spells it.
    """

    path: Path
    stored_name: str
    shape: Shape
    element_type: str


def resolve_folder(name: str | Path) -> Path:
    """The folder of a checkpoint, fetched from the hub where `name` is a hub id and no folder.

    Raises:
        CheckpointError: No such folder, or the hub cannot be asked.
    """
    folder = Path(name)
    if folder.is_dir():
        return folder
    if not _HUB_ID.fullmatch(str(name)):
        raise CheckpointError(
            "checkpoint",
            found=f"{name} (no such folder)",
            legal="a model folder or a hub id org/name",
        )
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise CheckpointError(
            "checkpoint",
            found=f"{name} (no such folder, and huggingface_hub is not installed)",
            legal="a model folder",
        ) from None
    try:
        return Path(snapshot_download(str(name), allow_patterns=list(HUB_PATTERNS)))
    except Exception as error:  # the client raises a dozen unrelated classes for one fact
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise CheckpointError(
            "checkpoint",
            found=f"{name} (no such folder, and the hub did not give it: {reason})",
            legal="a model folder, or a hub id while the network is there; "
            "without it, fetch the checkpoint elsewhere and name its folder",
        ) from error


def checked_tensors(folder: Path, geometry: ModelGeometry) -> dict[str, StoredTensor]:
    """Every tensor of the text model by its text-only name, after all headers were checked.

    Reads headers only.

    Raises:
        CheckpointError: No weights, a truncated or foreign file, a missing or unexpected tensor, a
            wrong shape, or an element type that is no plain float.
    """
    found: dict[str, StoredTensor] = {}
    for path in _weight_files(folder):
        for name, tensor in _read_header(path).items():
            if is_ignored(name):
                continue
            if text_name(name) in found:
                raise CheckpointError(
                    f"{path.name} {name}", found="given twice", legal="each tensor once"
                )
            found[text_name(name)] = tensor
    _compare(found, tensor_shapes(geometry), geometry)
    return {name: tensor for name, tensor in found.items() if name in tensor_shapes(geometry)}


def files_digest(folder: Path) -> str:
    """Hex digest of the configuration and of every byte of the weights: the same checkpoint has the
    same one, wherever it lies. Reads all files.
    """
    hasher = hashlib.blake2b(digest_size=16)
    for path in (folder / CONFIG_FILE, *sorted(_weight_files(folder))):
        with path.open("rb") as file:
            hasher.update(path.name.encode())
            hasher.update(hashlib.file_digest(file, "blake2b").digest())
    return hasher.hexdigest()


def _weight_files(folder: Path) -> tuple[Path, ...]:
    index_path = folder / INDEX_FILE
    if not index_path.is_file():
        single = folder / SINGLE_FILE
        if not single.is_file():
            raise CheckpointError(
                str(folder),
                found="no weights",
                legal=f"{SINGLE_FILE} or {INDEX_FILE} with its shards",
            )
        return (single,)
    try:
        weight_map = json.loads(index_path.read_text(encoding="utf-8"))["weight_map"]
        names = sorted({str(name) for name in weight_map.values()})
    except (ValueError, KeyError, AttributeError, TypeError):
        raise CheckpointError(
            str(index_path), found="no readable weight_map", legal="an object: tensor to file"
        ) from None
    for name in names:
        # A shard is a sibling of its index; a name that leads elsewhere is refused unread.
        if Path(name).name != name or not (folder / name).is_file():
            raise CheckpointError(
                str(index_path),
                found=f"shard {name}, which is not there",
                legal="shards beside the index",
            )
    return tuple(folder / name for name in names)


def _read_header(path: Path) -> dict[str, StoredTensor]:
    size_bytes = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(8)
        header_bytes = int.from_bytes(prefix, "little")
        if len(prefix) < 8 or header_bytes > min(size_bytes - 8, MAX_HEADER_BYTES):
            raise CheckpointError(
                str(path),
                found=f"{size_bytes} bytes, header cut off",
                legal="a whole safetensors file",
            )
        raw = file.read(header_bytes)
    try:
        header = json.loads(raw)
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise CheckpointError(
            str(path), found="a header that is not JSON", legal="a safetensors file"
        ) from None
    if not isinstance(header, dict):
        raise CheckpointError(
            str(path), found="a header that is no object", legal="a safetensors file"
        )
    data_bytes = size_bytes - 8 - header_bytes
    return {
        str(name): _stored_tensor(path, str(name), entry, data_bytes)
        for name, entry in header.items()
        if name != "__metadata__"
    }


def _stored_tensor(path: Path, name: str, entry: object, data_bytes: int) -> StoredTensor:
    what = f"{path.name} {name}"
    if not isinstance(entry, dict):
        raise CheckpointError(
            what, found=entry, legal="an object with dtype, shape and data_offsets"
        )
    shape, offsets, element_type = entry.get("shape"), entry.get("data_offsets"), entry.get("dtype")
    if (
        not _is_sizes(shape)
        or not _is_sizes(offsets)
        or len(offsets) != 2
        or not isinstance(element_type, str)
    ):
        raise CheckpointError(
            what, found=entry, legal="an object with dtype, shape and data_offsets"
        )
    start, end = offsets
    if end > data_bytes:
        raise CheckpointError(
            what,
            found=f"data up to byte {end} of {data_bytes} (truncated file)",
            legal="a whole file; fetch it again",
        )
    element_bytes = ELEMENT_BYTES.get(element_type)
    if element_bytes is not None and end - start != prod(shape) * element_bytes:
        raise CheckpointError(
            what,
            found=f"{end - start} bytes",
            legal=f"{prod(shape) * element_bytes} for shape {shape}",
        )
    return StoredTensor(path=path, stored_name=name, shape=tuple(shape), element_type=element_type)


def _is_sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _compare(
    found: Mapping[str, StoredTensor], expected: Mapping[str, Shape], geometry: ModelGeometry
) -> None:
    missing = [name for name in expected if name not in found]
    if missing:
        raise CheckpointError(
            f"tensor {missing[0]}",
            found=f"missing (with {len(missing) - 1} others)",
            legal=f"shape {expected[missing[0]]}",
        )
    for name, tensor in found.items():
        if name == HEAD_NAME and geometry.head_is_tied:
            continue  # a tied checkpoint may store its head a second time
        if name not in expected:
            raise CheckpointError(
                f"tensor {name}",
                found=f"unexpected, shape {tensor.shape}",
                legal="no such tensor in this model",
            )
        if tensor.shape != expected[name]:
            raise CheckpointError(
                f"tensor {name}", found=f"shape {tensor.shape}", legal=f"shape {expected[name]}"
            )
        if tensor.element_type not in ELEMENT_BYTES:
            raise CheckpointError(
                f"tensor {name}", found=tensor.element_type, legal=" or ".join(ELEMENT_BYTES)
            )
