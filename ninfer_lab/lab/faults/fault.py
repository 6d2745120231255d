"""What can go wrong between a ledger that is right and the memory it describes?

Owns the twelve names, each with one sentence. Does not know how a fault is committed
(`faulty_machine`) nor how it is caught (`trial`).
"""

from __future__ import annotations

from enum import Enum


class Fault(Enum):
    """One wrong act of a machine; the value says it in a sentence."""

    WRONG_STATE_SLOT = "the restored forward reads the state of another conversation"
    STATE_NOT_RESTORED = "the pages are reused, but the state is the root's zeros"
    STALE_CONV_HISTORY = "the convolution history is one token older than the recurrent state"
    STALE_RECURRENT_STATE = "the recurrent state is one token older than the convolution history"
    FRONTIER_OFF_BY_ONE = "the whole image is the one before the last token was consumed"
    WRITE_INTO_FROZEN_STATE = "a Fork advances the published image that it should only read"
    FOREIGN_PAGE = "the block table holds a page of another owner in one place"
    SWAPPED_PAGES = "two full pages of the block table have changed places"
    LOST_COPY = "the partial tail is not copied to the writer's own page"
    TORN_COPY = "the copy of the partial tail stops half way through its bytes"
    SWAPPED_KEYS_AND_VALUES = "keys and values of one page have changed places"
    STALE_ROW_TABLE = "a grown row goes on writing into its last page, over earlier tokens"

    def __str__(self) -> str:
        return self.name.lower()
