"""What can designs share that look a prompt up in a tree of KV blocks?

Owns the tree, the states that lie on it, and the half of such a design that is always the same.
Does not know what is captured, nor who goes first: that is each design's.
"""
