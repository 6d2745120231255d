"""What did a request that became Active want to find, and may leave for others? (VAL-1)

Owns the record of one demand as it is told: by digests, so that no prompt, text or session name is
in it. Nothing in the engine reads it back; the window that decides is `context_cache`'s.
"""

from __future__ import annotations

from typing import NamedTuple

from ninfer_lab.contract.shared_prefix import Evidence


class PrefixWanted(NamedTuple):
    """One prefix of one demand.

    Attributes:
        digest: Of exactly the tokens before the frontier.
        evidence: Why it was proposed; none where a shared prefix that stood was matched, no more.
        is_matched: Whether a shared prefix stood there that the request could start from.
        is_selected: Whether the prefill was to be split there, so that it can be written.
        may_be_created: Whether its evidence, with the window as it was, lets it come into being.
    """

    frontier_tokens: int
    digest: bytes
    evidence: Evidence
    is_matched: bool
    is_selected: bool
    may_be_created: bool


class DemandTold(NamedTuple):
    """What joined the window of demands.

    Attributes:
        domain: Digest of who wants it: a session, or a request that belongs to none.
        prefixes: By frontier, ascending.
    """

    domain: bytes
    prefixes: tuple[PrefixWanted, ...]
