"""What does a client say that a request is for?

Owns the hint. A cache design may heed it; nothing is proven by it, and without one a request is
part of its conversation. Source: spec RT-2.
"""

from __future__ import annotations

from enum import Enum


class RequestPurpose(Enum):
    """What a client says a request is for: a hint that a cache design may heed (RT-2)."""

    CONVERSATION = "conversation"
    """Its answer becomes part of the history."""
    SIDE_REQUEST = "side_request"
    """A title, a summary: the conversation goes on as if it had never been asked."""
