"""What did the engine do before there was a catalog, when every lane owned its cache?

Owns the lane-owned design of the second seed and the switches by which it can be cured. Knows
neither the step loop nor the machines.
"""
