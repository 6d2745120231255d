"""Which slot, page and extent belongs to whom?

Owns the pools and stores, the reservations and the occupancy that is counted from them. Knows
neither plans nor the transactions that move it.
"""
