"""Which laws hold, one small class each?

Owns the checkers that `lab.laws` runs: each recounts from owners and sequences what the ledger says
it has, and none asks the ledger how it counts. Knows contract values alone; how a picture came
about, and what lies in a slot or page, are unknown here.
"""
