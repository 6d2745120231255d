"""How does a session become one file, and which files are refused?

Owns the container: a safetensors file whose entries are the parts of a `SessionSnapshot` as bytes,
a directory in JSON, and a digest over all of it. Written beside its place and moved there when it
is whole. Does not know what the bytes mean; whether they fit an engine is that engine's to say.
Source: PER-2, PER-3, BAD-1.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.errors import PromptError
from ninfer_lab.contract.prompt import PromptIdentity, PromptModality, TemplateDigest
from ninfer_lab.contract.session_snapshot import SavedCheckpoint, SessionError, SessionSnapshot
from ninfer_lab.contract.token_span import TOKEN_BYTES, TokenSpan

FORMAT = "ninfer-lab session 1"
_DIRECTORY, _HISTORY, _DIGEST = "directory.json", "history", "digest"
_CONTENTS = ("images", "pages", "backend_pages")


def write_session(path: Path | str, session: SessionSnapshot) -> Path:
    """Writes a whole file or none.

    Raises:
        OSError: The folder cannot be written; what stood at `path` still does.
    """
    path = Path(path)
    parts = {_DIRECTORY: _directory(session), _HISTORY: session.history.to_bytes()}
    for name in _CONTENTS:
        for ordinal, content in enumerate(getattr(session, name)):
            parts[f"{name}.{ordinal}"] = content
    parts[_DIGEST] = _digest(parts)
    content = save({name: np.frombuffer(part, dtype=np.uint8) for name, part in parts.items()})
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def read_session(path: Path | str) -> SessionSnapshot:
    """Reads and checks a whole file.

    Raises:
        SessionError: Naming the file, the part, what was found, and what is expected.
    """
    path = Path(path)
    parts = _parts(path)
    if parts.pop(_DIGEST, None) != _digest(parts):
        raise SessionError(
            str(path), found="bytes that its digest does not stand for", legal="a file as written"
        )
    try:
        return _snapshot(parts)
    except SessionError as error:
        raise SessionError(f"{path}: {error.what}", found=error.found, legal=error.legal) from error
    except (KeyError, TypeError, ValueError, AttributeError, PromptError) as error:
        raise SessionError(
            f"{path}: {_DIRECTORY}", found=f"{type(error).__name__}: {error}", legal=FORMAT
        ) from error


def _parts(path: Path) -> dict[str, bytes]:
    try:
        entries = load(path.read_bytes())
    except OSError as error:
        raise SessionError(
            str(path), found=error.strerror or str(error), legal="a file that can be read"
        ) from error
    except SafetensorError as error:
        raise SessionError(str(path), found=str(error), legal=f"{FORMAT}, whole") from error
    return {name: entry.tobytes() for name, entry in entries.items()}


def _digest(parts: Mapping[str, bytes]) -> bytes:
    hasher = hashlib.blake2b()
    for name in sorted(parts):
        hasher.update(f"{name} {len(parts[name])}\n".encode())
        hasher.update(parts[name])
    return hasher.digest()


def _directory(session: SessionSnapshot) -> bytes:
    document = {
        "format": FORMAT,
        "byte_order": sys.byteorder,
        "signature": session.signature,
        "modality": session.identity.modality.value,
        "template": session.identity.template,
        "token_bytes": TOKEN_BYTES,
        "execution_frontiers_tokens": session.execution_frontiers_tokens,
        "contents": {name: len(getattr(session, name)) for name in _CONTENTS},
        "checkpoints": [
            {
                "kind": each.kind.value,
                "frontier_tokens": each.frontier_tokens,
                "prefix_digest": each.prefix_digest.hex(),
                "image": each.image,
                "pages": each.pages,
                "backend_pages": each.backend_pages,
            }
            for each in session.checkpoints
        ],
    }
    return json.dumps(document, sort_keys=True).encode()


def _snapshot(parts: Mapping[str, bytes]) -> SessionSnapshot:
    document = json.loads(parts[_DIRECTORY])
    for field, legal in (
        ("format", FORMAT),
        ("byte_order", sys.byteorder),
        ("token_bytes", TOKEN_BYTES),
    ):
        if document[field] != legal:
            raise SessionError(field, found=document[field], legal=str(legal))
    contents = {
        name: tuple(parts[f"{name}.{ordinal}"] for ordinal in range(document["contents"][name]))
        for name in _CONTENTS
    }
    return SessionSnapshot(
        signature=document["signature"],
        identity=PromptIdentity(
            modality=PromptModality(document["modality"]),
            template=TemplateDigest(document["template"]),
        ),
        history=TokenSpan.from_bytes(parts[_HISTORY]),
        execution_frontiers_tokens=tuple(document["execution_frontiers_tokens"]),
        checkpoints=tuple(
            SavedCheckpoint(
                kind=CheckpointKind(each["kind"]),
                frontier_tokens=each["frontier_tokens"],
                prefix_digest=bytes.fromhex(each["prefix_digest"]),
                image=each["image"],
                pages=tuple(each["pages"]),
                backend_pages=tuple(each["backend_pages"]),
            )
            for each in document["checkpoints"]
        ),
        **contents,
    )
