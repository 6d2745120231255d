"""What does a person see?

Owns the workbench: worlds, stories, recordings, tables, figures, widgets and the command line.
Reads events and reaches no ledger; knows of the engine what it emits and what assembly builds.
"""
