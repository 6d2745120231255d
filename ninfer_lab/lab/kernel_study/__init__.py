"""How does each kernel compute, and how close is it to its reference?

Owns the study of kernels with no GPU at hand: every op run on its reference and on its kernels,
interpreted, from the same inputs; one program of a kernel followed statement by statement; the
sources side by side; and what each kernel needs of each chip. Knows no engine.
"""
