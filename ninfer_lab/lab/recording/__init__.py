"""What remains of a run when the engine is gone?

Owns recordings: the events of one run with the facts needed to read them, as one value, one file
and tables. Knows no engine but to take its events, and no ledger but as it was told.
"""
