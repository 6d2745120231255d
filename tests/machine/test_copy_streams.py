"""Law: copies start after the work before them and are done when all have ended, on either way."""

from __future__ import annotations

from types import TracebackType

import pytest
import torch

from ninfer_lab.machine.copy_streams import PlainCopies, StreamCopies, copies_for


def test_on_a_cpu_copies_have_ended_when_they_have_started() -> None:
    copies = copies_for(torch.device("cpu"))
    assert isinstance(copies, PlainCopies)
    destinations = torch.zeros(2, 3)
    sources = torch.arange(6.0).view(2, 3)
    copies.start([(destinations[1], sources[0]), (destinations[0], sources[1])])
    assert copies.is_done()
    assert copies.ask_again_ns == 0
    assert destinations.tolist() == [[3, 4, 5], [0, 1, 2]]


class FakeCuda:
    """Writes down what is asked of CUDA, in order; its event has ended when it is told so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[str] = []
        self.has_ended = False
        monkeypatch.setattr(torch.cuda, "Stream", lambda _: self)
        monkeypatch.setattr(torch.cuda, "Event", lambda: self)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda _: "the forwards' stream")
        monkeypatch.setattr(torch.cuda, "stream", lambda _: self)

    def wait_stream(self, stream: str) -> None:
        self.log.append(f"wait for {stream}")

    def __enter__(self) -> None:
        self.log.append("enter")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.log.append("leave")

    def record(self, _: object) -> None:
        self.log.append("record")

    def query(self) -> bool:
        return self.has_ended

    def synchronize(self) -> None:
        self.log.append("synchronize")


class FakeTensor:
    """Writes its copy into the same log."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._name, self._log = name, log

    def copy_(self, source: FakeTensor, *, non_blocking: bool) -> None:
        assert non_blocking, "a blocking copy holds up the forwards"
        self._log.append(f"{source._name} to {self._name}")


def test_on_a_gpu_they_wait_for_the_forwards_and_an_event_follows_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = FakeCuda(monkeypatch)
    copies = copies_for(torch.device("cuda:0"))
    assert isinstance(copies, StreamCopies)
    a, b, c = (FakeTensor(name, cuda.log) for name in "abc")
    copies.start([(a, b), (b, c)])  # type: ignore[list-item]
    assert cuda.log == [
        "wait for the forwards' stream",
        "enter",
        "b to a",
        "c to b",
        "record",
        "leave",
    ]
    assert not copies.is_done()
    cuda.has_ended = True
    assert copies.is_done()
    copies.wait()
    assert cuda.log[-1] == "synchronize"
    assert copies.ask_again_ns > 0, "asking without a pause would keep a core busy"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_bytes_come_back_from_a_gpu_as_they_went() -> None:
    device = torch.device("cuda:0")
    copies = StreamCopies(device)
    # A long product first: a copy that did not wait for it would carry the zeros.
    factor = torch.randn(4096, 4096, device=device)
    source = torch.zeros(4096, 4096, device=device)
    host = torch.empty(4096, 4096, pin_memory=True)
    torch.matmul(factor, factor, out=source)
    copies.start([(host, source)])
    copies.wait()
    assert copies.is_done()
    assert torch.equal(host, source.cpu())
    restored = torch.empty_like(source)
    copies.start([(restored, host)])
    copies.wait()
    assert torch.equal(restored, source)
