"""What does a Weka trace of coding agents say?

Owns its format: one conversation a line, as JSON, with `id`, `block_size`, `tool_tokens`,
`system_tokens` and `requests`, each with `t` (s since the conversation's start), `in`, `out`, and
ids of its whole blocks: either all of them as `hash_ids`, or `lcp`, how many are those of the
request before, and `tail`, the others as pairs of a first id and a length. A sub-agent stands among
the requests with requests of its own.

What the format leaves open is settled here:

- Ids count anew in every conversation, so equal ids of two conversations mean nothing. Yet agents
  of the same tools and system prompt do begin alike: conversations with the same `tool_tokens`
  share the whole blocks of that length, those with the same `system_tokens` too the blocks behind.
- The tokens behind the last whole block have no id. They are the beginning of the block that the
  next request of the agent has there, if that one goes on from this one; else they are its own.
- Nobody knows when a conversation began: they are spread over a window, from a seed.

Source: the kv-cache-tester traces (Apache-2.0), re-encoded one conversation a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from ninfer_lab.lab.traces.drafts import Draft, settled
from ninfer_lab.lab.traces.trace import BlockIds, Trace
from ninfer_lab.lab.traces.trace_lines import Record, numbered_lines

START_WINDOW_S = 3_600
"""An hour, as the other public traces last."""

MAX_OWN_ID = 2**32 - 1
"""Ids count from small numbers in every conversation."""

_SEED = 7
_SECOND_NS = 1_000_000_000


def is_weka(record: Record) -> bool:
    """Whether a first line is of this format."""
    return "block_size" in record.values or "requests" in record.values


def read_weka(path: Path, *, start_window_s: float = START_WINDOW_S) -> Trace:
    """Reads a whole file.

    Args:
        start_window_s: Conversations begin at random within so many seconds.

    Raises:
        TraceError: By file, line and field.
    """
    starts, shared = Random(_SEED), _SharedIds()
    names: set[str] = set()
    drafts: list[Draft] = []
    block_tokens: int | None = None
    for place, text in numbered_lines(path):
        record = Record.of_line(place, text)
        found_tokens = record.count("block_size", least=1)
        if block_tokens not in (None, found_tokens):
            record.refuse("block_size", f"{block_tokens}, as on the lines before")
        block_tokens = found_tokens
        name = record.text("id")
        if name in names:
            record.refuse("id", "another one for every conversation")
        names.add(name)
        start_ns = round(starts.random() * start_window_s * _SECOND_NS)
        conversation = _Conversation(
            name=name,
            block_tokens=block_tokens,
            start_ns=start_ns,
            first_id=len(names) * (MAX_OWN_ID + 1),
            shared=shared,
        )
        drafts += conversation.read(record)
    return settled(path.name, block_tokens or 1, drafts)


class _SharedIds:
    """Ids below those of every conversation."""

    def __init__(self) -> None:
        self._next_id = 0
        self._heads: dict[tuple[int, ...], range] = {}

    def fresh(self, count: int) -> range:
        """Ids that nobody has."""
        start, self._next_id = self._next_id, self._next_id + count
        return range(start, self._next_id)

    def head(self, key: tuple[int, ...], count: int) -> range:
        """Ids that everybody with this key has."""
        if key not in self._heads:
            self._heads[key] = self.fresh(count)
        return self._heads[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conversation:
    """One line while it is read.

    Attributes:
        first_id: What its id 0 is among the ids of the file.
    """

    name: str
    block_tokens: int
    start_ns: int
    first_id: int
    shared: _SharedIds

    def read(self, record: Record) -> list[Draft]:
        """All requests, those of sub-agents too."""
        return list(self._agent(record, self.name, self.start_ns))

    def _agent(self, record: Record, name: str, start_ns: int) -> Iterator[Draft]:
        tool_count = record.count("tool_tokens") // self.block_tokens
        head_tokens = record.count("tool_tokens") + record.count("system_tokens")
        head = _Head(first_id=self.first_id)
        drafts: list[Draft] = []
        blocks = BlockIds()
        for each in record.records("requests"):
            if "requests" in each.values:
                agent_start_ns = start_ns + each.moment_ns("t", unit_ns=_SECOND_NS)
                yield from self._agent(each, f"{name}/{each.text('agent_id')}", agent_start_ns)
                continue
            input_tokens = each.count("in", least=1)
            kept_count, added = self._written(each, len(blocks))
            self._require_whole_blocks(each, kept_count + len(added), input_tokens)
            if not drafts:
                key = (record.count("tool_tokens"), head_tokens)
                system_count = head_tokens // self.block_tokens - tool_count
                tools = self.shared.head(key[:1], tool_count)
                head.learn(added, BlockIds.joined((tools, self.shared.head(key, system_count))))
            blocks = blocks.between(0, kept_count) + head.translated(added)
            drafts.append(
                Draft(
                    line=record.place.line,
                    arrival_ns=start_ns + each.moment_ns("t", unit_ns=_SECOND_NS),
                    input_tokens=input_tokens,
                    output_tokens=each.count("out"),
                    blocks=blocks,
                    conversation=name,
                )
            )
        self._settle_ends(drafts)
        yield from drafts

    def _written(self, record: Record, block_count_before: int) -> tuple[int, BlockIds]:
        """How many blocks of the request before are kept, and the ids behind them as written."""
        if "hash_ids" in record.values:
            return 0, BlockIds.of(record.ids("hash_ids", most=MAX_OWN_ID))
        numbers = record.ids("tail", most=MAX_OWN_ID)
        if len(numbers) % 2:
            legal = "pairs of a first id and a length"
            record.refuse("tail", legal, found=f"{len(numbers)} numbers")
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        runs = BlockIds.joined(range(start, start + length) for start, length in pairs)
        if any(run.stop > MAX_OWN_ID for run in runs.runs):
            record.refuse("tail", f"ids in [0, {MAX_OWN_ID}]")
        return record.count("lcp", most=block_count_before), runs

    def _require_whole_blocks(self, record: Record, block_count: int, input_tokens: int) -> None:
        needed_count = input_tokens // self.block_tokens
        if block_count != needed_count:
            field = "hash_ids" if "hash_ids" in record.values else "lcp and tail"
            legal = f"{needed_count}, one per {self.block_tokens} of {input_tokens} tokens"
            record.refuse(field, legal, found=f"{block_count} ids")

    def _settle_ends(self, drafts: Sequence[Draft]) -> None:
        """Gives the tokens behind the whole blocks an id, the last request first."""
        follower: Draft | None = None
        for draft in reversed(drafts):
            whole_count = len(draft.blocks)
            if (
                follower is not None
                and follower.input_tokens > draft.input_tokens
                and follower.blocks.starts_with(draft.blocks)
            ):
                draft.follower = follower
            if draft.input_tokens > whole_count * self.block_tokens:
                next_block = BlockIds()
                if draft.follower is not None:
                    next_block = draft.follower.blocks.between(whole_count, whole_count + 1)
                draft.blocks += next_block if next_block else BlockIds((self.shared.fresh(1),))
            follower = draft


class _Head:
    """From the ids of one agent to those of the file: the head's are shared, the others its own.

    Args:
        first_id: What id 0 of the conversation is.
    """

    def __init__(self, *, first_id: int) -> None:
        self._first_id = first_id
        self._shared_id_of: dict[int, int] = {}

    def learn(self, written: BlockIds, head: BlockIds) -> None:
        """These are the agent's first blocks; they begin with the head, as far as they reach."""
        self._shared_id_of = dict(zip(written, head, strict=False))

    def translated(self, written: BlockIds) -> BlockIds:
        """The same blocks by the ids of the file."""
        return BlockIds.joined(run for each in written.runs for run in self._translated_run(each))

    def _translated_run(self, run: range) -> Iterator[range]:
        if self._shared_id_of.keys().isdisjoint(run):
            yield range(self._first_id + run.start, self._first_id + run.stop)
            return
        for id in run:
            shared_id = self._shared_id_of.get(id, self._first_id + id)
            yield range(shared_id, shared_id + 1)
