"""Pages of 64 tokens: where a row's tokens lie, how new ones are written, how a page is copied.

Owns the layout `[P, L, 2, S, H, D]` (pages, full-attention layers, key or value, tokens of a page,
KV heads, head dim) and the row tables handed to attention. Does not know owners, references or free
lists.
"""
