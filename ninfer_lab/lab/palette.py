"""Which colour means what, in every picture?

Owns the few colours of the workbench: the eight of Okabe and Ito, which stay apart for colour-blind
readers, in an order that gives neighbours strong contrast. Grey is for what nobody owns.
"""

from __future__ import annotations

OWNER_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442")
"""By owner, in order of appearance; more owners than colours start again."""

RUNNING_COLOUR = "#D55E00"
"""Active sequences, in whatever lane: an owner is never drawn in it."""

FREE_COLOUR = "#F2F2F2"
EDGE_COLOUR = "#8A8A8A"
TEXT_COLOUR = "#333333"
ALLOCATED_COLOUR = "#0072B2"
RESERVED_COLOUR = "#9CC9E6"
CAPACITY_COLOUR = "#D55E00"
PREFILL_COLOUR = "#E69F00"
DECODE_COLOUR = "#009E73"

DEVICE_COLOUR = "#0072B2"
HOST_COLOUR = "#E69F00"
"""The two tiers, where a picture is about tiers and not about owners; both at once is striped."""

COPIED_COLOUR = "#CC79A7"
"""What a copy within the Device has made."""


def owner_colour(ordinal: int) -> str:
    """The colour of the ordinal-th owner."""
    return OWNER_COLOURS[ordinal % len(OWNER_COLOURS)]
