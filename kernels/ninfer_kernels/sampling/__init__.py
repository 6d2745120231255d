"""From logits and a uniform number to a token; from a seed and a position to that number.

Owns the order in which tokens are considered and the counter-based generator. Does not know
requests.
"""
