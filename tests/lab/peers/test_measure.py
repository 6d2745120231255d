"""Law: what an engine is told and what it answers cross two files and one process, unchanged.

No engine is needed: a script stands in for a worker, and a module of a few lines for a library.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ninfer_lab.lab.bench.peers import llama_cpp_worker, vllm_worker
from ninfer_lab.lab.bench.peers.environment import PeerAbsent
from ninfer_lab.lab.bench.peers.measure import PeerBench, PeerCheckpoint, answered
from ninfer_lab.lab.bench.peers.runs import LlamaCppSettings, Peer, PeerRun
from ninfer_lab.lab.bench.peers.streams import ANSWER_TOKEN, edits

RUN = PeerRun(
    settings=LlamaCppSettings(slots_count=2, context_tokens=2_048, ram_pool_mib=24), stream="edits"
)

ECHO = """
import json, os, sys
job = json.load(open(sys.argv[1]))
served = [{"cached_tokens": len(each["prompt"]), "first_token": each["answer_token"]}
          for each in job["requests"]]
facts = {"threads": os.environ["OMP_NUM_THREADS"], "slots": job["settings"]["slots_count"]}
json.dump({"version": "1", "facts": facts, "requests": served}, open(sys.argv[2], "w"))
"""


def bench(tmp_path: Path, worker: str) -> PeerBench:
    script = tmp_path / "worker.py"
    script.write_text(worker)
    checkpoint = PeerCheckpoint(folder=tmp_path / "none", gguf=tmp_path / "none.gguf")
    return PeerBench(
        python=Path(sys.executable),
        checkpoint=checkpoint,
        scratch=tmp_path,
        thread_count=3,
        workers=dict.fromkeys(Peer, script),
    )


def test_a_worker_is_told_everything_and_believed(tmp_path: Path) -> None:
    answer = bench(tmp_path, ECHO).measure(RUN)
    assert not isinstance(answer, PeerAbsent)
    version, measured = answer
    assert (version, measured.run, measured.digest) == ("1", RUN, edits().digest)
    assert measured.cached_tokens == tuple(len(each.prompt) for each in edits().requests)
    assert set(measured.first_tokens) == {ANSWER_TOKEN}
    assert measured.facts == {"threads": "3", "slots": 2}


@pytest.mark.parametrize(
    ("worker", "reason"),
    [
        ("raise SystemExit('no such processor')", "no such processor"),
        ("print('done')", "done"),
        ("import nothing_of_the_kind", "No module named 'nothing_of_the_kind'"),
    ],
)
def test_an_engine_that_does_not_answer_is_a_reason(
    tmp_path: Path, worker: str, reason: str
) -> None:
    here = bench(tmp_path, worker)
    (tmp_path / "answer.json").write_text("{}")  # of a run before: it must not be read again
    absent = here.measure(RUN)
    assert isinstance(absent, PeerAbsent)
    assert reason in absent.reason


def test_an_answer_for_each_request_is_required() -> None:
    answer = {"version": "1", "facts": {}, "requests": []}
    with pytest.raises(RuntimeError, match="5 requests sent, 0 answered"):
        answered(RUN, edits(), answer)


def served(
    worker: ModuleType, library: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """What a worker writes when a library stands in for the engine's."""
    monkeypatch.setitem(sys.modules, library.__name__, library)
    job: Mapping[str, object] = {
        "checkpoint": "model",
        "threads": 3,
        "vocabulary": ["a", "t1", "t12"],
        "settings": {
            "slots_count": 2,
            "context_tokens": 2_048,
            "ram_pool_mib": 24,
            "blocks_count": 60,
        },
        "requests": [
            {"prompt": [5, 6, 7], "answer_tokens": 2, "answer_token": 1},
            {"prompt": [5, 6], "answer_tokens": 1, "answer_token": None},
            {
                "prompt": [5],
                "messages": [{"role": "user", "content": "?"}],
                "answer_tokens": 1,
                "answer_token": 1,
            },
        ],
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    worker.main(tmp_path / "job.json", tmp_path / "answer.json")
    answer: dict[str, Any] = json.loads((tmp_path / "answer.json").read_text())
    return answer


def test_the_server_gets_contexts_for_all_slots_and_forced_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []
    params = SimpleNamespace(
        model=SimpleNamespace(),
        cpuparams=SimpleNamespace(),
        cpuparams_batch=SimpleNamespace(),
        n_ctx_checkpoints=32,
        checkpoint_min_step=8_192,
        n_batch=2_048,
        n_ubatch=512,
        slot_prompt_similarity=0.10000000149,
        cache_idle_slots=True,
        kv_unified=False,
    )

    class Server:
        def __init__(self, given: SimpleNamespace) -> None:
            assert given is params

        def handle_completions(self, request: dict[str, Any]) -> str:
            asked.append(request)
            choice = {"text": "t12t12" if request["logit_bias"] else "t1"}
            return self._said(len(request["prompt"]), choice)

        def handle_chat_completions(self, request: dict[str, Any]) -> dict[str, Any]:
            assert request["messages"] == [{"role": "user", "content": "?"}]
            said: dict[str, Any] = json.loads(self._said(1, {"message": {"content": "a"}}))
            return said

        @staticmethod
        def _said(prompt_tokens: int, choice: dict[str, Any]) -> str:
            usage = {"prompt_tokens": prompt_tokens}
            timings = {"cache_n": prompt_tokens - 1}
            return json.dumps({"usage": usage, "timings": timings, "choices": [choice]})

    library = ModuleType("xllamacpp")
    vars(library).update(CommonParams=lambda: params, Server=Server, __version__="7")
    answer = served(llama_cpp_worker, library, tmp_path, monkeypatch)
    assert (params.n_parallel, params.n_ctx, params.cache_ram_mib) == (2, 4_096, 24)
    assert params.cpuparams.n_threads == params.cpuparams_batch.n_threads == 3
    assert [each["max_tokens"] for each in asked] == [2, 1]
    assert asked[0]["logit_bias"][0][0] == 1
    assert asked[1]["logit_bias"] == []
    assert answer["version"] == "7"
    assert answer["facts"]["slot_similarity"] == 0.1
    assert answer["requests"] == [
        {"cached_tokens": 2, "first_token": 2},
        {"cached_tokens": 1, "first_token": 1},
        {"cached_tokens": 0, "first_token": 0},
    ]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"error": "too long"}, "refused a request: .*too long"),
        ({"timings": {"cache_n": 0}, "usage": {"prompt_tokens": 2}}, "reads 2 tokens, not 1"),
    ],
)
def test_a_refused_or_misread_request_is_no_answer(said: dict[str, Any], message: str) -> None:
    server = SimpleNamespace(handle_completions=lambda request: said)
    request = {"prompt": [1], "answer_tokens": 1, "answer_token": None}
    with pytest.raises(RuntimeError, match=message):
        llama_cpp_worker.answer_of(server, request, [])


def test_vllm_gets_its_blocks_and_says_what_a_block_and_a_state_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}
    kinds = {"MambaSpec": 3, "FullAttentionSpec": 1}
    groups = [
        SimpleNamespace(
            layer_names=("one", "two"),
            kv_cache_spec=type(kind, (), {"page_size_bytes": 196_608})(),
        )
        for kind, count in kinds.items()
        for _ in range(count)
    ]
    layout = SimpleNamespace(num_blocks=60, kv_cache_groups=groups)
    scheduler = SimpleNamespace(kv_cache_config=layout)
    core = SimpleNamespace(engine_core=SimpleNamespace(scheduler=scheduler))
    cache = SimpleNamespace(
        block_size=384, mamba_cache_mode="align", prefix_cache_retention_interval=0
    )
    forced: list[object] = []

    class Engine:
        def __init__(self, model: str, **options: Any) -> None:
            given.update(options, model=model)
            config = SimpleNamespace(cache_config=cache)
            self.llm_engine = SimpleNamespace(vllm_config=config, engine_core=core)

        def generate(self, prompts: Any, sampling: Any, *, use_tqdm: bool) -> Any:
            forced.append(sampling.allowed_token_ids)
            ids = [9] * sampling.max_tokens
            cached = len(prompts[0]["prompt_token_ids"])
            return [
                SimpleNamespace(num_cached_tokens=cached, outputs=[SimpleNamespace(token_ids=ids)])
            ]

    library = ModuleType("vllm")
    vars(library).update(LLM=Engine, SamplingParams=SimpleNamespace, __version__="8")
    answer = served(vllm_worker, library, tmp_path, monkeypatch)
    assert (given["model"], given["num_gpu_blocks_override"]) == ("model", 60)
    assert given["max_model_len"] == given["max_num_batched_tokens"] == 2_048
    assert forced == [[1], None, [1]]
    assert answer["facts"]["block_bytes"] == 393_216
    assert answer["facts"]["blocks_of_a_state"] == 3
    assert answer["requests"][0] == {"cached_tokens": 3, "first_token": 9}
