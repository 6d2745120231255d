"""Law: what a checkpoint folder says wrongly is refused by file and field; nothing is guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frontend.texts import CHATML, END, LIMITS, chat, trained, user
from ninfer_lab.contract.errors import CheckpointError, PromptError
from ninfer_lab.frontend.checkpoint_folder import read_checkpoint_text
from ninfer_lab.frontend.prepared_prompt import Frontend


def folder(place: Path, **files: object) -> Path:
    """A folder with a good tokenizer and the files given: text as it is, anything else as JSON."""
    names = {"tokenizer": trained().to_str(), **files}
    for name, content in names.items():
        file = place / ("chat_template.jinja" if name == "template" else f"{name}.json")
        if content is not None:
            file.write_text(content if isinstance(content, str) else json.dumps(content))
    return place


def test_serves_a_folder_as_the_hub_lays_it_out(tmp_path: Path) -> None:
    end = trained().token_to_id(END)
    front = Frontend.from_folder(
        folder(
            tmp_path,
            tokenizer_config={"eos_token": {"content": END}, "bos_token": None},
            generation_config={"eos_token_id": [end, 2]},
            config={"eos_token_id": 7},
            template=CHATML,
        )
    )
    assert front.stop_token_ids == (end, 2)
    assert len(front.prepare(chat(user("sky")), LIMITS).tokens) > 1


def test_stop_ids_fall_back_to_the_model_config_and_its_text_part(tmp_path: Path) -> None:
    read = read_checkpoint_text(folder(tmp_path, config={"text_config": {"eos_token_id": 2}}))
    assert read.stop_token_ids == (2,)
    read = read_checkpoint_text(folder(tmp_path, config={"eos_token_id": [3, 4, 3]}))
    assert read.stop_token_ids == (3, 4)
    read = read_checkpoint_text(folder(tmp_path, config={}))
    assert read.stop_token_ids == ()


def test_a_template_file_goes_before_the_config(tmp_path: Path) -> None:
    in_config = {"chat_template": [{"name": "default", "template": "d"}]}
    read = read_checkpoint_text(folder(tmp_path, tokenizer_config=in_config))
    assert read.template is not None
    assert (read.template.plain, read.template.with_tools) == ("d", None)
    in_config["chat_template"].append({"name": "tool_use", "template": "t"})
    read = read_checkpoint_text(folder(tmp_path, tokenizer_config=in_config))
    assert read.template is not None
    assert (read.template.plain, read.template.with_tools) == ("d", "t")
    read = read_checkpoint_text(folder(tmp_path, template="f", tokenizer_config=in_config))
    assert read.template is not None
    assert (read.template.plain, read.template.source) == ("f", "chat_template.jinja")


def test_without_a_template_only_tokens_are_served(tmp_path: Path) -> None:
    front = Frontend.from_folder(folder(tmp_path))
    with pytest.raises(PromptError, match="a checkpoint without chat template"):
        front.prepare(chat(user("sky")), LIMITS)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"tokenizer": None}, r"tokenizer\.json: found no such file in .*; legal: a folder"),
        ({"tokenizer": "{"}, r"tokenizer\.json: found .*; legal: a file the tokenizers"),
        ({"tokenizer_config": "{"}, r"tokenizer_config\.json: found broken JSON"),
        ({"tokenizer_config": [1]}, r"tokenizer_config\.json: found list; legal: a JSON object"),
        (
            {"tokenizer_config": {"eos_token": 3}},
            r"tokenizer_config\.json: eos_token: found 3; legal: a string",
        ),
        (
            {"tokenizer_config": {"eos_token": "<|no|>"}},
            r"tokenizer_config\.json: eos_token: found '<\|no\|>'; legal: a token that tokenizer",
        ),
        (
            {"tokenizer_config": {"chat_template": [{"name": "rag", "template": ""}]}},
            r"chat_template: found \['rag'\]; legal: a list with one named 'default'",
        ),
        ({"tokenizer_config": {"chat_template": 3}}, r"chat_template: found 3; legal: a string"),
        (
            {"generation_config": {"eos_token_id": [1, "x"]}},
            r"generation_config\.json: eos_token_id: found 'x'; legal: a token id",
        ),
        ({"config": {"eos_token_id": -1}}, r"config\.json: eos_token_id: found -1"),
        ({"config": {"eos_token_id": True}}, r"config\.json: eos_token_id: found True"),
        (
            {"template": "{% if %}"},
            r"chat_template\.jinja: found line 1: .*; legal: a Jinja template",
        ),
    ],
)
def test_says_which_file_and_field_is_wrong(
    tmp_path: Path, files: dict[str, object], says: str
) -> None:
    with pytest.raises(CheckpointError, match=says):
        Frontend.from_folder(folder(tmp_path, **files))


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    place = folder(tmp_path)
    (place / "chat_template.jinja").write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match=r"chat_template\.jinja: found .*legal: UTF-8"):
        read_checkpoint_text(place)
