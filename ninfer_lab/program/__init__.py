"""What is where, and what may change?

Owns the physical ledger: pools, stores, sealed plans and their transactions; the only authority
on placement. Knows neither values nor prices, touches no tensor, and holds the machine only as
``contract.machine_api``.
"""
