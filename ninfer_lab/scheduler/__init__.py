"""Which request runs, and when?

Owns the waiting queue and the lanes. Knows no placement, no victim and no page: it hears from
admission whether a request can start.
"""
