"""The short depthwise convolution before the delta rule, with its history in state slots.

Owns the taps, the activation and the carried columns. Does not know what the channels mean.
"""
