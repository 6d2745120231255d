"""The recurrence of a linear-attention layer, a chunk of tokens at a time or one token per row.

Owns the delta rule with decay on float32 state slots. Does not know projections, convolutions or
images.
"""
