"""What is known of requests that somebody else once served?

Owns `Trace`, the one form in which every reader hands over what its file says: when a request came,
how long it was, and which blocks of tokens it has in common with others. There are no texts in a
trace; a block is known by its id alone, and equal ids are equal tokens.
Does not know any file's format, nor how tokens are made of ids (`prompts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ninfer_lab.contract.errors import NinferLabError


class TraceError(NinferLabError):
    """A trace that cannot be found or read (BAD-1)."""


@dataclass(frozen=True, slots=True)
class BlockIds:
    """The ids of a prompt's blocks, as ascending runs: a trace of long prompts stays small.

    Attributes:
        runs: None empty, and no run goes on where the one before ends, so that equal ids are equal
            values.

    Example:
        >>> BlockIds.of([7, 8, 9, 2]).runs
        (range(7, 10), range(2, 3))
    """

    runs: tuple[range, ...] = ()

    @classmethod
    def of(cls, ids: Iterable[int]) -> BlockIds:
        """Of single ids."""
        return cls.joined(range(id, id + 1) for id in ids)

    @classmethod
    def joined(cls, runs: Iterable[range]) -> BlockIds:
        """Of runs with step 1, end to end; empty ones fall away."""
        found: list[range] = []
        for run in runs:
            if not run:
                continue
            if found and found[-1].stop == run.start:
                found[-1] = range(found[-1].start, run.stop)
            else:
                found.append(run)
        return cls(tuple(found))

    def between(self, start: int, stop: int) -> BlockIds:
        """The ids of the blocks `[start, stop)`, counted from 0, as far as there are some."""
        found, before = [], 0
        for run in self.runs:
            if before >= stop:
                break
            found.append(run[max(0, start - before) : stop - before])
            before += len(run)
        return BlockIds.joined(found)

    def starts_with(self, first: BlockIds) -> bool:
        """Whether `first` is the beginning of these."""
        return self.between(0, len(first)) == first

    def __add__(self, other: BlockIds) -> BlockIds:
        return BlockIds.joined((*self.runs, *other.runs))

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    def __iter__(self) -> Iterator[int]:
        for run in self.runs:
            yield from run


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRequest:
    """One request of a trace.

    Attributes:
        line: Of the file.
        arrival_ns: Since the first request of the trace.
        output_tokens: 0 where nothing was generated.
        blocks: As many as hold the input; of the last one the input may have the beginning only.
        conversation: `None` where the trace does not tell, or the request stands alone.
        followed_by: Ordinal of the request of the same conversation whose prompt begins with this
            one's; the answer stands in it, too, as far as it is long enough.
    """

    line: int
    arrival_ns: int
    input_tokens: int
    output_tokens: int
    blocks: BlockIds
    conversation: str | None
    followed_by: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Requests in the order of their arrivals; of equal arrivals, in the order of the file.

    Attributes:
        name: Of the file, for tables and errors.
        block_tokens: Tokens of a whole block.
    """

    name: str
    block_tokens: int
    requests: tuple[TraceRequest, ...]

    @property
    def input_tokens(self) -> int:
        """Of all requests together."""
        return sum(request.input_tokens for request in self.requests)

    @property
    def output_tokens(self) -> int:
        """Of all requests together."""
        return sum(request.output_tokens for request in self.requests)

    @property
    def conversation_count(self) -> int:
        """Conversations that are told apart."""
        return len({each.conversation for each in self.requests} - {None})

    @property
    def duration_ns(self) -> int:
        """From the first arrival to the last."""
        return self.requests[-1].arrival_ns if self.requests else 0

    def __str__(self) -> str:
        return (
            f"{self.name}: {len(self.requests):,} requests in {self.duration_ns / 1e9:,.0f} s,"
            f" {self.input_tokens:,} tokens in and {self.output_tokens:,} out,"
            f" {self.conversation_count:,} conversations, blocks of {self.block_tokens} tokens"
        )

    def __repr__(self) -> str:
        return f"<Trace {self}>"
