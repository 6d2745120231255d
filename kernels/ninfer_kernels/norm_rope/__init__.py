"""Row-wise normalisations, with or without a rotation, and the gates of the delta rule.

Owns element-wise arithmetic in float32. Does not know layers.
"""
