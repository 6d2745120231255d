"""Who does the work?

Owns the tensors, or in virtual time their absence: forwards, copies and sampling behind
``contract.machine_api``. Knows neither owners nor plans; it is told slots and pages, and says
when a thing is done.
"""
