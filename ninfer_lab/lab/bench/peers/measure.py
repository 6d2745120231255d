"""How is one engine asked what it reuses?

Owns a run: the checkpoint in the engine's format, the job file, the engine's own process with what
it must find in its environment, and the answer file. Does not know what is asked (`streams`), nor
with which settings (`runs`).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ninfer_lab.contract.numerics import ModelDtype
from ninfer_lab.contract.options import EngineOptions, RequestOptions
from ninfer_lab.contract.prompt import TokenPrompt
from ninfer_lab.contract.token_span import TokenSpan
from ninfer_lab.engine.assembly import TorchParts, assemble_torch
from ninfer_lab.frontend.prepared_prompt import Frontend
from ninfer_lab.lab.bench.checkpoints import SEED
from ninfer_lab.lab.bench.peers.environment import PeerAbsent, last_words
from ninfer_lab.lab.bench.peers.gguf_checkpoint import save_gguf
from ninfer_lab.lab.bench.peers.measured import MeasuredRun
from ninfer_lab.lab.bench.peers.runs import GEOMETRY, Peer, PeerRun
from ninfer_lab.lab.bench.peers.streams import Stream, stream_named
from ninfer_lab.lab.bench.peers.vocabulary import spoken_words

_ROOM = Path(__file__).parent
WORKERS: Mapping[Peer, Path] = MappingProxyType(
    {Peer.VLLM: _ROOM / "vllm_worker.py", Peer.LLAMA_CPP: _ROOM / "llama_cpp_worker.py"}
)
"""The script that asks each engine, by itself."""

VLLM_ENVIRONMENT = {
    "PYTHONPATH": str(_ROOM / "stand_ins"),
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB; the blocks are said apart, and are fewer
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # one process, which can be asked for its layout
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}
"""What vLLM must find set before it is imported; the stand-ins are on its path alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerCheckpoint:
    """The model that every engine serves, in both formats.

    Attributes:
        folder: As transformers reads it.
        gguf: As llama.cpp reads it.
    """

    folder: Path
    gguf: Path

    @classmethod
    def made_in(cls, scratch: Path) -> PeerCheckpoint:
        """Writes both from one seed."""
        from ninfer_lab.models.qwen3_5.weights import random_weights, save_checkpoint

        made = cls(folder=scratch / "checkpoint", gguf=scratch / "checkpoint.gguf")
        save_checkpoint(made.folder, GEOMETRY, random_weights(GEOMETRY, SEED))
        save_gguf(made.folder, made.gguf)
        return made

    def path_for(self, peer: Peer) -> Path:
        """What the engine is told to load."""
        return self.gguf if peer is Peer.LLAMA_CPP else self.folder


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerBench:
    """Runs engines that are installed.

    Attributes:
        python: Of their environment.
        checkpoint: What they serve.
        scratch: For job and answer.
        thread_count: With which they compute.
        workers: The script of each engine.
    """

    python: Path
    checkpoint: PeerCheckpoint
    scratch: Path
    thread_count: int
    workers: Mapping[Peer, Path] = field(default_factory=lambda: WORKERS)

    def measure(self, run: PeerRun) -> tuple[str, MeasuredRun] | PeerAbsent:
        """Starts the engine, sends the stream, and reads what it counted.

        Returns:
            The engine's version and what was measured; or why nothing was.
        """
        stream = stream_named(run.stream)
        job, answer = self.scratch / "job.json", self.scratch / "answer.json"
        answer.unlink(missing_ok=True)
        job.write_text(json.dumps(self._job(run, stream)))
        done = subprocess.run(  # noqa: S603  (the interpreter that was just set up)
            [str(self.python), str(self.workers[run.peer]), str(job), str(answer)],
            env=self._environment(run.peer),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode or not answer.is_file():
            return PeerAbsent(peer=run.peer, reason=last_words(done.stdout))
        return answered(run, stream, json.loads(answer.read_text()))

    def _job(self, run: PeerRun, stream: Stream) -> dict[str, object]:
        return {
            "checkpoint": str(self.checkpoint.path_for(run.peer)),
            "settings": asdict(run.settings),
            "threads": self.thread_count,
            "vocabulary": spoken_words(GEOMETRY.vocab_size),
            "requests": [
                {
                    "prompt": request.prompt,
                    "messages": [
                        {"role": each.role.value, "content": each.content}
                        for each in request.messages
                    ],
                    "answer_tokens": request.answer_tokens,
                    "answer_token": request.forced_token,
                }
                for request in stream.requests
            ],
        }

    def _environment(self, peer: Peer) -> Mapping[str, str]:
        threads = {"OMP_NUM_THREADS": str(self.thread_count), "OMP_WAIT_POLICY": "PASSIVE"}
        inherited = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        own = VLLM_ENVIRONMENT if peer is Peer.VLLM else {}
        return inherited | threads | own


def own_first_tokens(checkpoint: PeerCheckpoint, stream: Stream) -> tuple[int, ...]:
    """What this project's engine draws first behind each prompt, on the same weights."""
    options = EngineOptions(max_context_tokens=stream.longest_tokens)
    drawn = []
    parts = TorchParts(dtype=ModelDtype.FLOAT32, frontend=Frontend())
    with assemble_torch(checkpoint.folder, options, parts) as engine:
        for asked in stream.requests:
            prompt = TokenPrompt(tokens=TokenSpan(asked.prompt))
            request = engine.submit(prompt, RequestOptions(max_output_tokens=1))
            drawn.append(engine.run(request).output_tokens[0])
    return tuple(drawn)


def answered(run: PeerRun, stream: Stream, answer: dict[str, Any]) -> tuple[str, MeasuredRun]:
    """What a worker wrote, as a value.

    Raises:
        RuntimeError: It answered another number of requests than were sent.
    """
    served = answer["requests"]
    if len(served) != len(stream.requests):
        raise RuntimeError(f"{run}: {len(stream.requests)} requests sent, {len(served)} answered")
    measured = MeasuredRun(
        run=run,
        digest=stream.digest,
        facts=answer["facts"],
        cached_tokens=tuple(each["cached_tokens"] for each in served),
        first_tokens=tuple(each["first_token"] for each in served),
    )
    return answer["version"], measured
