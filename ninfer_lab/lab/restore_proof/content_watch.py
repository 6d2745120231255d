"""Does what is published stay as it was published, byte for byte?

Owns the law OWN-6 on the machine's memory: a digest of every checkpoint's image and of the keys and
values it covers, taken when it is first seen and compared whenever it is looked at again. Reads
tensors and a snapshot; a checkpoint may move to another slot, page or tier, and may have replicas
in both; its bytes may not change and may not differ between them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import torch
from torch import Tensor

from ninfer_lab.contract.checkpoint import CheckpointSummary
from ninfer_lab.contract.errors import InvariantBroken
from ninfer_lab.contract.ids import CheckpointRef
from ninfer_lab.contract.placement import CheckpointPlacement, LedgerSnapshot
from ninfer_lab.lab.restore_proof.replicas import Replicas
from ninfer_lab.models.qwen3_5.host_tensors import HostTensors
from ninfer_lab.models.qwen3_5.state_image import DeviceTensors

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentChange:
    """A published checkpoint that is no longer what it was.

    Attributes:
        parts: What changed, in words: the image's two halves, pages by ordinal, each with its
            place where that is the Host.
    """

    checkpoint: CheckpointSummary
    parts: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.checkpoint.ref} ({self.checkpoint}): {', '.join(self.parts)} changed"


class ContentWatch:
    """Compares published contents with themselves, from one look to the next.

    Look after every step of an engine: between two looks a checkpoint may be deleted or published,
    and then nothing is said of it.

    Args:
        tensors: Of the machine.
        host: Beside them.
    """

    def __init__(self, tensors: DeviceTensors, host: HostTensors) -> None:
        self._tensors = tensors
        self._host = host
        self._published: dict[CheckpointRef, dict[str, bytes]] = {}

    def look(self, snapshot: LedgerSnapshot) -> tuple[ContentChange, ...]:
        """Every checkpoint that changed since it was first seen; the new bytes count from now on.

        Args:
            snapshot: Of the ledger now; checkpoints of active lineages are looked at as well.
        """
        replicas = Replicas(self._tensors, self._host, snapshot)
        now = {
            placement.summary.ref: (placement.summary, _digests(replicas, placement))
            for placement in _checkpoints(snapshot)
        }
        changes = tuple(
            ContentChange(checkpoint=summary, parts=parts)
            for ref, (summary, digests) in now.items()
            if (parts := _changed(self._published.get(ref, {}), digests))
        )
        self._published = {
            ref: {digest.part: digest.content for digest in reversed(digests)}
            for ref, (_, digests) in now.items()
        }
        return changes

    def require(self, snapshot: LedgerSnapshot) -> None:
        """As `look`, for who expects no change.

        Raises:
            InvariantBroken: A published checkpoint changed.
        """
        changes = self.look(snapshot)
        if changes:
            raise InvariantBroken("OWN-6 published content", "; ".join(map(str, changes)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Digest:
    """Of one replica of one part."""

    part: str
    place: str
    content: bytes


def _checkpoints(snapshot: LedgerSnapshot) -> tuple[CheckpointPlacement, ...]:
    inactive = (checkpoint for owner in snapshot.owners for checkpoint in owner.checkpoints)
    active = (checkpoint for each in snapshot.sequences for checkpoint in each.checkpoints)
    return (*inactive, *active)


def _digests(replicas: Replicas, placement: CheckpointPlacement) -> tuple[_Digest, ...]:
    return tuple(
        _Digest(part=part.name, place=part.place, content=_digest(part.tensor))
        for part in replicas.of(placement)
    )


def _changed(before: dict[str, bytes], now: tuple[_Digest, ...]) -> tuple[str, ...]:
    """Places whose bytes are not the part's; one that is new is what its first replica says."""
    known = {digest.part: digest.content for digest in reversed(now)} | before
    return tuple(digest.place for digest in now if digest.content != known[digest.part])


def _digest(tensor: Tensor) -> bytes:
    plain = tensor.detach().contiguous().view(torch.uint8).cpu().numpy()
    return hashlib.blake2b(plain.tobytes(), digest_size=_DIGEST_BYTES).digest()
