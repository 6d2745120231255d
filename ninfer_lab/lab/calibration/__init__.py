"""What does machine work cost here, how well is that known, and what hangs on it?

Owns the calibration of the cost model: the grids that are measured, the measuring through the
machine's own paths, the fits, the verdict on them, and the studies of what a wrong belief does. How
a preset file is read and written is `cost.preset_file`'s; the laws of time are the contract's.
"""
