"""Which part of an answer is thinking, and which is what the model says?

Owns the thinking marks and the two questions asked of them: does a generation opener leave the
model thinking, and where does a finished answer stop thinking.
Does not know tokens or templates; a model that uses other marks has no thinking part here.
Source: the `<think>` convention of Qwen3 chat templates.
"""

from __future__ import annotations

from ninfer_lab.contract.prompt import OutputChannel

_BEGIN = "<think>"
_END = "</think>"


def channel_after(opener: str) -> OutputChannel:
    """The part of the answer that follows a generation opener.

    Args:
        opener: The end of a rendered prompt, from the assistant's header on.
    """
    begun, ended = opener.rfind(_BEGIN), opener.rfind(_END)
    return OutputChannel.REASONING if begun > ended else OutputChannel.CONTENT


def split_answer(text: str, opens_in: OutputChannel) -> tuple[str | None, str]:
    """Part an answer into thinking and content.

    Args:
        text: The accepted text.
        opens_in: Where its first character belongs.

    Returns:
        The thinking part without its marks and the line breaks around it (`None` if the answer has
        none), and the content without the line breaks that part it from the thinking.
    """
    if opens_in is OutputChannel.CONTENT:
        if not text.lstrip().startswith(_BEGIN):
            return None, text
        text = text.lstrip()[len(_BEGIN) :]
    thinking, _, content = text.partition(_END)
    return thinking.strip("\n"), content.lstrip("\n")
