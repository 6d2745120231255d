"""Would anybody notice if reuse went wrong?

Owns twelve kinds of fault that a machine can be made to commit, a small scenario of reuse to commit
them in, and the table of which check catches which. Decides nothing about what is right: the checks
are those of `restore_proof` and `laws`.
"""
