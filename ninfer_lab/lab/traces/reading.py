"""Where is a trace, and which format has it?

Owns the names of the public traces, the folder they are looked for in, and the choice of the reader
by a file's first line. Does not know how a format is read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ninfer_lab.contract.errors import OptionsError
from ninfer_lab.lab.traces.azure import is_azure, read_azure
from ninfer_lab.lab.traces.mooncake import is_mooncake, read_mooncake
from ninfer_lab.lab.traces.trace import Trace, TraceError
from ninfer_lab.lab.traces.trace_lines import MAX_MOMENT_S, Record, numbered_lines
from ninfer_lab.lab.traces.weka import START_WINDOW_S, is_weka, read_weka

FOLDER_VARIABLE = "NINFER_LAB_TRACES"
"""Of the environment: the folder with the public traces."""

PUBLIC_TRACES: Mapping[str, str] = MappingProxyType(
    {
        "mooncake-conversation": "mooncake_fast25_conversation_trace.jsonl",
        "mooncake-synthetic": "mooncake_fast25_synthetic_trace.jsonl",
        "azure-code": "azure2023_llm_code.csv",
        "azure-conversation": "azure2023_llm_conv.csv",
        "weka-claude-code": "weka_claude_code_compact.jsonl.gz",
    }
)
"""The file of each, by the name one asks for it."""


def read_trace(source: Path | str, *, start_window_s: float = START_WINDOW_S) -> Trace:
    """Reads a public trace by its name, or any file of one of the formats by its path.

    Args:
        source: One of `PUBLIC_TRACES`, looked for in the folder that `NINFER_LAB_TRACES` names; or
            a path. A name that is also a file is the public trace; write `./name` for the file.
        start_window_s: Where the format does not say when a conversation began: within so many
            seconds.

    Raises:
        TraceError: No such trace, of no known format, or malformed: by file, line and field.
        OptionsError: A window that is no time.
    """
    if not 0.0 <= start_window_s < MAX_MOMENT_S:
        legal = f"seconds in [0, {MAX_MOMENT_S})"
        raise OptionsError("start_window_s", found=start_window_s, legal=legal)
    path = trace_path(source)
    place, text = next(numbered_lines(path), (None, ""))
    if place is None:
        raise TraceError(path.name, found="an empty file", legal=_FORMATS)
    if is_azure(text):
        return read_azure(path)
    if not text.lstrip("\ufeff").lstrip().startswith("{"):
        place.refuse("", found=text.strip(), legal=_FORMATS)
    first = Record.of_line(place, text)
    if is_weka(first):
        return read_weka(path, start_window_s=start_window_s)
    if not is_mooncake(first):
        found = f"an object with {', '.join(first.values) or 'nothing'}"
        place.refuse("", found=found, legal=_FORMATS)
    return read_mooncake(path)


_FORMATS = (
    "CSV with TIMESTAMP,ContextTokens,GeneratedTokens (Azure), JSON lines with timestamp,"
    " input_length, output_length, hash_ids (Mooncake), or JSON lines with id, block_size,"
    " tool_tokens, system_tokens, requests (Weka)"
)


def trace_path(source: Path | str) -> Path:
    """The file of a public trace, or the path itself.

    Raises:
        TraceError: A public trace whose folder is not known, or nothing of that name.
    """
    name = str(source)
    if name in PUBLIC_TRACES:
        folder = os.environ.get(FOLDER_VARIABLE)
        if not folder:
            legal = f"the folder of {PUBLIC_TRACES[name]}; or give a path instead of {name}"
            raise TraceError(f"environment variable {FOLDER_VARIABLE}", found="unset", legal=legal)
        path = Path(folder) / PUBLIC_TRACES[name]
    else:
        path = Path(source)
    if not path.is_file():
        legal = f"a trace file, or one of {', '.join(PUBLIC_TRACES)}"
        raise TraceError("trace", found=f"no file {path}", legal=legal)
    return path
