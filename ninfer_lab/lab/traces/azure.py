"""What does an Azure trace say?

Owns its format: CSV with `TIMESTAMP`, `ContextTokens`, `GeneratedTokens`. There are lengths and
times and nothing else: whether two prompts begin alike is not in the file, so here no two of them
share a token, and no cache can help. Such a trace measures the cost of a cache, not its use.
Source: the 2023 traces of Azure (CC-BY 4.0; Patel et al., Splitwise, ISCA 2024).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from ninfer_lab.lab.traces.drafts import Draft, settled
from ninfer_lab.lab.traces.trace import BlockIds, Trace
from ninfer_lab.lab.traces.trace_lines import MAX_COUNT, Place, numbered_lines

HEADER = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
BLOCK_TOKENS = 512
"""The format has no blocks; these are only how prompts are made here."""

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|\+00:00)?")


def is_azure(first_line: str) -> bool:
    """Whether a first line is of this format."""
    return _cells(first_line)[0] == HEADER[0]


def read_azure(path: Path) -> Trace:
    """Reads a whole file.

    Raises:
        TraceError: By file, line and field.
    """
    drafts: list[Draft] = []
    next_id = 0
    lines = numbered_lines(path)
    place, text = next(lines, (Place(file_name=path.name, line=1), "nothing"))
    if _cells(text) != HEADER:
        place.refuse("header", found=text.strip(), legal=",".join(HEADER))
    for place, text in lines:
        cells = _cells(text)
        if len(cells) != len(HEADER):
            place.refuse("", found=text.strip(), legal=f"{len(HEADER)} cells: {','.join(HEADER)}")
        input_tokens = _count(place, HEADER[1], cells[1], least=1)
        block_count = -(-input_tokens // BLOCK_TOKENS)
        drafts.append(
            Draft(
                line=place.line,
                arrival_ns=_moment_ns(place, cells[0]),
                input_tokens=input_tokens,
                output_tokens=_count(place, HEADER[2], cells[2], least=0),
                blocks=BlockIds((range(next_id, next_id + block_count),)),
            )
        )
        next_id += block_count
    return settled(path.name, BLOCK_TOKENS, drafts)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.removeprefix("\ufeff").split(","))


def _moment_ns(place: Place, written: str) -> int:
    matched = _MOMENT.fullmatch(written)
    try:
        if matched is None:
            raise ValueError
        moment = datetime.fromisoformat(matched[1]).replace(tzinfo=UTC)
    except ValueError:
        place.refuse(HEADER[0], found=written or "nothing", legal="as 2023-11-16 18:17:03.9799600")
    return int(moment.timestamp()) * 10**9 + int((matched[2] or "0").ljust(9, "0"))


def _count(place: Place, field: str, written: str, *, least: int) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", written) or not least <= int(written) <= MAX_COUNT:
        legal = f"a whole number in [{least}, {MAX_COUNT}]"
        place.refuse(field, found=written or "nothing", legal=legal)
    return int(written)
