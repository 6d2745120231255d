"""Would this target fit, and by which stages?

Owns pure questions about the ledger: projections, target domains, stage orders. Changes
nothing, and knows no price.
"""
