"""Law: a session file holds every byte of the session, or it is refused by name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from ninfer_lab.contract.checkpoint import CheckpointKind
from ninfer_lab.contract.prompt import PromptIdentity, PromptModality, TemplateDigest
from ninfer_lab.contract.session_snapshot import SavedCheckpoint, SessionError, SessionSnapshot
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.lab import session_files
from ninfer_lab.lab.session_files import read_session, write_session

HISTORY = TokenSpan(range(300, 400))


def checkpoint(kind: CheckpointKind, frontier: int, image: int, *pages: int) -> SavedCheckpoint:
    return SavedCheckpoint(
        kind=kind,
        frontier_tokens=frontier,
        prefix_digest=HISTORY.prefix_digest(frontier),
        image=image,
        pages=pages,
    )


SESSION = SessionSnapshot(
    signature="weights of a test",
    identity=PromptIdentity(modality=PromptModality.TEXT, template=TemplateDigest("ab12")),
    history=HISTORY,
    execution_frontiers_tokens=(70,),
    checkpoints=(
        checkpoint(CheckpointKind.TURN_CLOSURE, 70, 0, 0, 1),
        checkpoint(CheckpointKind.SESSION_ENDPOINT, 100, 1, 0, 2),
    ),
    images=(b"first image", b"other image"),
    pages=(b"full", b"tail", b"more"),
)


def test_a_session_comes_back_as_it_was(tmp_path: Path) -> None:  # spec: PER-2
    path = write_session(tmp_path / "a.session", SESSION)
    assert read_session(path) == SESSION
    first = path.read_bytes()
    assert write_session(path, SESSION).read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


def test_it_prints_its_checkpoints_and_not_its_bytes() -> None:
    assert repr(SESSION) == (
        "session of 100 tokens: turn_closure@70, session_endpoint@100;"
        " 2 images and 3 pages, 34 bytes"
    )


def test_every_damaged_byte_is_noticed(tmp_path: Path) -> None:  # spec: PER-3, BAD-1
    path = write_session(tmp_path / "a.session", SESSION)
    whole = path.read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        with pytest.raises(SessionError, match=r"a\.session"):
            read_session(path)


@pytest.mark.parametrize("kept", [0, 7, 200, -1])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: int) -> None:  # spec: PER-3, BAD-1
    path = write_session(tmp_path / "a.session", SESSION)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(SessionError, match=r"a\.session"):
        read_session(path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:  # spec: BAD-1
    path = tmp_path / "model.safetensors"
    path.write_bytes(save({"weight": np.ones(3, dtype=np.float32)}))
    with pytest.raises(SessionError, match="digest"):
        read_session(path)
    with pytest.raises(SessionError, match="No such file"):
        read_session(tmp_path / "absent.session")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"format": "ninfer-lab session 9"}, "format: found ninfer-lab session 9"),
        ({"byte_order": "middle"}, "byte_order: found middle"),
        ({"checkpoints": []}, "session.checkpoints: found none"),
        ({"checkpoints": [{"kind": "endpoint"}]}, "'endpoint' is not a valid CheckpointKind"),
        ({"contents": {"images": 2, "pages": 2}}, "KeyError: 'backend_pages'"),
        ({"modality": 4}, "4 is not a valid PromptModality"),
    ],
)
def test_a_whole_file_that_says_nonsense_names_the_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, object], told: str
) -> None:  # spec: BAD-1
    directory = session_files._directory

    def nonsense(session: SessionSnapshot) -> bytes:
        return json.dumps(json.loads(directory(session)) | changed).encode()

    monkeypatch.setattr(session_files, "_directory", nonsense)
    path = write_session(tmp_path / "a.session", SESSION)
    with pytest.raises(SessionError) as refused:
        read_session(path)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_file_that_cannot_be_finished_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # spec: BAD-1
    path = write_session(tmp_path / "a.session", SESSION)

    def full(self: Path, content: bytes) -> int:
        raise OSError("no space left on the device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space"):
        write_session(path, replace(SESSION, signature="other weights"))
    assert read_session(path) == SESSION
    assert list(tmp_path.iterdir()) == [path]
