"""How fast is the engine, beside transformers and beside its own limits?

Owns the rows of `make bench`, how two sides are timed against each other in one run, and the tables
in the README. Measures only through the Engine's public journey; knows no ledger, and never decides
whether a test passes: a speed is printed, not asserted.
"""
