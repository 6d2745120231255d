"""What does machine work cost, in nanoseconds?

Owns the cost model, its presets, and what published decode rates say about the time of a step. A
price may change the order in which targets are tried, never whether one is ready. Knows neither
requests, nor owners, nor where anything lies; the laws of time themselves are the contract's.
"""
