"""What does the model compute?

Owns the mathematics of each architecture and the reading of its checkpoints. Knows neither
requests, nor owners, nor who chose the slots and pages it is handed.
"""
