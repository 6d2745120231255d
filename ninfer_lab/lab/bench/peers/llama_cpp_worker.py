"""What does llama.cpp's server reuse on one stream? Runs by itself where xllamacpp is installed,
and imports nothing of this project.

Reads a job (GGUF file, settings, prompts) from the file that is its first argument, and writes what
the server said of each request into the second. Does not know why anything is asked.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FORCED = 1e5
"""Added to the logit of a forced token: no other is drawn."""


def main(job_file: Path, answer_file: Path) -> None:
    """Serves the job's requests one after the other."""
    job = json.loads(job_file.read_text())
    settings: dict[str, Any] = job["settings"]
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = job["checkpoint"]
    params.warmup = False
    params.fit_params = False  # takes the sizes that are said, not those that fit a device
    params.n_parallel = settings["slots_count"]
    params.n_ctx = settings["slots_count"] * settings["context_tokens"]
    params.cache_ram_mib = settings["ram_pool_mib"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = job["threads"]
    params.chat_template = "chatml"
    params.use_jinja = True
    params.verbosity = 0
    server = xllamacpp.Server(params)
    served = [answer_of(server, request, job["vocabulary"]) for request in job["requests"]]
    answer = {"version": xllamacpp.__version__, "facts": _facts(params), "requests": served}
    answer_file.write_text(json.dumps(answer))


def answer_of(server: Any, request: dict[str, Any], vocabulary: list[str]) -> dict[str, Any]:
    """One request's counts.

    Raises:
        RuntimeError: The server refused it.
    """
    forced = request["answer_token"]
    asked = {
        "max_tokens": request["answer_tokens"],
        "temperature": 0.0,
        "ignore_eos": True,
        "cache_prompt": True,
        "logit_bias": [] if forced is None else [[forced, FORCED]],
    }
    messages = request.get("messages")
    if messages:
        said = server.handle_chat_completions(asked | {"messages": messages})
    else:
        said = server.handle_completions(asked | {"prompt": request["prompt"]})
    said = said if isinstance(said, dict) else json.loads(said)
    if "timings" not in said:
        raise RuntimeError(f"llama.cpp refused a request: {str(said)[:500]}")
    found_tokens = said["usage"]["prompt_tokens"]
    if found_tokens != len(request["prompt"]):
        raise RuntimeError(f"llama.cpp reads {found_tokens} tokens, not {len(request['prompt'])}")
    choice = said["choices"][0]
    text = choice["message"]["content"] if messages else choice["text"]
    return {
        "cached_tokens": said["timings"]["cache_n"],
        "first_token": first_token_of(text, vocabulary),
    }


def first_token_of(text: str, vocabulary: list[str]) -> int:
    """The token that a text begins with; the longest, for `t1` begins `t12`, too."""
    fitting = [token for token, word in enumerate(vocabulary) if text.startswith(word)]
    return max(fitting, key=lambda token: len(vocabulary[token]))


def _facts(params: Any) -> dict[str, Any]:
    """Settings that were left as the library has them."""
    return {
        "checkpoints_per_slot": params.n_ctx_checkpoints,
        "checkpoint_spacing_tokens": params.checkpoint_min_step,
        "batch_tokens": params.n_batch,
        "physical_batch_tokens": params.n_ubatch,
        "slot_similarity": round(params.slot_prompt_similarity, 6),
        "keeps_idle_slots": params.cache_idle_slots,
        "unified_kv": params.kv_unified,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
