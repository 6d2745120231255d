"""What is worth keeping?

Owns the logical catalog, the sessions, the owner edges and the choice among targets; the only
authority on value. Knows neither slots nor pages: it holds Program only as
``contract.program_api``.
"""
