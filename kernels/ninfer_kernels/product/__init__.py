"""The matrix product of rows with a weight, and the form in which a weight is kept for it.

Owns which form and which product suit how many rows. Does not know what a weight is for.
"""
