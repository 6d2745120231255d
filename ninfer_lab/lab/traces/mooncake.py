"""What does a Mooncake trace say?

Owns its format: one JSON object a line with `timestamp` (ms), `input_length`, `output_length` and
`hash_ids`, one id per block of 512 tokens. The last id is that of a block which the prompt fills
only in part, and once the conversation goes on, the same tokens are the beginning of a fuller block
with another id. Taken at its word, a trace would therefore say that no prompt ever goes on from an
earlier one's end; so the conversations, which the format does not name, are found here from the
ids, and what a follower's block begins with is what the partial block was.
Source: the FAST'25 traces of Mooncake (Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ninfer_lab.lab.traces.drafts import Draft, settled
from ninfer_lab.lab.traces.trace import BlockIds, Trace
from ninfer_lab.lab.traces.trace_lines import Record, numbered_lines

BLOCK_TOKENS = 512
_MILLISECOND_NS = 1_000_000


def is_mooncake(record: Record) -> bool:
    """Whether a first line is of this format."""
    return "hash_ids" in record.values or "input_length" in record.values


def read_mooncake(path: Path) -> Trace:
    """Reads a whole file.

    Raises:
        TraceError: By file, line and field.
    """
    drafts = [_draft(Record.of_line(place, text)) for place, text in numbered_lines(path)]
    drafts.sort(key=lambda draft: draft.arrival_ns)
    _tell_conversations(drafts)
    _settle_partial_blocks(drafts)
    return settled(path.name, BLOCK_TOKENS, drafts)


def _draft(record: Record) -> Draft:
    input_tokens = record.count("input_length", least=1)
    ids = record.ids("hash_ids")
    block_count = -(-input_tokens // BLOCK_TOKENS)
    if len(ids) != block_count:
        legal = f"{block_count} ids, one per {BLOCK_TOKENS} of {input_tokens} tokens"
        record.refuse("hash_ids", legal, found=f"{len(ids)} ids")
    return Draft(
        line=record.place.line,
        arrival_ns=record.moment_ns("timestamp", unit_ns=_MILLISECOND_NS),
        input_tokens=input_tokens,
        output_tokens=record.count("output_length"),
        blocks=BlockIds.of(ids),
    )


def _full_blocks(draft: Draft) -> BlockIds:
    return draft.blocks.between(0, draft.input_tokens // BLOCK_TOKENS)


class _Conversations:
    """Who goes on with whom.

    A full block belongs to the conversation that had it first. A prompt goes on with the
    conversation to which its deepest known block belongs, if it begins with all full blocks of that
    conversation's latest prompt and is longer by that one's answer at least, or if it is that
    prompt once more. So two conversations that have only their system prompt in common are two, and
    so are two questions about one document, unless the second is longer by chance: ids cannot tell
    those apart.
    """

    def __init__(self) -> None:
        self._owner_of: dict[int, int] = {}
        self._latest: list[Draft] = []

    def place(self, draft: Draft) -> int:
        """The number of the draft's conversation; the one it goes on from learns its follower."""
        number = self._continued_by(draft)
        if number is None:
            number = len(self._latest)
            self._latest.append(draft)
        else:
            latest = self._latest[number]
            if draft.input_tokens > latest.input_tokens:
                latest.follower = draft
            self._latest[number] = draft
        for id in _full_blocks(draft):
            self._owner_of.setdefault(id, number)
        return number

    def _continued_by(self, draft: Draft) -> int | None:
        known = [self._owner_of[id] for id in draft.blocks if id in self._owner_of]
        if not known:
            return None
        number = known[-1]
        latest = self._latest[number]
        is_same = draft.blocks == latest.blocks and draft.input_tokens == latest.input_tokens
        told_tokens = latest.input_tokens + max(1, latest.output_tokens)
        is_longer = draft.input_tokens >= told_tokens and draft.blocks.starts_with(
            _full_blocks(latest)
        )
        return number if is_same or is_longer else None


def _tell_conversations(drafts: Sequence[Draft]) -> None:
    """Names them by their numbers. Also one of a single prompt has its name: who serves a prompt
    does not know either whether another one will follow.
    """
    conversations = _Conversations()
    for draft in drafts:
        draft.conversation = str(conversations.place(draft))


def _settle_partial_blocks(drafts: Sequence[Draft]) -> None:
    """Gives a partial last block the id of the fuller block that it is the beginning of.

    Equal ids stay equal: what is said of one partial block holds for every prompt that ends in it.
    """
    fuller: dict[int, int] = {}

    def resolved(id: int) -> int:
        while id in fuller:
            id = fuller[id]
        return id

    for draft in drafts:
        full_count = draft.input_tokens // BLOCK_TOKENS
        if draft.follower is None or len(draft.blocks) == full_count:
            continue
        (partial,) = draft.blocks.between(full_count, full_count + 1)
        (longer,) = draft.follower.blocks.between(full_count, full_count + 1)
        if partial not in fuller and resolved(longer) != partial:
            fuller[partial] = longer
    for draft in drafts:
        full = _full_blocks(draft)
        if len(draft.blocks) > len(full):
            (partial,) = draft.blocks.between(len(full), len(full) + 1)
            draft.blocks = full + BlockIds.of((resolved(partial),))
