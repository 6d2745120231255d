"""Which token does a machine without logits draw?

Owns the protocol. What comes out of it goes through the real frontend, so an answer ends, is cut
and is accepted exactly as a model's would be. Does not know whether the tokens were scripted,
recorded or seeded. Source: house rule "output tokens in the simulated world come from the request".
"""

from __future__ import annotations

from typing import Protocol

from ninfer_lab.contract.ids import RequestId


class TokenSource(Protocol):
    """The continuation of every request, by position."""

    def token(self, request: RequestId, position_tokens: int) -> int:
        """The token at an absolute position of a request; the same each time it is asked."""
        ...
