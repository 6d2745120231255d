"""What does vLLM reuse on one stream? Runs by itself where vLLM is installed, and imports nothing
of this project.

Reads a job (checkpoint, settings, prompts) from the file that is its first argument, and writes
what vLLM said of each request into the second. Does not know why anything is asked.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main(job_file: Path, answer_file: Path) -> None:
    """Serves the job's requests one after the other."""
    job = json.loads(job_file.read_text())
    settings: dict[str, Any] = job["settings"]
    import vllm

    engine = vllm.LLM(
        job["checkpoint"],
        skip_tokenizer_init=True,
        # Linear layers on a CPU accept no other, and the released checkpoints keep float32 states.
        dtype="bfloat16",
        mamba_ssm_cache_dtype="float32",
        max_model_len=settings["context_tokens"],
        max_num_batched_tokens=settings["context_tokens"],
        max_num_seqs=4,
        enforce_eager=True,
        enable_prefix_caching=True,
        disable_log_stats=False,  # the count of cached tokens is one of the statistics
        num_gpu_blocks_override=settings["blocks_count"],
    )
    served = [_served(engine, vllm, request) for request in job["requests"]]
    answer = {"version": vllm.__version__, "facts": _facts(engine), "requests": served}
    answer_file.write_text(json.dumps(answer))


def _served(engine: Any, vllm: Any, request: dict[str, Any]) -> dict[str, Any]:
    forced = request["answer_token"]
    sampling = vllm.SamplingParams(
        temperature=0.0,
        max_tokens=request["answer_tokens"],
        min_tokens=request["answer_tokens"],
        ignore_eos=True,
        detokenize=False,
        allowed_token_ids=None if forced is None else [forced],
    )
    prompt = {"prompt_token_ids": request["prompt"]}
    output = engine.generate([prompt], sampling, use_tqdm=False)[0]
    return {
        "cached_tokens": output.num_cached_tokens,
        "first_token": output.outputs[0].token_ids[0],
    }


def _facts(engine: Any) -> dict[str, Any]:
    """What follows from the settings and the checkpoint, as vLLM worked it out."""
    config = engine.llm_engine.vllm_config.cache_config
    layout = engine.llm_engine.engine_core.engine_core.scheduler.kv_cache_config
    specs = [group.kv_cache_spec for group in layout.kv_cache_groups]
    groups = zip(layout.kv_cache_groups, specs, strict=True)
    return {
        "block_tokens": config.block_size,
        "blocks_count": layout.num_blocks,
        # A block id is one page in each layer of one group; all groups draw from one pool.
        "block_bytes": max(len(group.layer_names) * spec.page_size_bytes for group, spec in groups),
        "blocks_of_a_state": sum(type(spec).__name__ == "MambaSpec" for spec in specs),
        "state_mode": config.mamba_cache_mode,
        "state_interval_tokens": config.prefix_cache_retention_interval,
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
