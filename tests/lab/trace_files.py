"""Small traces, as files: what a test's law is about, and nothing else."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ninfer_lab.lab.traces.reading import read_trace
from ninfer_lab.lab.traces.trace import Trace

Line = dict[str, object]


def moon(
    ids: Sequence[int], *, tokens: int, answer: int = 1, at_ms: int = 0, **other: object
) -> Line:
    """A line of a Mooncake trace; blocks have 512 tokens."""
    line: Line = {
        "timestamp": at_ms,
        "input_length": tokens,
        "output_length": answer,
        "hash_ids": list(ids),
    }
    return line | other


def agent(
    requests: Iterable[Line], *, name: str = "a", tools: int = 0, system: int = 0, **other: object
) -> Line:
    """A line of a Weka trace with blocks of 4 tokens."""
    line: Line = {
        "id": name,
        "block_size": 4,
        "tool_tokens": tools,
        "system_tokens": system,
        "requests": list(requests),
    }
    return line | other


def turn(lcp: int, tail: Sequence[int], *, tokens: int, at_s: float = 0.0) -> Line:
    """A request of a Weka conversation, by what it has in common with the one before."""
    return {"t": at_s, "type": "n", "in": tokens, "out": 2, "lcp": lcp, "tail": list(tail)}


def written(folder: Path, lines: Iterable[Line | str], name: str = "trace.jsonl") -> Path:
    """The file of such lines."""
    path = folder / name
    text = "".join(
        f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines
    ).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def read(folder: Path, lines: Iterable[Line | str], name: str = "trace.jsonl") -> Trace:
    """The trace of such lines."""
    return read_trace(written(folder, lines, name))


AZURE_HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"
