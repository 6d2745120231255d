"""What does machine work cost, in nanoseconds?

Owns the cost model and its presets. A price may change the order in which targets are tried,
never whether one is ready. Knows neither requests, nor owners, nor where anything lies.
"""
