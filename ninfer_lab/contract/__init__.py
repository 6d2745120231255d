"""Facts every room may hold: values, ids, errors, protocols.

Standard library only. Owns no state and makes no decision; knows neither tensors, nor prices, nor
how anything is stored. What crosses from one room to another is a value defined here.
"""
