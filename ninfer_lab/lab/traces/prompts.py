"""Which tokens stand for a request whose text nobody has?

Owns the tokens: those of a block follow from its id alone, so that two prompts share exactly the
tokens that the trace says they share. An answer is what the next prompt of the conversation has in
its place, as far as that goes, for a client sends back what it was told; what no later prompt shows
follows from the request alone. Does not know who asks.
Source: the trick of seeding a generator with a block's hash, common among trace players.
"""

from __future__ import annotations

import hashlib
from array import array

from ninfer_lab.contract.token_span import TOKEN_BYTES, TokenSpan
from ninfer_lab.lab.traces.trace import Trace


class TracePrompts:
    """Makes the prompts of one trace, each when it is asked for: a trace may have gigabytes.

    Args:
        trace: All requests.
        vocabulary_tokens: Ids are below it: uniform below its largest power of two.
    """

    def __init__(self, trace: Trace, vocabulary_tokens: int) -> None:
        self._trace = trace
        self._largest_token = 2 ** (vocabulary_tokens.bit_length() - 1) - 1

    def prompt(self, ordinal: int) -> TokenSpan:
        """All tokens of a request's input."""
        return self._between(ordinal, 0, self._trace.requests[ordinal].input_tokens)

    def answer(self, ordinal: int, output_tokens: int) -> TokenSpan:
        """The first tokens that the request is answered with."""
        request = self._trace.requests[ordinal]
        shown = TokenSpan()
        if request.followed_by is not None:
            follower = self._trace.requests[request.followed_by]
            end_tokens = min(request.input_tokens + output_tokens, follower.input_tokens)
            shown = self._between(request.followed_by, request.input_tokens, end_tokens)
        unseen = self._drawn(f"answer/{ordinal}", output_tokens)
        return shown + unseen[len(shown) :]

    def _between(self, ordinal: int, start_tokens: int, end_tokens: int) -> TokenSpan:
        """The tokens `[start, end)` of a prompt."""
        block_tokens = self._trace.block_tokens
        first, stop = start_tokens // block_tokens, -(-end_tokens // block_tokens)
        ids = self._trace.requests[ordinal].blocks.between(first, stop)
        blocks = (self._drawn(f"block/{id}", block_tokens) for id in ids)
        offset_tokens = first * block_tokens
        whole = TokenSpan.concatenated(blocks)
        return whole[start_tokens - offset_tokens : end_tokens - offset_tokens]

    def _drawn(self, name: str, tokens: int) -> TokenSpan:
        drawn = int.from_bytes(hashlib.shake_256(name.encode()).digest(TOKEN_BYTES * tokens))
        legal = int.from_bytes(array("i", [self._largest_token]).tobytes() * tokens)
        return TokenSpan.from_bytes((drawn & legal).to_bytes(TOKEN_BYTES * tokens))
