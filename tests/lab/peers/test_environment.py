"""Law: an engine that cannot be had is said with its reason; one that is there is left alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ninfer_lab.lab.bench.peers.command import PeersCommand
from ninfer_lab.lab.bench.peers.environment import PeerEnvironment, failure_of, last_words
from ninfer_lab.lab.bench.peers.runs import Peer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")


def environment(folder: Path, *, python_says: str) -> PeerEnvironment:
    """One whose interpreter writes down what it is asked, and then does as it is told here."""
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\n{python_says}\n')
    python.chmod(0o755)
    pins = folder / "pins.txt"
    pins.write_text("xllamacpp==1\nvllm-cpu==2\n")
    return PeerEnvironment(folder=folder, pins=pins, pip_options=("--index-url=x",))


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().splitlines()


def test_an_engine_is_installed_once_for_the_same_pins(tmp_path: Path) -> None:
    here = environment(tmp_path, python_says="exit 0")
    said: list[str] = []
    assert [here.install(Peer.LLAMA_CPP, said.append) for _ in range(2)] == [None, None]
    assert len(asked(tmp_path)) == len(said) == 1
    here.pins.write_text("xllamacpp==3\n")
    assert here.install(Peer.LLAMA_CPP, said.append) is None
    assert len(asked(tmp_path)) == 2


def test_nothing_is_installed_that_the_pins_do_not_list(tmp_path: Path) -> None:
    here = environment(tmp_path, python_says="exit 0")
    for peer in Peer:
        here.install(peer, lambda line: None)
    vllm, llama_cpp = asked(tmp_path)
    assert "--no-deps" in vllm
    assert vllm.endswith(f"--index-url=x --requirement {here.pins}")
    assert llama_cpp.endswith(f"--constraint {here.pins} xllamacpp")


def test_a_failed_installation_is_a_reason_and_is_tried_again(tmp_path: Path) -> None:
    here = environment(tmp_path, python_says="echo no wheel; echo; exit 1")
    absent = here.install(Peer.VLLM, lambda line: None)
    assert str(absent) == "vLLM is not measured here: no wheel"
    assert here.install(Peer.VLLM, lambda line: None) == absent


def test_without_any_engine_the_command_says_so_and_ends(tmp_path: Path) -> None:
    environment(tmp_path, python_says="echo no wheel; exit 1")
    said: list[str] = []
    PeersCommand(folder=tmp_path).run(said.append)
    assert said[-1].startswith("no engine could be asked: nothing is measured")
    assert "llama.cpp is not measured here: no wheel" in said


def test_last_words_are_the_last_line_with_any() -> None:
    assert last_words("a\nb \n\n") == "b"
    assert last_words("\n") == "it ended without a word"
    assert failure_of(["/nowhere/at/all"]) is not None
