"""How does a trained model reach its folder without ever leaving half of one there?

Owns the writing of a checkpoint folder: weights, config, tokenizer, templates, log.
Does not know training.

Everything is written beside the target and then renamed into place. A crash leaves the old folder,
or the old folder under its spare name; never a mixture.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from safetensors.torch import save_file
from transformers import Qwen3_5ForCausalLM

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.tiny_model.tokenizer import write_tokenizer

LOG_NAME: Final = "training_log.jsonl"
FILE_NAMES: Final = frozenset(
    (
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
        "chat_template_strip_thinking.jinja",
        LOG_NAME,
    )
)
"""What a checkpoint of this kind consists of; a folder that holds anything else is not replaced."""


def refuse_foreign_folder(out: Path) -> None:
    """Refuse a target whose replacement would delete something else.

    Raises:
        OptionsError: `out` is a file, or a folder that holds other files than a checkpoint's.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise OptionsError("out", found=f"{out}, a file", legal="a folder, or a name not yet taken")
    others = sorted({path.name for path in out.iterdir()} - FILE_NAMES)
    if others:
        raise OptionsError(
            "out",
            found=f"{out} with {others[0]} in it",
            legal="an empty folder, a tiny checkpoint, or a name not yet taken",
        )


def write_checkpoint(
    out: Path, model: Qwen3_5ForCausalLM, log: Sequence[Mapping[str, object]]
) -> None:
    """Replace the checkpoint in `out`, whole or not at all.

    Args:
        out: The folder; its parent is made if need be.
        model: What to save, float32.
        log: One JSON object a line.

    Raises:
        OptionsError: `out` holds something that is no part of such a checkpoint.
    """
    refuse_foreign_folder(out)
    out = out.resolve()
    fresh = out.with_name(f"{out.name}.partial")
    spare = out.with_name(f"{out.name}.previous")
    for leftover in (fresh, spare):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh.mkdir(parents=True)
    tensors = {
        name: parameter.detach().contiguous() for name, parameter in model.named_parameters()
    }
    save_file(tensors, fresh / "model.safetensors", metadata={"format": "pt"})
    (fresh / "model.safetensors").chmod(0o644)  # the library makes it the owner's alone
    model.config.save_pretrained(fresh)
    write_tokenizer(fresh)
    lines = "".join(json.dumps(line) + "\n" for line in log)
    (fresh / LOG_NAME).write_text(lines, encoding="utf-8")
    if out.exists():
        os.replace(out, spare)
    os.replace(fresh, out)
    shutil.rmtree(spare, ignore_errors=True)
