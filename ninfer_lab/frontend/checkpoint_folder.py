"""What does a checkpoint folder state about text: tokenizer, stop tokens, chat template?

Owns the reading of `tokenizer.json`, `tokenizer_config.json`, `generation_config.json`,
`config.json` and `chat_template.jinja`, and the errors that name the file and the field.
Does not know what a tokenizer or a template does with what it read, nor weights (`models`).
Source: the layout of Hugging Face checkpoint folders.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ninfer_lab.contract.errors import CheckpointError

_TOKENIZER = "tokenizer.json"
_TOKENIZER_CONFIG = "tokenizer_config.json"
_GENERATION_CONFIG = "generation_config.json"
_MODEL_CONFIG = "config.json"
_TEMPLATE = "chat_template.jinja"
_SPECIAL_NAMES = ("bos_token", "eos_token", "pad_token", "unk_token")


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateText:
    """A chat template as shipped.

    Args:
        source: The file (and name) it came from, for error messages.
        plain: The Jinja text for a conversation.
        with_tools: A separate text for conversations with tools, where the checkpoint has one.
    """

    source: str
    plain: str
    with_tools: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointText:
    """Everything a checkpoint folder states about text.

    Args:
        tokenizer_json: The text of `tokenizer.json`.
        special_tokens: Named special tokens as written (`("eos_token", "<|im_end|>")`).
        stop_token_ids: The end-of-sequence ids of `generation_config.json`, else of `config.json`.
        template: The chat template; `None` where the checkpoint has none.
    """

    tokenizer_json: str
    special_tokens: tuple[tuple[str, str], ...]
    stop_token_ids: tuple[int, ...]
    template: TemplateText | None


def read_checkpoint_text(folder: Path) -> CheckpointText:
    """Read the text side of a checkpoint folder. Reads only.

    Args:
        folder: Holds at least `tokenizer.json`.

    Raises:
        CheckpointError: A file is missing or no JSON, or a field has a type no frontend can use.
    """
    tokenizer_path = folder / _TOKENIZER
    if not tokenizer_path.is_file():
        raise CheckpointError(
            _TOKENIZER, found=f"no such file in {folder}", legal="a folder that holds it"
        )
    config = _read_object(folder, _TOKENIZER_CONFIG)
    return CheckpointText(
        tokenizer_json=_read_text(tokenizer_path),
        special_tokens=_special_tokens(config),
        stop_token_ids=_stop_token_ids(folder),
        template=_template(folder, config),
    )


def _special_tokens(config: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for name in _SPECIAL_NAMES:
        value = config.get(name)
        if isinstance(value, dict):  # the long form: {"content": ..., "lstrip": ..., ...}
            value = value.get("content")
        if value is None:
            continue
        if not isinstance(value, str):
            raise _field_error(_TOKENIZER_CONFIG, name, value, "a string or {'content': string}")
        found.append((name, value))
    return tuple(found)


def _stop_token_ids(folder: Path) -> tuple[int, ...]:
    """`generation_config.json` decides; older checkpoints state it in `config.json` only."""
    generation = _read_object(folder, _GENERATION_CONFIG)
    if generation.get("eos_token_id") is not None:
        return _token_ids(_GENERATION_CONFIG, generation["eos_token_id"])
    model = _read_object(folder, _MODEL_CONFIG)
    text_part = model.get("text_config")
    for part in (model, text_part if isinstance(text_part, dict) else {}):
        if part.get("eos_token_id") is not None:
            return _token_ids(_MODEL_CONFIG, part["eos_token_id"])
    return ()


def _token_ids(file: str, value: object) -> tuple[int, ...]:
    ids = value if isinstance(value, list) else [value]
    for each in ids:
        if not isinstance(each, int) or isinstance(each, bool) or each < 0:
            raise _field_error(file, "eos_token_id", each, "a token id or a list of token ids")
    return tuple(dict.fromkeys(ids))


def _template(folder: Path, config: Mapping[str, object]) -> TemplateText | None:
    if (folder / _TEMPLATE).is_file():
        text = _read_text(folder / _TEMPLATE)
        return TemplateText(source=_TEMPLATE, plain=text, with_tools=None)
    value = config.get("chat_template")
    source = f"{_TOKENIZER_CONFIG}: chat_template"
    if value is None:
        return None
    if isinstance(value, str):
        return TemplateText(source=source, plain=value, with_tools=None)
    named = _named_templates(value)
    if "default" not in named:
        raise _field_error(
            _TOKENIZER_CONFIG, "chat_template", sorted(named), "a list with one named 'default'"
        )
    return TemplateText(source=source, plain=named["default"], with_tools=named.get("tool_use"))


def _named_templates(value: object) -> dict[str, str]:
    named: dict[str, str] = {}
    for each in value if isinstance(value, list) else [value]:
        name, text = (each.get("name"), each.get("template")) if isinstance(each, dict) else (0, 0)
        if not isinstance(name, str) or not isinstance(text, str):
            raise _field_error(
                _TOKENIZER_CONFIG,
                "chat_template",
                each,
                "a string, or a list of {'name': string, 'template': string}",
            )
        named[name] = text
    return named


def _read_object(folder: Path, file: str) -> dict[str, object]:
    """The JSON object in `file`; empty where the file is absent."""
    path = folder / file
    if not path.is_file():
        return {}
    try:
        value: object = json.loads(_read_text(path))
    except json.JSONDecodeError as error:
        raise CheckpointError(file, found=f"broken JSON: {error}", legal="a JSON object") from error
    if not isinstance(value, dict):
        raise CheckpointError(file, found=type(value).__name__, legal="a JSON object")
    return cast(dict[str, object], value)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CheckpointError(path.name, found=str(error), legal="UTF-8 text") from error


def _field_error(file: str, field: str, found: object, legal: str) -> CheckpointError:
    return CheckpointError(f"{file}: {field}", found=repr(found)[:200], legal=legal)
