"""Does a request that starts from a checkpoint compute what a cold run computes?

Owns the comparison, bit for bit where it is promised: a tap on the machine, the forward cuts read
from the engine's events, a replay from root on memory of its own, and random journeys to try it on.
Reaches no ledger and decides nothing: it knows slots and pages only from a snapshot it is handed.
"""
