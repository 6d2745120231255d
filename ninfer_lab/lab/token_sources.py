"""What does a request without a model say?

Owns the three sources of output tokens for the simulated machine: scripted word for word, recorded
from an earlier run, or seeded. Each gives the same token at the same position whenever it is asked.
Does not know stop rules: the real frontend ends the answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from ninfer_lab.contract.errors import NinferLabError
from ninfer_lab.contract.events import Event, ForwardRan
from ninfer_lab.contract.ids import RequestId


class ScriptedTokens:
    """Answers written down beforehand, one per request.

    A request that is not scripted, or whose answer is longer than its script, is a mistake of the
    story.
    """

    def __init__(self) -> None:
        self._scripts: dict[RequestId, tuple[int, tuple[int, ...]]] = {}

    def script(self, request: RequestId, *, prompt_tokens: int, answer: Iterable[int]) -> None:
        """Fixes what a submitted request will say, its end token included."""
        self._scripts[request] = (prompt_tokens, tuple(answer))

    def token(self, request: RequestId, position_tokens: int) -> int:
        """The scripted token.

        Raises:
            NinferLabError: The script says nothing there.
        """
        prompt_tokens, answer = self._scripts.get(request, (0, ()))
        offset = position_tokens - prompt_tokens
        if not 0 <= offset < len(answer):
            raise NinferLabError(
                f"script of request {request}",
                found=f"{len(answer)} tokens, and token {offset} is drawn",
                legal="an answer that ends with an end token, or max_output_tokens within it",
            )
        return answer[offset]


class RecordedTokens:
    """What requests said in another run: the same ids ask for the same tokens."""

    def __init__(self, drawn: Mapping[tuple[RequestId, int], int]) -> None:
        self._drawn = dict(drawn)

    @classmethod
    def of(cls, events: Iterable[Event]) -> RecordedTokens:
        """Takes every drawn token out of a run's events."""
        return cls(
            {
                (row.request, row.end_tokens): row.drawn_token
                for event in events
                if isinstance(event, ForwardRan)
                for row in event.rows
                if row.drawn_token is not None
            }
        )

    def token(self, request: RequestId, position_tokens: int) -> int:
        """The recorded token.

        Raises:
            NinferLabError: The other run drew none there, so the two runs have parted.
        """
        found = self._drawn.get((request, position_tokens))
        if found is None:
            raise NinferLabError(
                f"recording of request {request}",
                found=f"no token at position {position_tokens}",
                legal="the same requests in the same order as in the recorded run",
            )
        return found


class SeededTokens:
    """Any tokens, decided by seed, request and position alone.

    Args:
        seed: Decides everything.
        first_token: Smallest id drawn; below it a vocabulary may keep its special tokens.
        vocabulary_tokens: Ids are below it.
    """

    def __init__(self, *, seed: int, vocabulary_tokens: int, first_token: int = 0) -> None:
        self._seed = seed
        self._first_token = first_token
        self._span_tokens = vocabulary_tokens - first_token
        assert self._span_tokens > 0

    def token(self, request: RequestId, position_tokens: int) -> int:
        """A token in `[first_token, vocabulary_tokens)`."""
        key = b"%d/%d/%d" % (self._seed, request, position_tokens)
        digest = hashlib.blake2b(key, digest_size=8).digest()
        return self._first_token + int.from_bytes(digest, "big") % self._span_tokens
