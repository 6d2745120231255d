"""A conversation as ChatML, written a second time for the templates to be compared with."""

from __future__ import annotations

from collections.abc import Iterable

from ninfer_lab.contract.prompt import Message


def rendered(messages: Iterable[Message]) -> str:
    """History with every thought kept."""
    text = ""
    for message in messages:
        thought = "" if message.reasoning is None else f"<think>{message.reasoning}</think>"
        text += f"<|im_start|>{message.role.value}\n{thought}{message.content}<|im_end|>\n"
    return text
