"""How is each op computed, readably and fast?

Owns one folder per op: a readable reference beside its fast forms. Knows neither models nor
caches; slots, block tables and strides are handed in.
"""
