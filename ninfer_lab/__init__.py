"""A workbench for the context cache of hybrid language models.

Owns nothing itself: it is the name under which the rooms stand, from ``contract`` (facts) up to
``lab`` (what a person sees). Knows none of them; importing it imports no room and no torch.
"""
