"""What can a reader act on?

Owns the controls that stand in notebooks, one small class each, every one with a static form that
needs no kernel. Does not know the inside of Program: a control acts on a bench by public words.
"""
