"""What would another cache design do?

Owns the other designs, each behind the same protocol and charged with the same capacity and
cost. Knows neither the step loop nor the machines.
"""
