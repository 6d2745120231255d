"""Law: what is computed from a session that came out of a file equals, bit for bit, what the engine
that wrote it computes from the original.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from ninfer_lab.contract.candidate import ReusePath
from ninfer_lab.contract.events import RequestAdmitted
from ninfer_lab.contract.ids import SessionKey
from ninfer_lab.contract.numerics import Numerics
from ninfer_lab.contract.options import EngineOptions, RequestOptions
from ninfer_lab.contract.session_snapshot import SessionError
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.restore_proof.watched_engine import WatchedEngine
from ninfer_lab.lab.session_files import read_session, write_session
from ninfer_lab.models.qwen3_5.geometries import TINY
from ninfer_lab.models.qwen3_5.weights import random_weights, save_checkpoint

pytestmark = pytest.mark.usefixtures("one_thread")

FIRST = TokenSpan(range(100, 230))
MORE = TokenSpan([7, 8, 9])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("random_weights")
    save_checkpoint(folder, TINY, random_weights(TINY, seed=11))
    return folder


def opened(checkpoint: Path, *, slots: int = 2) -> WatchedEngine:
    options = EngineOptions(
        max_context_tokens=256,
        kv_capacity_tokens=1_024,
        prefill_chunk_tokens=48,
        device_state_slots=slots,
    )
    return WatchedEngine(checkpoint, options, numerics=Numerics.CANONICAL, frontend=Frontend())


def turn(watched: WatchedEngine, prompt: TokenSpan, session: str) -> tuple[TokenSpan, list[Tensor]]:
    """(what was said, answer included; the logits of its forwards)."""
    before = len(watched.tap.logits)
    options = RequestOptions(max_output_tokens=5, session_key=SessionKey(session))
    outcome = watched.run(prompt, options)
    assert watched.broken_laws == ()
    assert watched.changes == ()
    return prompt + TokenSpan(outcome.output_tokens), list(watched.tap.logits[before:])


def test_the_next_turn_is_the_same_bits(checkpoint: Path, tmp_path: Path) -> None:
    # spec: PER-2, PER-3, IDN-6
    with opened(checkpoint) as here, opened(checkpoint) as there:
        said, _ = turn(here, FIRST, "a")
        path = write_session(tmp_path / "a.session", here.engine.sessions.save("a"))
        restored = there.engine.sessions.restore(read_session(path))
        assert restored.dropped == ()
        there.step()  # the watch has now seen what came in, and sees it changed
        said_here, logits_here = turn(here, said + MORE, "a")
        said_there, logits_there = turn(there, said + MORE, "b")
        (admitted,) = (e for e in there.engine.events if isinstance(e, RequestAdmitted))
    assert (admitted.path, admitted.reuse_tokens) == (ReusePath.PRIVATE_ENDPOINT, len(said) - 1)
    assert said_there == said_here
    assert len(logits_here) == len(logits_there) == 5
    assert all(map(torch.equal, logits_here, logits_there))


def test_a_session_of_other_weights_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    # spec: PER-3, BAD-1
    other = tmp_path / "other"
    save_checkpoint(other, TINY, random_weights(TINY, seed=12))
    with opened(checkpoint) as here, opened(other) as there:
        turn(here, FIRST, "a")
        session, before = here.engine.sessions.save("a"), there.engine.describe()
        with pytest.raises(SessionError, match="what this engine serves"):
            there.engine.sessions.restore(session)
        assert there.engine.describe() == before


def test_what_lies_behind_the_frontier_of_a_tail_page_does_not_leave(checkpoint: Path) -> None:
    # spec: PER-2
    with opened(checkpoint) as here:
        turn(here, FIRST, "a")
        tensors = here.tap.tensors
        (owner,) = here.engine.describe().ledger.owners
        (endpoint,) = owner.checkpoints
        placed = {each.page: each.device_page for each in here.engine.describe().ledger.pages}
        tail = placed[endpoint.pages[-1]]
        assert tail is not None
        cells_count = endpoint.summary.frontier_tokens % 64
        tensors.page_slice(tail)[:, :, cells_count:] = 3.0  # a neighbour's, as it were
        session = here.engine.sessions.save("a")
    shape = tuple(tensors.kv_pages.shape[1:])
    saved = torch.frombuffer(bytearray(session.pages[-1]), dtype=torch.float32).view(shape)
    assert saved[:, :, :cells_count].abs().amin(dim=(0, 1, 3, 4)).gt(0).all()
    assert not saved[:, :, cells_count:].any()
