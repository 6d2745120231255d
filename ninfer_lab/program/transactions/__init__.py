"""How does a sealed plan become true, stage by stage?

Owns running plans from start to settlement, abort included. Knows neither why a plan was chosen
nor what comes next.
"""
